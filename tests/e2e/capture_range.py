#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check capture ranges and NVTX domains: exactly the events in the requested windows are recorded, and the report has the times of the windows."""
import collections
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import HANG_S, TRACE, Report, app, clean_env, folder, main, receipts_agree, run, spool_folder, tap, traced_env, wait_spool_gone, wait_until, writer_of  # noqa: E402

ROUNDS = 3
PROGRAM = app("capture_ranges")


def traced(name, options, arguments=(), status=0):
    if not os.path.exists(PROGRAM):
        tap.skip(name, "not built: no headers of NVTX")
        return None
    place = folder()
    report = Report(os.path.join(place, "r.rep"))
    result = run([TRACE, "run", "-o", report.path, "--osrt-threshold", "0", *options, "--", PROGRAM, *arguments], env=clean_env(), cwd=place)
    sound = result.status == status and not receipts_agree(report) and report.check().status == 0
    tap.ok(sound, f"{name}: runs as it should, and its report is sound", f"{result.status} {result.out.decode()} {result.err.decode()}")
    return report if sound else None


def calls(report):
    """Return the calls recorded or summed up, by function: only the calls that the program makes on purpose."""
    found = collections.Counter(e["function"] for e in report.events("--kind", "osrt_call"))
    for e in report.events("--kind", "osrt_summary"):
        found[e["function"]] += e["count"]
    return {name: found[name] for name in ("usleep", "sched_yield", "fsync", "fdatasync", "syncfs") if found[name]}


def nvtx(report):
    return sorted((e["domain"], e["text"]) for kind in ("nvtx_mark", "nvtx_range", "nvtx_start_end") for e in report.events("--kind", kind))


def same(name, got, wanted):
    tap.ok(got == wanted, name, f"wanted {wanted}\n   got {got}")


def windows(report):
    return report.info().get("windows", {"count": 0, "told": 0, "covered_ns": 0, "first": []})


def windows_are_sound(name, report, count):
    """Check that there are `count` windows, one after the other, and that every recorded call begins in one."""
    told = windows(report)
    rows = told["first"]
    ordered = all(a["end_ns"] <= b["start_ns"] for a, b in zip(rows, rows[1:]))
    starts = [e["start_ns"] for e in report.events("--kind", "osrt_call", "--absolute")]
    # Ticks are converted to ns by interpolation, so a call at the edge of a window may seem to begin outside.
    outside = [s for s in starts if not any(w["start_ns"] - 1000 <= s <= w["end_ns"] + 1000 for w in rows)]
    covered = sum(w["end_ns"] - w["start_ns"] for w in rows)
    tap.ok(told["count"] == told["told"] == len(rows) == count and ordered and not outside and covered == told["covered_ns"],
           f"{name}: {count} windows, and nothing outside of them", f"{told} {outside}")


IN_STEP = [("", "inner"), ("", "mark inside"), ("", "step")]
ALL_CALLS = {"usleep": 3 * ROUNDS, "sched_yield": ROUNDS, "fsync": 2 * ROUNDS, "fdatasync": ROUNDS, "syncfs": ROUNDS}
ALL_NVTX = sorted(ROUNDS * (IN_STEP + [("", "mark outside"), ("a domain", "step"), ("other, domain", "step")] + 2 * [("a domain", "registered")]))


