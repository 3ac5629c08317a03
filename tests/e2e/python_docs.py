#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Run the examples of docs/python.md, unchanged, over a report of Nsight Compute (of SHARED/fixtures/ncu), one of OS runtime calls, and one of
CUDA from the simulated device. DataFrames have all rows of these, with the columns of `trace dump --json`.

This test has not run on a GPU. It needs pandas: that of build/python (scripts/setup --python), or of the python3 in use.
"""
import functools
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import BUILD, PRODUCTS, SRC, app, clean_env, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

LIBRARY = os.path.join(PRODUCTS, "lib/libtrace/libtrace-reader.so")
REPORT = os.path.join(fixtures("ncu"), "path_tracer-2025.4.1.ncu-rep")
PYTHONS = (os.path.join(BUILD, "python/bin/python3"), sys.executable)
PLACE = folder()


@functools.lru_cache(maxsize=1)
def with_pandas():
    """Return a Python that has pandas; None if there is none."""
    return next((python for python in PYTHONS if os.path.exists(python) and run([python, "-c", "import pandas"], env=clean_env(), limit=60).status == 0), None)


def examples(heading):
    """Return the indented blocks of a section."""
    with open(os.path.join(SRC, "docs/python.md"), encoding="utf-8") as file:
        section = file.read().split(f"## {heading}\n")[1].split("\n## ")[0]
    blocks = [[]]
    for line in section.splitlines():
        if line.startswith("    "):
            blocks[-1].append(line[4:])
        elif line and blocks[-1]:
            blocks.append([])
    return ["\n".join(block) for block in blocks if block]


def python(code, *arguments):
    env = clean_env(PYTHONPATH=os.path.join(SRC, "reader/python"), LIBTRACE_READER=LIBRARY, PYTHONWARNINGS="error::UserWarning")
    return run([with_pandas(), "-B", "-c", "import ncu_report, sys\n" + code, *arguments], env=env, cwd=PLACE, limit=100)


def reports_make():
    """Create the files that the examples open; return those that can be created here."""
    made = {"report.ncu-rep": os.path.exists(REPORT) and shutil.copyfile(REPORT, os.path.join(PLACE, "report.ncu-rep"))}
    result = trace("run", "-o", os.path.join(PLACE, "run.rep"), "-t", "osrt", "--", "/bin/sh", "-c", "ls / >/dev/null; sleep 0.01; ls /usr >/dev/null")
    made["run.rep"] = result.status == 0
    if os.path.exists(app("nvtx_calls")):
        made["nvtx.rep"] = trace("run", "-o", os.path.join(PLACE, "nvtx.rep"), "--osrt-threshold", "0", "--", app("nvtx_calls")).status == 0
    if not device.missing("pipeline"):
        spool = spool_folder()
        result = run([device.app("pipeline")], env=device.env(base=traced_env(os.path.join(PLACE, "cuda.rep"), spool, LIBTRACE_TRACE="cuda,osrt")), cwd=PLACE)
        made["cuda.rep"] = result.status == 0 and wait_spool_gone(spool)
    return made


def notebook():
    if not with_pandas():
        tap.skip("the examples of docs/python.md", "no pandas (scripts/setup --python installs it)")
        return
    made, found = reports_make(), examples("In a notebook")
    tap.ok(len(found) == 4 and made["run.rep"], "examples are found, and what they read", found)
    for code in found:
        name = next(name for name in ("report.ncu-rep", "run.rep", "cuda.rep", "nvtx.rep") if name in code)
        if not made.get(name):
            tap.skip(f"the example over {name}", "no fixtures in SHARED" if name == "report.ncu-rep" else "its program was not built")
            continue
        result = python(code + ("\nassert len(both) == len(kernels), (len(both), len(kernels))" if name == "cuda.rep" else ""))
        tap.ok(result.status == 0 and len(result.out.splitlines()) > 1, f"the example over {name}", f"{result.out.decode()}\n{result.err.decode()}")
    for name in ("run.rep", "cuda.rep"):
        if made.get(name):
            all_rows(os.path.join(PLACE, name))


ROWS = """
report, out = ncu_report.load_report(sys.argv[1]), {}
everything = report.events_to_pandas()
for kind in everything["kind"].unique():
    frame = report.events_to_pandas(kind)
    assert len(frame) == (everything["kind"] == kind).sum() and (frame["kind"] == kind).all()
    out[kind] = [len(frame), sorted(frame.columns)]
import json
print(json.dumps(out))
"""


def all_rows(path):
    wanted = {}
    for line in trace("dump", "--json", path, limit=60).out.splitlines():
        row = json.loads(line)
        count, columns = wanted.setdefault(row["kind"], [0, set()])
        wanted[row["kind"]] = [count + 1, columns | set(row)]
    result = python(ROWS, path)
    found = json.loads(result.out) if not result.status else {}
    name = os.path.basename(path)
    tap.ok(found == {kind: [count, sorted(columns)] for kind, (count, columns) in wanted.items()} and found,
           f"{name}: DataFrames have all rows and columns of {len(wanted)} kinds of events", f"{found}\n{wanted}\n{result.err.decode()}")
    bare = {column for _, columns in found.values() for column in columns if column in ("time", "start", "duration", "total", "timestamp")}
    tap.ok(not bare and any("duration_ns" in columns for _, columns in found.values()), f"{name}: columns of times have their unit in the name", bare)


METRICS = """
report = ncu_report.load_report(sys.argv[1])
all_, some = report.to_pandas(), report.to_pandas(["gpu__time_duration.sum", "no__metric"])
assert len(all_) == len(report[0]) and set(report[0][0]) < set(all_.columns), all_.columns
assert list(some.columns) == ["name", "gpu__time_duration.sum", "no__metric"] and some["no__metric"].isna().all()
assert some["gpu__time_duration.sum"].sum() == sum(a["gpu__time_duration.sum"].value() for a in report[0])
named = report.to_pandas(["gpu__time_duration.sum", "launch__grid_size"], units=True)
assert list(named.columns) == ["name", "gpu__time_duration.sum [nsecond]", "launch__grid_size"], named.columns
assert some.attrs["units"] == {"gpu__time_duration.sum": "nsecond"} and all_.attrs["units"] == {name: report[0][0][name].unit() for name in report[0][0]}
"""


def results():
    if not with_pandas() or not os.path.exists(REPORT):
        tap.skip("to_pandas() of results", "no pandas, or no fixtures in SHARED")
        return
    for name in ("path_tracer-2025.4.1", "CuVectorAddDrv"):
        result = python(METRICS, os.path.join(os.path.dirname(REPORT), name + ".ncu-rep"))
        tap.ok(result.status == 0, f"{name}: to_pandas(), units", result.err)


if __name__ == "__main__":
    if not os.path.exists(LIBRARY) or os.environ.get("SAN"):
        tap.skip("the examples of docs/python.md", "no libtrace-reader.so, or one with sanitizers, which Python cannot load")
        tap.finish()
    main(notebook, results)
