# SPDX-License-Identifier: Apache-2.0
"""Check that the examples of ncu_report in the guide of Nsight Compute (SHARED/seeds) run unchanged over a real report: the lines after ">>>", the
loop over metrics, and the sample script, whose last line is missing in the text of the guide. Skipped with the reason if the guide or
the fixtures are missing.
"""
import os
import shutil
import sys

from lib import SRC, clean_env, fixtures, folder, main, run, tap

GUIDE = os.path.join(os.path.dirname(os.path.dirname(fixtures("ncu"))), "seeds/nsight-compute-customization-guide.txt")
REPORT = os.path.join(fixtures("ncu"), "manual_nvtx.ncu-rep")
LOST_LINE = "        print(action.name())\n"
PER_SECOND = "metrics = [my_action[name] for name in my_action.metric_names()]\nfrom ncu_report import IMetric\n"


def text():
    with open(GUIDE, encoding="utf-8") as file:
        return file.read()


def cut(begin, end):
    return text().split(begin, 1)[1].split(end, 1)[0]


def python(script, *arguments):
    place = folder()
    shutil.copy(REPORT, os.path.join(place, "my_report.ncu-rep"))
    path = os.path.join(place, "script.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script)
    return run([sys.executable, path, *arguments], env=clean_env(PYTHONPATH=os.path.join(SRC, "reader/python"), PAGER="cat"), cwd=place)


def session():
    """Return the guide's lines for the interpreter, one program."""
    return "\n".join(line[4:] for line in text().splitlines() if line.startswith(">>> "))


def lines_of_the_tutorial():
    done = python(session() + "\nprint('result', my_context.num_ranges(), my_range.num_actions(), my_action.name(), display_name_metric.value(), "
                  "display_name_metric.as_string())\n")
    last = (done.out.decode().splitlines() or [""])[-1].split(" ")
    tap.ok(done.status == 0 and session().count("\n") > 8, "the guide's lines run", done.err.decode())
    tap.ok(last[0] == "result" and int(last[1]) == 1 and int(last[2]) > 0 and last[3] and len(last) > 4, "the guide's lines give a range, actions, a name and a device", last)


def loop_over_metrics():
    loop = "for metric in metrics:\n" + cut("for metric in metrics:\n", "NVTX Support")
    done = python(session() + "\n" + PER_SECOND + "print('begin')\n" + loop)
    shown = done.out.decode().split("begin\n")[-1].splitlines()
    tap.ok(done.status == 0 and shown and all(".per_second: " in line and ".avg." in line for line in shown), "the loop over metrics prints rates alone", f"{shown[:5]} {done.err.decode()}")


def sample_script():
    script = "#!/usr/bin/env python3\n" + cut("#!/usr/bin/env python3\n", "5.\u00a0Source Counters").rstrip() + "\n" + LOST_LINE
    done = python(script, "my_report.ncu-rep")
    tap.ok(done.status == 0 and not done.out, "the sample script finds no kernel in ranges that the report lacks", done)
    for inside, kernels in (("run_test/*/daxpy", "daxpy_kernel\n"), ("daxpy/*/run_test", "")):
        done = python(script.replace("BottomRange/*/TopRange", inside), "my_report.ncu-rep")
        tap.ok(done.status == 0 and done.out.decode() == kernels, f"with '{inside}' for them: {kernels.split()}", done)


if __name__ == "__main__":
    if os.path.exists(GUIDE) and os.path.exists(REPORT):
        main(lines_of_the_tutorial, loop_over_metrics, sample_script)
    tap.skip("the guide of Nsight Compute", "SHARED/seeds or SHARED/fixtures is absent")
    tap.finish()
