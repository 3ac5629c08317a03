#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check kernel launches as standard entries of a report: `trace details` and, if it has been fetched, NVIDIA's ncu (PEERS, default
/tmp/peers) list them with the grids, blocks, streams and durations of the events. Programs run on the simulated device: this test has not run on
a GPU.
"""
import collections
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import BUILD, SRC, clean_env, folder, main, run, tap, trace  # noqa: E402
from libpeers import NCU  # noqa: E402

LIMIT = 1000  # of results that the writer keeps per process; half for any launches, half for new kernels or shapes


def traced(program, *arguments, **options):
    """Trace a program; return (path of the report, its kernels)."""
    report = device.recorded([device.app(program), *map(str, arguments)], LIBTRACE_TRACE="cuda", **options)
    return (report.path, report.events("--kind", "cuda_kernel", "--absolute")) if report else (None, [])


def by_trace(path, page="raw"):
    return trace("details", "--page", page, "--csv", path, limit=100).out.decode()


def by_ncu(path, page="raw"):
    return run([NCU, "--import", path, "--page", page, "--csv"], env=clean_env(HOME=folder()), limit=100).out.decode()


def number(text):
    return float(text.replace(",", ""))


def listed(text):
    """Return the kernels of a page with their columns. The line after the heading has the units."""
    rows = list(csv.DictReader(io.StringIO(text)))[1:]
    return collections.Counter((row["Context"], row["Stream"], row["Grid Size"], row["Block Size"], row["Device"],
                                number(row["gpu__time_duration.sum"]), number(row["launch__registers_per_thread"]),
                                number(row["launch__grid_size"])) for row in rows)


def told(kernels):
    return collections.Counter((str(e["context_id"]), str(e["stream_id"]), f"({e['grid_x']}, {e['grid_y']}, {e['grid_z']})",
                                f"({e['block_x']}, {e['block_y']}, {e['block_z']})", str(e["device_id"]), float(e["duration_ns"]),
                                float(e["registers_per_thread"]), float(e["grid_x"] * e["grid_y"] * e["grid_z"])) for e in kernels)


def in_ns(text, wanted):
    """Return the wanted kernels with durations in the unit that the page has chosen for the column, rounded as there."""
    units = next(csv.DictReader(io.StringIO(text)), {}).get("gpu__time_duration.sum", "")
    scale = {"": 1, "ns": 1, "nsecond": 1, "us": 1000, "usecond": 1000, "ms": 10**6, "msecond": 10**6}[units]
    return collections.Counter({(*key[:5], round(key[5] / scale, 2), *key[6:]): n for key, n in wanted.items()})


def programs():
    for program in ("vector_add", "pipeline", "driver_api"):
        if device.missing(program):
            tap.skip(f"{program}: listed", device.missing(program))
            continue
        path, kernels = traced(program)
        for name, read in (("trace details", by_trace), ("ncu", by_ncu)):
            if read is by_ncu and not os.path.exists(NCU):
                tap.skip(f"{program}: {name} lists every launch", "no ncu in PEERS or /tmp/peers")
                continue
            text = read(path)
            got = collections.Counter({(*key[:5], round(key[5], 2), *key[6:]): n for key, n in listed(text).items()})
            tap.ok(kernels and got == in_ns(text, told(kernels)), f"{program}: {name} lists every launch with its facts",
                   f"{got}\nwanted {in_ns(text, told(kernels))}\n{text[:2000]}")


def session():
    """Check that the details of the session are in one block only, since readers join those of all blocks."""
    if device.missing("driver_api"):
        tap.skip("session", device.missing("driver_api"))
        return
    path, _ = traced("driver_api")
    made = os.path.join(os.path.dirname(path), "r.ncu-rep")
    tap.ok(trace("export", "-t", "ncu", path).status == 0, "exported")
    for name, read in (("trace details", by_trace), ("ncu", by_ncu)):
        for file in (path, made):
            if read is by_ncu and not os.path.exists(NCU):
                tap.skip(f"{name}: session", "no ncu in PEERS or /tmp/peers")
                continue
            rows = [row for row in csv.reader(io.StringIO(read(file, "session"))) if row and row[0] in ("CUDA Version", "libtrace", "Nsight Compute Target")]
            tap.ok([row[0] for row in rows] in (["libtrace", "CUDA Version"], ["CUDA Version", "libtrace"]) and ["CUDA Version", "13.0"] in rows,
                   f"{name}: the version of CUDA, and who made {os.path.basename(file)}", rows)


def limit():
    if device.missing("vector_add"):
        tap.skip("limit", device.missing("vector_add"))
        return
    path, kernels = traced("vector_add", 1200)
    rows = list(csv.reader(io.StringIO(by_trace(path))))
    tap.ok(len(kernels) == 1200 and len(rows) == 2 + LIMIT // 2, f"one kernel of one shape: {LIMIT // 2} results, all launches as events",
           f"{len(kernels)} events, {len(rows)} lines")


STACKS = """
import json, sys
import ncu_report
report = ncu_report.load_report(sys.argv[1])
print(json.dumps([[[f["func_name"], f["file_name"], f["line"], f["module_name"]] for f in action.callchain()] for action in report[0]]))
"""


def stacks_of(path):
    """Return the callchain of each result: [function, file, line, module] of its frames."""
    env = clean_env(PYTHONPATH=os.path.join(SRC, "reader/python"), LIBTRACE_READER=os.path.join(BUILD, "lib/libtrace/libtrace-reader.so"))
    return json.loads(run([sys.executable, "-c", STACKS, path], env=env, limit=100).out)


def python_frames():
    """Check that results have the Python frames of their launches, as the events have them, and as the export for ncu has them."""
    if device.missing("ctypes_driver.py") or os.uname().machine != "x86_64" or not (3, 8) <= sys.version_info[:2] <= (3, 14):
        tap.skip("Python frames", device.missing("ctypes_driver.py") or "this Python is not read")
        return
    program = device.command("ctypes_driver.py")
    report = device.recorded([*program, "3"], LIBTRACE_TRACE="cuda", LIBTRACE_CUDA_BACKTRACE="kernel")
    calls = [e for e in report.events("--kind", "cuda_api") if "Launch" in e["function"]]
    wanted = [[[f["function"], f["file"], f["line"], f["file"]] for f in e["callchain"] if f["file"] == program[-1]] for e in calls]
    tap.ok(len(calls) == 3 and all(chain[-1][0].startswith("<module> (ctypes_driver.py:") and len(chain) == 2 for chain in wanted), "launches have Python frames", wanted)
    exported = os.path.join(os.path.dirname(report.path), "r.ncu-rep")
    tap.ok(trace("export", "-t", "ncu", "-o", exported, report.path).status == 0, "exported")
    for path in report.path, exported:
        stacks = stacks_of(path)
        tap.ok([[f for f in stack if f[1] == program[-1]] for stack in stacks] == wanted, f"so have the results of {os.path.basename(path)}", stacks)
        tap.ok(all(any(not f[2] and f[3].startswith("/") for f in stack) for stack in stacks), "and native frames", stacks)


def none():
    if device.missing("ends"):
        tap.skip("none", device.missing("ends"))
        return
    path, kernels = traced("ends", "exit")
    tap.ok(not kernels and trace("details", "--page", "raw", path).status != 1, "a report without kernels has no results and is no damaged one")


if __name__ == "__main__":
    main(programs, session, limit, python_frames, none)