def nvtx_ranges():
    cases = (
        (("-c", "nvtx:step"), 1, {"sched_yield": 1}, IN_STEP),
        (("-c", "nvtx", "-p", "step", "--capture-range-end", "repeat"), ROUNDS, {"sched_yield": ROUNDS}, sorted(ROUNDS * IN_STEP)),
        (("-c", "nvtx:step", "--capture-range-end", "repeat:2"), 2, {"sched_yield": 2}, sorted(2 * IN_STEP)),
        (("-c", "nvtx:step@a domain", "--capture-range-end", "repeat"), ROUNDS, {"fsync": ROUNDS}, ROUNDS * [("a domain", "step")]),
        (("-c", "nvtx:step@*", "--capture-range-end", "repeat"), 3 * ROUNDS, {"sched_yield": ROUNDS, "fsync": 2 * ROUNDS},
         sorted(ROUNDS * (IN_STEP + [("a domain", "step"), ("other, domain", "step")]))),
        (("-c", "nvtx:registered@a domain", "--capture-range-end", "repeat"), 2 * ROUNDS, {"fdatasync": ROUNDS}, 2 * ROUNDS * [("a domain", "registered")]),
        (("-c", "nvtx:step@a domain", "--capture-range-end", "none"), 1,
         {**ALL_CALLS, "usleep": 3 * ROUNDS - 2, "sched_yield": ROUNDS - 1}, None),
        (("-c", "nvtx:registered"), 0, {}, []),
        (("-c", "nvtx:step", "--nvtx-domain-exclude", "default"), 1, {"sched_yield": 1}, []),
    )
    for options, count, wanted_calls, wanted_nvtx in cases:
        name = " ".join(options)
        report = traced(name, options)
        if not report:
            continue
        same(f"{name}: calls", calls(report), wanted_calls)
        if wanted_nvtx is not None:
            same(f"{name}: NVTX", nvtx(report), wanted_nvtx)
        windows_are_sound(name, report, count)


def library_functions():
    report = traced("-c libtraceApi", ("-c", "libtraceApi", "--capture-range-end", "repeat"))
    if report:
        same("-c libtraceApi: from start to stop", calls(report), {"syncfs": ROUNDS})
        windows_are_sound("-c libtraceApi", report, ROUNDS)
    report = traced("libtrace_start without the option", ())
    if report:
        same("libtrace_start without the option does nothing", calls(report), ALL_CALLS)
        same("without options there are no windows", windows(report)["count"], 0)


def signals():
    report = traced("-c signal:USR2", ("-c", "signal:USR2", "--capture-range-end", "repeat"), ("signals",))
    if report:
        same("-c signal:USR2: between two signals; the program's own handler takes it away", calls(report), {"usleep": 1, "syncfs": 1})
        windows_are_sound("-c signal:USR2", report, 1)
    traced("-c signal:USR2, asked by every name of signal()", ("-c", "signal:USR2"), ("signal_names",))


def windows_so_far(report):
    """Return the number of windows that have ended, from a report that is still being written."""
    text = run([TRACE, "info", "--json", "--no-wait", report.path], env=clean_env()).out
    return json.loads(text).get("windows", {"told": 0})["told"] if text else 0


def whole_tree():
    if not os.path.exists(PROGRAM):
        return tap.skip("a tree", "not built: no headers of NVTX")
    place = folder()
    report = Report(os.path.join(place, "r.rep"))
    options = ("-c", "nvtx:step", "--capture-range-end", "repeat", "--flush-interval", "1")
    argv = [TRACE, "run", "-o", report.path, "--osrt-threshold", "0", *options, "--", PROGRAM, "processes"]
    with subprocess.Popen(argv, env=clean_env(), cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: process.poll() is not None or windows_so_far(report) == 2)
        with open(os.path.join(place, "closed"), "w", encoding="ascii"):
            pass
    same("a tree: its report is sound", (process.returncode, receipts_agree(report), report.check().status), (0, None, 0))
    found = calls(report)
    # The program waits in usleep() until the writer has noticed that the child is dead.
    same("a child made inside a range is inside; a range ends with its process", {name: found[name] for name in found if name != "usleep"}, {"sched_yield": 2})
    windows_are_sound("a tree", report, 2)
    return None


def domains():
    default = [row for row in ALL_NVTX if not row[0]]
    for options, wanted in (
            (("--nvtx-domain-include", "default"), default),
            (("--nvtx-domain-include", "a domain,default"), [row for row in ALL_NVTX if row[0] != "other, domain"]),
            (("--nvtx-domain-include", "other\\, domain"), [row for row in ALL_NVTX if row[0] == "other, domain"]),
            (("--nvtx-domain-exclude", "a domain,default"), [row for row in ALL_NVTX if row[0] == "other, domain"]),
            (("--nvtx-domain-exclude", "\\default"), ALL_NVTX)):
        report = traced(" ".join(options), options)
        if report:
            same(" ".join(options), nvtx(report), wanted)
            same(f"{' '.join(options)}: calls are not concerned", calls(report), ALL_CALLS)


