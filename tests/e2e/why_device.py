#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Check `trace why` on kernels whose critical path is known, on the simulated device (this has not run on a GPU), and on databases that nsys wrote on real ones:
their path adds up to the run, and idle time of their GPU has causes."""
import glob
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from _paths import gapless, path_of  # noqa: E402
from lib import fixtures, main, tap, trace  # noqa: E402

KERNEL_NS = {"kernel first": 5e6, "kernel second": 10e6, "kernel third": 20e6}  # of waited_gpu.cu
# Mode of waited_gpu.cu: kernels on the path, and how sure it is for which stream each call waited.
MODES = {
    "event": (["third", "second"], {"cudaStreamSynchronize": "exact"}),
    "ordered": (["third", "second", "first"], {"cudaStreamSynchronize": "exact"}),
    "devices": (["third", "second"], {"cudaStreamSynchronize": "exact", "cudaDeviceSynchronize": "exact"}),
    "graph": (["first", "third", "second"] * 2, {"cudaStreamSynchronize": "exact"}),
    "copy": (["third", "first"], {"cudaMemcpy": "exact", "cudaDeviceSynchronize": "exact"}),
}


def simulated():
    reason = device.missing("waited_gpu")
    if reason:
        tap.skip("kernels whose critical path is known", reason)
        return
    for mode, (expected, sure) in MODES.items():
        report = device.recorded([device.app("waited_gpu"), mode], SIM_DEVICE="devices=2", LIBTRACE_CUDA_GRAPH="node")
        if not report:
            return
        segments = path_of(report)
        kernels = [s for s in segments if s["Cause"].startswith("kernel ")]
        tap.ok(not gapless(segments) and [s["Cause"] for s in kernels] == [f"kernel {name}" for name in expected], f"{mode}: the kernels on the path are {' '.join(expected)}", segments)
        tap.ok(all(abs(s["Duration (ns)"] - KERNEL_NS.get(s["Cause"], 0)) < 10000 for s in kernels), f"{mode}: each is on it from its start to its end", kernels)
        wakes = {s["Cause"].rpartition(" ")[2]: s["Sure"] for s in segments if s["Cause"].startswith("waking up from cuda")}
        tap.ok({name: wakes.get(name) for name in sure} == sure, f"{mode}: what each call waited for is known", wakes)
    orders()
    whole = device.recorded([device.app("waited_gpu"), "graph"], SIM_DEVICE="devices=2")
    graphs = [s["Duration (ns)"] for s in path_of(whole) if s["Cause"].startswith("CUDA graph ")] if whole else []
    tap.ok(len(graphs) == 2 and all(abs(ns - 35e6) < 20000 for ns in graphs), "graph, recorded whole: both launches are on the path", graphs)


def orders():
    """What-if knows which operations wait for other streams: what ends earlier lets them begin earlier, until something else holds them up."""
    for mode, change, saved_ms in (("event", "kernel third x0.1", 15), ("event", "kernel first x3", 0), ("event", "kernel aside x8", 0),
                                   ("ordered", "kernel third x0.5", 10), ("ordered", "kernel second x0.5", 5), ("ordered", "kernel * x0.5", 17.5)):
        report = device.recorded([device.app("waited_gpu"), mode], SIM_DEVICE="devices=2")
        found = json.loads(trace("what-if", "--json", report.path, change).out or b"{}") if report else {}
        saved = (found["wall_ns"] - found["predicted_ns"]) / 1e6 if found else None
        tap.ok(found and abs(saved - saved_ms) < 0.1, f"{mode}: {change} saves {saved_ms} ms", (saved, found))


def window_of(path):
    """Return start and end of the thread that the path of a database of nsys ends on: the main thread of a process that ended last."""
    d = sqlite3.connect(path)
    have = {name for name, in d.execute("SELECT name FROM sqlite_master")}
    calls = [f"SELECT globalTid, start, \"end\" FROM {table}{' WHERE eventClass = 27' if table == 'OSRT_API' else ''}"
             for table in ("OSRT_API", "CUPTI_ACTIVITY_KIND_RUNTIME") if table in have]
    return d.execute(f"SELECT min(start), max(\"end\") FROM ({' UNION ALL '.join(calls)}) GROUP BY globalTid "
                     "ORDER BY globalTid >> 24 & 0xffffff = globalTid & 0xffffff DESC, 2 DESC LIMIT 1").fetchone()


def idle_of(path):
    """Return how long no operation ran on the device between the first and the last one, and when each of these gaps is."""
    d = sqlite3.connect(path)
    have = {name for name, in d.execute("SELECT name FROM sqlite_master")}
    tables = [f"SELECT start, \"end\" FROM CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET") if f"CUPTI_ACTIVITY_KIND_{kind}" in have]
    gaps, busy = [], None
    for start, end in d.execute(" UNION ALL ".join(tables) + " ORDER BY 1"):
        if busy is not None and start > busy:
            gaps.append((busy, start))
        busy = end if busy is None else max(busy, end)
    return gaps


def real():
    files = sorted(glob.glob(os.path.join(fixtures("nsys"), "*.sqlite")))
    if not files:
        tap.skip("databases of nsys", "there are no fixtures")
    for path in files:
        name = os.path.basename(path)
        result = trace("query", "-f", "json", path, "SELECT start, \"end\", duration, cause, sure FROM LIBTRACE_CRITICAL_PATH GROUP BY pathId, segment ORDER BY start")
        segments = json.loads(result.out or b"[]")
        start, end = window_of(path)
        apart = [(a, b) for a, b in zip(segments, segments[1:]) if a["end"] != b["start"]]
        tap.ok(segments and not apart and (segments[0]["start"], segments[-1]["end"]) == (start, end), f"{name}: the segments follow each other from start to end of the run",
               (result.err, apart[:1], segments[:1], segments[-1:], start, end))
        said = json.loads(trace("why", "--json", path).out or b'{"ns": 0, "causes": []}')
        tap.ok(said["ns"] == end - start and 0 <= said["ns"] - sum(r["Total Time (ns)"] for r in said["causes"]) <= len(said["causes"]),
               f"{name}: the causes add up to the run, but for parts of a ns", (said["ns"], end - start))
        gaps = [(max(a, start), min(b, end)) for a, b in idle_of(path) if a < end and b > start]
        rows = json.loads(trace("stats", "-r", "gpu_idle_sum", "-f", "json", path).out or b"[]")
        found, idle = sum(r["Total Time (ns)"] for r in rows), sum(b - a for a, b in gaps)
        tap.ok(abs(found - idle) <= len(rows) and (rows or not idle), f"{name}: the causes of idle time of the GPU add up to it", (found, idle, rows[:3]))
        if gaps:
            a, b = max(gaps, key=lambda gap: gap[1] - gap[0])
            on_path = [s["cause"] for s in segments if s["start"] < b and s["end"] > a]
            tap.ok(on_path and set(on_path) <= {r["Cause"] for r in rows}, f"{name}: what was on the path in the longest gap is a cause", (a, b, on_path))


main(simulated, real)
