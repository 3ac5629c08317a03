#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the occupancy of kernels with NVIDIA's own values in reports of Nsight Compute, in every result; launch times with the device's log."""
import collections
import csv
import glob
import io
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _made_database as made  # noqa: E402
import libdevice as device  # noqa: E402
from lib import fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

METRICS = {"occupancy": "sm__maximum_warps_per_active_cycle_pct", "waves": "launch__waves_per_multiprocessor", "registers": "launch__occupancy_limit_registers",
           "warps": "launch__occupancy_limit_warps", "blocks": "launch__occupancy_limit_blocks"}


def stats(path, arguments=""):
    return list(csv.DictReader(io.StringIO(trace("stats", "-r", f"cuda_kern_occupancy:mangled{arguments}", "-f", "csv", path).out.decode())))


def nvidias(path):
    """Return NVIDIA's values of each kind of launch: (kernel, grid, block) -> values, with the number of results."""
    names = ", ".join(f"(SELECT m.value FROM LIBTRACE_NCU_METRIC m JOIN StringIds n ON n.id = m.nameId WHERE m.resultId = r.id AND n.value = '{metric}') AS {name}" for name, metric in METRICS.items())
    query = (f"SELECT (SELECT value FROM StringIds WHERE id = coalesce(k.mangledName, k.demangledName)) AS name, k.gridX, k.gridY, k.gridZ, k.blockX, k.blockY, k.blockZ, {names} "
             "FROM LIBTRACE_NCU_RESULT r JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.rowid = r.id")
    found = collections.defaultdict(list)
    for row in json.loads(trace("query", "-f", "json", path, query).out):
        key = row["name"], tuple(row[f"grid{c}"] for c in "XYZ"), tuple(row[f"block{c}"] for c in "XYZ")
        found[key].append({name: float(row[name]) for name in METRICS})
    return found


def equal_to_ncu():
    paths = sorted(glob.glob(os.path.join(fixtures("ncu"), "*.ncu-rep")))
    if not paths:
        tap.skip("occupancy beside NVIDIA's", "no reports of Nsight Compute")
        return
    for path in paths:
        wanted, wrong, results = nvidias(path), [], 0
        for r in stats(path):
            key = r["Name"], tuple(map(int, r["GridXYZ"].split())), tuple(map(int, r["BlockXYZ"].split()))
            for w in wanted.pop(key):
                results += 1
                least = min(w["registers"], w["warps"], w["blocks"])
                limits = {name for name in ("registers", "warps", "blocks") if w[name] == least}
                named = set(r["Limiter"].split(", ")) - {"shared memory"}
                if abs(float(r["Occupancy (%)"]) - w["occupancy"]) > 0.06 or abs(float(r["Waves"]) - w["waves"]) > 0.0006 or named != limits or int(r["Blocks per SM"]) != least:
                    wrong.append((key, r, w))
        tap.ok(results and not wrong and not wanted, f"{os.path.basename(path)}: occupancy, waves and limiter of {results} results are NVIDIA's", (wrong, wanted))


def shared_memory_and_launches():
    """Check kernels of the simulated device, whose log has registers, memory and times."""
    if device.missing("driver_api"):
        tap.skip("times of launches", device.missing("driver_api"))
        return
    work, spool = folder(), spool_folder()
    report, truth = os.path.join(work, "r.rep"), os.path.join(work, "truth")
    done = run([device.app("driver_api"), "20"], env=device.env(truth=truth, base=traced_env(report, spool, LIBTRACE_TRACE="cuda")))
    tap.ok(done.status == 0 and wait_spool_gone(spool), "recorded", done)
    kernels = device.truth(truth, "kernel")
    calls = {line["correlation"]: line for line in device.truth(truth, "api") if not line["nested"]}
    (r,) = stats(report)
    launch = sum(k["start"] - calls[k["correlation"]]["start"] for k in kernels) / len(kernels)
    tap.ok(int(r["Instances"]) == len(kernels) == 20 and int(r["Reg/Trd"]) == kernels[0]["registers"], "instances and registers", r)
    # The tracer's time of a call begins before the device's.
    tap.ok(float(r["Avg Launch (ns)"]) >= launch - 1000, "launch: from the call to the kernel", (r, launch))
    tap.ok(r["Occupancy (%)"] == "100.0" and r["Limiter"] == "warps" and abs(float(r["Waves"]) - 4 / (8 * 132)) < 0.001, "4 blocks of 256 threads on 132 multiprocessors", r)