def preload_alone():
    if not os.path.exists(PROGRAM):
        return tap.skip("preload alone", "not built: no headers of NVTX")
    place, spool = folder(), spool_folder()
    report = Report(os.path.join(place, "r.rep"))
    env = traced_env(report.path, spool, LIBTRACE_CAPTURE_RANGE="nvtx:step", LIBTRACE_CAPTURE_RANGE_END="repeat:2")
    result = run([PROGRAM], env=env)
    gone = wait_spool_gone(spool)
    same("preload alone: the variables do the same", (result.status, gone, calls(report)), (0, True, {"sched_yield": 2}))
    env["LIBTRACE_CAPTURE_RANGE"], env["LIBTRACE_OUTPUT"] = "signal:SEGV", os.path.join(place, "bad.rep")
    run([PROGRAM], env=env)
    wait_spool_gone(spool)
    bad = Report(os.path.join(place, "bad.rep"))
    tap.ok(any("LIBTRACE_CAPTURE_RANGE" in d["text"] for d in bad.info()["diagnostics"]) and calls(bad) == ALL_CALLS,
           "an invalid value is reported, and the default is used", bad.info()["diagnostics"])


def windows_outlive_the_writer():
    if not os.path.exists(PROGRAM):
        return tap.skip("windows without a writer", "not built: no headers of NVTX")
    for name, helper in (("no writer", "false"), ("writer killed in between", "true")):
        place, spool = folder(), spool_folder()
        report = Report(os.path.join(place, "r.rep"))
        env = traced_env(report.path, spool, LIBTRACE_CAPTURE_RANGE="nvtx:step", LIBTRACE_CAPTURE_RANGE_END="repeat", LIBTRACE_HELPER=helper,
                         LIBTRACE_FLUSH_INTERVAL=1)
        with subprocess.Popen([PROGRAM, "windows", *(["waits"] if helper == "true" else [])], env=env, cwd=place) as process:
            if helper == "true":
                wait_until(lambda: os.path.exists(report.path) and windows_so_far(report))
                os.kill(writer_of(spool), signal.SIGKILL)
                with open(os.path.join(place, "killed"), "w", encoding="ascii"):
                    pass
            process.wait()
        for tree in os.listdir(spool):
            subprocess.run([TRACE, "recover", os.path.join(spool, tree)], env=clean_env(), capture_output=True, timeout=60, check=False)
        told = windows(report)
        numbers = [w["number"] for w in told["first"]]
        last = max(w["end_ns"] for w in told["first"]) if told["first"] else 0
        ends = [p["end_ns"] for p in report.processes()]
        tap.ok(sorted(numbers) == list(range(1, 21)) and told["told"] == 20 and calls(report).get("sched_yield") == 20,
               f"{name}: 'trace recover' writes each window once", f"{told} {calls(report)}")
        tap.ok(any(abs(last - end) < 1000 for end in ends), f"{name}: the range that was open ends with its process", f"{last} {ends}")
    return None


def never_began():
    """Check a range that no thread enters, and a delay that is too long: nothing is recorded, and the user is notified."""
    for options in (("-c", "nvtx:nobody's"), ("-c", "signal:USR2"), ("--delay", "100")):
        report = Report(os.path.join(folder(), "r.rep"))
        result = run([TRACE, "run", "-o", report.path, *options, "--", "true"], env=clean_env())
        text = run([TRACE, "info", report.path], env=clean_env())
        tap.ok(b"recording never began" in result.err and b"no recording window" in text.out and report.info()["windows"]["count"] == 0,
               f"{' '.join(options)}: never began, and that is said", result.err + text.out)
    report = Report(os.path.join(folder(), "r.rep"))
    result = run([TRACE, "run", "-o", report.path, "--", "true"], env=clean_env())
    tap.ok(b"never began" not in result.err and "windows" not in report.info(), "without capture options the report says nothing about windows", result.err)


