#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that NVIDIA's own report scripts run on databases of `trace export -t sqlite`, and agree with `trace stats`.

nsys is expected in PEERS (default /tmp/peers); without it all tests are skipped. The CUDA programs run on the simulated device.
"""
import csv
import io
import itertools
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device
from lib import app, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone
from libpeers import NSYS

PLACE = folder()
CUDA = ("cuda_api_sum", "cuda_api_trace", "cuda_api_gpu_sum", "cuda_gpu_kern_sum", "cuda_gpu_kern_gb_sum", "cuda_gpu_mem_size_sum", "cuda_gpu_mem_time_sum",
        "cuda_gpu_sum", "cuda_gpu_trace", "cuda_kern_exec_sum", "cuda_kern_exec_trace", "osrt_sum")
NVTX = ("nvtx_sum", "nvtx_pushpop_sum", "nvtx_startend_sum", "nvtx_pushpop_trace", "osrt_sum")
FREE = ("RangeId", "ParentId", "RangeStack")  # arbitrary ids of ranges
NAMES = ("Range", "Name", "NameTree")
STDDEV_OF_NONE = "QStdDev (ns)"  # nsys has 0.0 if there is no value, and no other columns for it


def rows_of(text):
    rows = [row for row in csv.reader(io.StringIO(text)) if len(row) > 2]
    return [{name: value for name, value in zip(rows[0], row) if name not in FREE} for row in rows[1:]]


def is_near(column, a, b):
    """Return whether two cells agree. nsys before 2024 leaves out the colon of the default domain. It rounds halves up, we round them to even: the last digit may differ."""
    if column in NAMES:
        return re.sub("^(-*):", r"\1", a) == re.sub("^(-*):", r"\1", b)
    if a == b or (column == STDDEV_OF_NONE and {a, b} == {"", "0.0"}):
        return True
    try:
        return "." in a and "." in b and abs(float(a) - float(b)) <= max(0.11, 1e-9 * abs(float(a)))
    except ValueError:
        return False


def differences(theirs, ours):
    if len(theirs) != len(ours):
        return [f"{len(theirs)} rows there, {len(ours)} here"]
    order = lambda row: sorted((name, value) for name, value in row.items() if "." not in value and name not in NAMES)  # noqa: E731
    return [f"{a}\n{b}" for a, b in zip(sorted(theirs, key=order), sorted(ours, key=order))
            if a.keys() != b.keys() or not all(is_near(column, a[column], b[column]) for column in a)]


def database(name, argv, env):
    report, path = (os.path.join(PLACE, name + suffix) for suffix in (".rep", ".sqlite"))
    spool = spool_folder()
    done = run(argv, env=env(traced_env(report, spool, LIBTRACE_TRACE="cuda,nvtx,osrt")))
    if done.hung or not wait_spool_gone(spool):
        raise RuntimeError(f"no report of {name}: {done}")
    made = trace("export", "-t", "sqlite", "-o", path, report)
    if made.status != 0:
        raise RuntimeError(f"no database of {name}: {made.err!r}")
    return path


def ties_by_name(rows):
    """Sort rows of equal totals by name: nsys leaves their order open."""
    ordered = []
    for _, tied in itertools.groupby(rows, key=lambda row: row.get("Total Time (ns)", id(row))):
        ordered += sorted(tied, key=lambda row: row.get("Name", ""))
    return ordered


def compare(name, path, reports):
    for report in reports:
        done = run([NSYS, "stats", "--report", report, "--format", "csv", "--force-export=false", path], env=dict(os.environ), limit=100)
        theirs = rows_of(done.out.decode(errors="replace"))
        here = trace("stats", "-r", report, "-f", "csv", path)
        ours = rows_of(here.out.decode())
        wrong = differences(ties_by_name(theirs), ties_by_name(ours))
        said = (done.out + done.err).decode(errors="replace")
        if not theirs and not ours and "SKIPPED" in said:
            tap.skip(f"{report} of {name}", "the program does nothing of that kind")
        else:
            tap.ok(theirs and not wrong, f"{report} of {name}: nsys says the same in {len(theirs)} rows", "\n".join(wrong[:3]) or said + here.err.decode())


def cuda_programs():
    for name in ("vector_add", "pipeline", "graph", "driver_api"):
        reason = device.missing(name)
        if reason:
            tap.skip(f"reports of {name}", reason)
            continue
        compare(name, database(name, [device.app(name)], lambda base: device.env(base=base)), CUDA)


RULES = ("cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync", "cuda_api_sync", "gpu_gaps", "gpu_time_util")


def expert_rules():
    """Check that the rules of `nsys analyze` read our database, and find the waits of the program."""
    if device.missing("pipeline"):
        tap.skip("expert rules", device.missing("pipeline"))
        return
    path = database("rules", [device.app("pipeline")], lambda base: device.env(base=base))
    for rule in RULES:
        done = run([NSYS, "analyze", "--rule", rule, "--format", "csv", "--force-export=false", path], env=dict(os.environ), limit=100)
        said = (done.out + done.err).decode(errors="replace")
        rows = [row for row in csv.reader(io.StringIO(said)) if len(row) > 3 and row[0].isdigit()]
        tap.ok(done.status == 0 and "Processing" in said and "ERROR" not in said.upper(), f"{rule}: {len(rows)} rows", said)
        if rule == "cuda_api_sync":
            waits = sqlite3.connect(path).execute("SELECT end - start FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value LIKE 'cudaDeviceSynchronize%' "
                                                  "OR value LIKE 'cudaStreamSynchronize%' ORDER BY 1 DESC").fetchall()
            tap.ok([int(row[0]) for row in rows] == [duration for duration, in waits] and rows, f"the waits that the program made: {len(waits)}", (rows, waits))


def nvtx_program():
    if not os.path.exists(app("nvtx_cxx")):
        tap.skip("reports of nvtx_cxx", "not built: no headers of NVTX")
        return
    compare("nvtx_cxx", database("nvtx_cxx", [app("nvtx_cxx")], lambda base: base), NVTX)


def os_runtime_program():
    program = "import os,threading,time\nt=[threading.Thread(target=time.sleep,args=(.01,)) for _ in range(5)]\n" \
        "[x.start() for x in t]\n[x.join() for x in t]\n[os.stat('/') for _ in range(50)]\nos.system('true')\n"
    compare("python", database("python", [sys.executable, "-c", program], lambda base: base), ("osrt_sum",))


def results_of_kernels():
    """Check databases of NVIDIA's reports of Nsight Compute, which have only kernels."""
    for name in ("ex-gpu.s10", "manual_nvtx", "path_tracer-2025.4.1"):
        report, path = os.path.join(fixtures("ncu"), name + ".ncu-rep"), os.path.join(PLACE, name + ".sqlite")
        if not os.path.exists(report):
            tap.skip(f"reports of {name}", "no fixtures")
            continue
        made = trace("export", "-t", "sqlite", "-o", path, report)
        tap.ok(made.status == 0, f"{name} as a database", made)
        compare(name, path, ("cuda_gpu_kern_sum", "cuda_gpu_kern_gb_sum", "cuda_gpu_sum", "cuda_gpu_trace"))


if not os.path.exists(NSYS):
    print("1..0 # SKIP no nsys in PEERS or /tmp/peers")
    sys.exit(0)
if b"without SQLite" in trace("export", "-t", "sqlite", "-o", os.path.join(PLACE, "x"), __file__).err:
    print("1..0 # SKIP built without SQLite")
    sys.exit(0)
main(results_of_kernels, cuda_programs, expert_rules, nvtx_program, os_runtime_program)