def rule():
    found = {}
    for kind, name in (("nsys", "nvtx_sampling-2023.3.1.sqlite"), ("ncu", "path_tracer-2025.4.1.ncu-rep"), ("ncu", "vec_add-2024.1.1.ncu-rep")):
        path = os.path.join(fixtures(kind), name)
        if not os.path.exists(path):
            tap.skip("the rule kernel_occupancy", "no fixtures")
            return
        result = json.loads(trace("analyze", "-r", "kernel_occupancy", "-f", "json", path).out)
        found[name] = {row["Cause"] for f in result for row in f["rows"]}
    tap.ok(list(found.values()) == [{"grid has fewer blocks than multiprocessors"}, {"registers"}, set()], "analyze names what keeps kernels from filling the device", found)


def analyzed(path, rule):
    return [row for f in json.loads(trace("analyze", "-r", f"{rule}:mangled", "-f", "json", path).out) for row in f["rows"]]


def recorded(options, *argv):
    work, spool = folder(), spool_folder()
    report = os.path.join(work, "r.rep")
    done = run(argv, env=device.env(device=options, base=traced_env(report, spool, LIBTRACE_TRACE="cuda")))
    tap.ok(done.status == 0 and wait_spool_gone(spool), f"recorded with {options}", done)
    return report


def rules_of_launches():
    """Check the rules about launches and local memory on programs of the simulated device whose kernels wait for a known cause, or for none."""
    if device.missing("driver_api") or device.missing("launch_loop"):
        tap.skip("rules of launches", device.missing("driver_api") or device.missing("launch_loop"))
        return
    loop, driver = (device.app("launch_loop"), "1"), (device.app("driver_api"), "100")
    # Kernels that end at once begin with their calls, or long after all calls.
    for options, argv, causes in (("kernel_ns=1,launch_latency_ns=0", loop, {"calls come late"}), ("kernel_ns=1,launch_latency_ns=200000000", driver, {"launch latency"}),
                                  ("kernel_ns=1000000", driver, set())):
        found = analyzed(recorded(options, *argv), "kernel_launches")
        tap.ok({row["Cause"] for row in found} == causes, f"kernel_launches: {causes or 'a busy device has no finding'}", found)
    report = recorded("kernel_ns=1000000", *driver)
    base = report + ".sqlite"
    trace("export", "-t", "sqlite", "-o", base, report)
    tap.ok(not analyzed(base, "kernel_spills"), "kernel_spills: no finding without local memory")
    with sqlite3.connect(base) as c:
        c.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET localMemoryPerThread = 64")
    found = analyzed(base, "kernel_spills")
    tap.ok([(row["Local/Trd (B)"], row["Instances"], row["Name"]) for row in found] == [(64, 100, "increment")], "kernel_spills names the kernel that uses local memory", found)


# Usage: default|nonblocking. 30 times a kernel in a stream of its own, and one in the default stream, or in one that waits for no other.
TWO_STREAMS = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
module, function, context, own, other = (ctypes.c_void_p() for i in range(5))
def check(result): result and sys.exit(str(result))
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxPushCurrent_v2(context))
check(cuda.cuStreamCreate(ctypes.byref(own), 0))
if sys.argv[1] == "nonblocking": check(cuda.cuStreamCreate(ctypes.byref(other), 1))
ptx = b"//\\n.version 7.0\\n.target sm_75\\n.address_size 64\\n.visible .entry scale(.param .u64 values) { ret; }\\n"
check(cuda.cuModuleLoadData(ctypes.byref(module), ptx))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"scale"))
values = ctypes.c_uint64(0)
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(values), ctypes.c_void_p))
for i in range(30):
    for stream in (own, other): check(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, None))
    check(cuda.cuCtxSynchronize())