def wrong_options():
    for options, words in ((("-c", "nvtx"), "the name of the NVTX range is missing"), (("-c", "foo"), "libtraceApi or signal"), (("-c", "signal:KILL"), "USR1, USR2"),
                           (("-c", "nvtx:a", "--capture-range-end", "repeat:0"), "repeat:N"), (("-p", "a"), "--capture-range=nvtx"),
                           (("--nvtx-domain-include", "a", "--nvtx-domain-exclude", "b"), "cannot be used together"),
                           (("-o", "-"), "standard output"), (("-t", "osrt,foo"), " for --trace: expected "), (("-t", "osrt,"), " for --trace: expected "),
                           (("-d", "5s"), "seconds, such as"), (("-d", "9999999999"), "at most 999999999"), (("-e", "A B"), "A=B"), (("--osrt-threshold", "x"), "an unsigned integer"),
                           (("--osrt-backtrace-depth", "129"), "invalid argument '129' for --osrt-backtrace-depth: expected an unsigned integer, at most 128"),
                           *((("--cuda-backtrace", list_), "kernel memory sync other all") for list_ in ("kern", "kernel:", "kernel:5,none", "all,", ":5"))):
        place = folder()
        result = subprocess.run([TRACE, "run", "-o", os.path.join(place, "r"), *options, "--", "true"], capture_output=True, text=True,
                                env=clean_env(), timeout=HANG_S, check=False)
        tap.ok(result.returncode == 2 and words in result.stderr and not os.listdir(place), f"{' '.join(options)}: refused before anything runs",
               f"{result.returncode} {result.stderr}")


def options_are_reported():
    place, spool = folder(), spool_folder()
    report = Report(os.path.join(place, "r.rep"))
    run([TRACE, "run", "-o", report.path, "-t", "osrt,nvtx", "--osrt-locks", "all", "-c", "nvtx:a\nb", "--", "true"], env=clean_env(LIBTRACE_OSRT_THRESHOLD=77))
    told = report.info()["session"]["options"]
    wanted = ["trace=osrt,nvtx", "osrt_locks=all", "capture_range=nvtx:a b", "osrt_threshold=77", "backtrace=dwarf"]
    tap.ok(not set(wanted) - set(told), "trace run: the report contains the options in force, defaults included", told)
    lists = [run([TRACE, "run", "-f", "true", "-o", report.path, "--cuda-backtrace", list_, "--", "true"], env=clean_env()).status for list_ in ("none", "kernel:5,memory", "all")]
    tap.ok(not any(lists), "classes of CUDA calls that are known are taken", lists)
    other = Report(os.path.join(place, "other.rep"))
    run(["/bin/true"], env=traced_env(other.path, spool, LIBTRACE_TRACE="osrt,foo", LIBTRACE_OSRT_FILE_ACCESS="true", LIBTRACE_OSRT_BACKTRACE_DEPTH=129))
    wait_spool_gone(spool)
    info = other.info()
    tap.ok("osrt_file_access=true" in info["session"]["options"], "preload alone: so it does", info["session"]["options"])
    tap.ok(any("LIBTRACE_TRACE has an invalid value" in d["text"] for d in info["diagnostics"]), "an unknown source is reported", info["diagnostics"])
    misspelled = Report(os.path.join(place, "misspelled.rep"))
    done = run([TRACE, "run", "-o", misspelled.path, "--", "sh", "-c", "true; ls /; true"], env=clean_env(LIBTRACE_OSRT_TRESHOLD=77))
    notes = [d["text"] for d in misspelled.info()["diagnostics"] if "LIBTRACE_" in d["text"]]
    tap.ok(b"unknown variable 'LIBTRACE_OSRT_TRESHOLD' has no effect" in done.err and notes == ["LIBTRACE_OSRT_TRESHOLD is not a variable of libtrace"],
           "a misspelled variable: trace run warns, and the report has one diagnostic", [done.err, notes])
    tap.ok(any("using 128" in d["text"] for d in info["diagnostics"]), "a diagnostic reports a depth that is too large", info["diagnostics"])


if __name__ == "__main__":
    main(options_are_reported, nvtx_ranges, library_functions, signals, whole_tree, domains, preload_alone, windows_outlive_the_writer, never_began, wrong_options)