"""


def covered(spans, start, end):
    """Return how much of an interval the spans cover together."""
    total, at = 0, start
    for first, last in sorted(spans):
        first, last = max(first, at), min(last, end)
        total += max(0, last - first)
        at = max(at, last)
    return total


def rule_of_queues():
    """Check kernel_queue against a count of the time in which a launched kernel, whose stream was free, waited for another stream."""
    if device.missing("driver_api"):
        tap.skip("the rule kernel_queue", device.missing("driver_api"))
        return
    for kind in ("default", "nonblocking"):
        report = recorded("kernel_ns=1000000", sys.executable, "-c", TWO_STREAMS, kind)
        found, base = analyzed(report, "kernel_queue"), report + ".sqlite"
        trace("export", "-t", "sqlite", "-o", base, report)
        with sqlite3.connect(base) as c:
            rows = c.execute("SELECT k.streamId, k.start, k.end, r.end FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r USING (correlationId) ORDER BY k.start").fetchall()
        waited, free = collections.Counter(), {}
        for stream, start, end, launched in rows:
            waited[stream] += covered([(s, e) for other, s, e, _ in rows if other != stream], max(launched, free.get(stream, 0)), start)
            free[stream] = end
        if kind == "default":
            (worst, total), = waited.most_common(1)
            tap.ok([(r["Stream ID"], r["Waited (ns)"], r["Instances"], r["Name"], r["Waited For"]) for r in found] == [(worst, total, 30, "scale", "scale")] and total > 15_000_000,
                   "kernel_queue: kernels of the default stream wait for those of another", (found, waited))
        else:
            tap.ok(len(rows) == 60 and not found, "kernel_queue: a stream that waits for no other has no finding", found)


def queues_beside_others():
    """Check kernel_queue on kernels shorter than the latency of their launches, beside a long kernel: they wait only for one that ends before they begin."""
    for long_end, waits in ((10_000_000, False), (104_000, True)):
        path = os.path.join(folder(), "made.sqlite")
        d = made.Made(path)
        for i in range(30):
            start = 100_000 * (i + 1)
            d.api(start, start + 1_000, made.T1, "cudaLaunchKernel", i + 1)
            d.kernel(start + 6_000, start + 8_000, made.P1, i + 1, "little", "little")
            if waits:
                d.kernel(start - 90_000, start - 100_000 + long_end, made.P1, 1000 + i, "long", "long")
        if not waits:
            d.kernel(0, long_end, made.P1, 1000, "long", "long")
        d.db.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 8 WHERE correlationId >= 1000")
        d.finish()
        said = [(r["Stream ID"], r["Waited (ns)"], r["Instances"], r["Name"], r["Waited For"]) for r in analyzed(path, "kernel_queue")]
        tap.ok(said == ([(7, 30 * 3_000, 30, "_Zlittle", "_Zlong")] if waits else []), f"kernel_queue: a long kernel that ends {'before' if waits else 'after'} the short ones begin", said)


def rule_of_graphs():
    """Check graph_nodes: a chain of nodes is found, a graph whose nodes run side by side is not."""
    if device.missing("graph"):
        tap.skip("the rule graph_nodes", device.missing("graph"))
        return
    work, spool = folder(), spool_folder()
    report, truth = os.path.join(work, "r.rep"), os.path.join(work, "truth")
    done = run([device.app("graph"), "20"], env=device.env(device="kernel_ns=1000000", truth=truth, base=traced_env(report, spool, LIBTRACE_TRACE="cuda", LIBTRACE_CUDA_GRAPH="node")))
    tap.ok(done.status == 0 and wait_spool_gone(spool), "graphs are recorded node by node", done)
    found = analyzed(report, "graph_nodes")
    nodes = collections.defaultdict(list)
    for line in device.truth(truth, "kernel", "memcpy", "memset"):
        if line.get("graph"):
            nodes[line["graph"], line["correlation"]].append((line["start"], line["end"]))
    chains = {}
    for (graph, _), spans in nodes.items():
        begin, end = min(s for s, _ in spans), max(e for _, e in spans)
        twice = sum(e - s for s, e in spans) - covered(spans, begin, end)
        total, shared, launches = chains.get(graph, (0, 0, 0))
        chains[graph] = (total + end - begin, shared + twice, launches + 1)
    wanted = {graph: (total, launches) for graph, (total, shared, launches) in chains.items() if shared <= 0.1 * total}
    (total, launches), = wanted.values()
    tap.ok(len(chains) == 2 and [(r["Launches"], r["Nodes"], r["Longest"]) for r in found] == [(launches, 3, "add_to")] and abs(found[0]["Total Time (ns)"] - total) <= 4 * launches,
           "graph_nodes: the graph whose nodes follow each other, with its time and launches", (found, chains))


main(equal_to_ncu, shared_memory_and_launches, rule, rules_of_launches, rule_of_queues, queues_beside_others, rule_of_graphs)
