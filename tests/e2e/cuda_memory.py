#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check who holds device memory, by a program with known leaks, peak and failed allocation, and by the device's own count after each operation."""
import collections
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _page  # noqa: E402
import lib_compare as made  # noqa: E402
import libdevice as device  # noqa: E402
from lib import folder, main, receipts_agree, Report, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

MIB = 1 << 20
DEVICE_MEMORY = (3, 4)  # CUPTI's kinds: device, array
WEIGHTS, CACHE = ("load", "leak_weights", 3 * MIB), ("", "leak_cache", 2 * MIB)


def capture(name, trace_of="cuda,nvtx", memory_mib=16, more="", backtrace="all"):
    """Return the report of a program on devices of that size, and the device's log."""
    work, spool = folder(), spool_folder()
    report, truth = os.path.join(work, "r.rep"), os.path.join(work, "truth")
    env = device.env(truth=truth, device=f"devices=2,memory_mib={memory_mib}{more}", base=traced_env(report, spool, LIBTRACE_TRACE=trace_of, LIBTRACE_CUDA_BACKTRACE=backtrace))
    done = run([device.app(name)], env=env)
    tap.ok(wait_spool_gone(spool) and done.status == 0 and not receipts_agree(Report(report)), f"{name}: recorded", done)
    return report, device.lines(truth)


def rows(*arguments):
    done = trace(*arguments)
    tap.ok(done.status == 0, " ".join(("trace", *arguments[:-1])), done.err.decode())
    return list(csv.DictReader(io.StringIO(done.out.decode())))


def live(report, *more):
    """Return the live set as {(range, innermost function, bytes)}."""
    at = "".join(f":{a}" for a in more)
    return {(r["NVTX Range"], r["Callchain"].split(" < ")[0], int(r["Bytes"])): r for r in rows("stats", "-r", f"cuda_memory_live{at}", "-f", "csv", report)}


def the_devices_count():
    """Check that the use that a report has after each operation is the count of the device itself."""
    programs = ("nvtx_memory_use", "nvtx_memory_kinds", "nvtx_graph_memory", "graph_memory", "graph_frees", "pipeline", "driver_api")
    for name, more in (*((name, "") for name in programs), ("nvtx_graph_memory", ",graph_memory_records=1"), ("graph_frees", ",graph_memory_records=1")):
        if device.missing(name):
            tap.skip(f"use of memory by {name}", device.missing(name))
            continue
        report, truth = capture(name, memory_mib=16 if name.startswith("nvtx") else 0, more=more)
        wanted = [(line["device"], line["bytes"] if line["operation"] == 1 else -line["bytes"], line["used"])
                  for line in truth if line["type"] == "memory" and line["memory_kind"] in DEVICE_MEMORY]
        got = [(int(r["Device ID"]), int(r["Change Bytes"]), int(r["Used Bytes"])) for r in rows("stats", "-r", "cuda_memory_trace", "-f", "csv", report)]
        tap.ok(wanted and sorted(got) == sorted(wanted), f"{name}: sums equal the device's count after each of {len(wanted)} operations", (got[:40], wanted[:40]))
        unused = max((line["pool_held"] - line["pool_used"] for line in truth if line["type"] == "memory" and line["pool"]), default=None)
        got = [r["Pool Unused Max Bytes"] for r in rows("stats", "-r", "cuda_memory_sum", "-f", "csv", report)]
        tap.ok(max((int(n) for n in got if n), default=None) == unused, f"{name}: most that pools held unused", (got, unused))
        pools = {}
        for line in truth:
            if line["type"] == "memory" and line["pool"]:
                pools.setdefault(f"{line['pool']:#x}", []).append((line["pool_held"], line["pool_used"]))
        wanted = {pool: (len(sizes), max(h for h, u in sizes), max(u for h, u in sizes), max(h - u for h, u in sizes), sizes[-1][0] - sizes[-1][1]) for pool, sizes in pools.items()}
        columns = ("Operations", "Reserved Peak Bytes", "Used Peak Bytes", "Unused Max Bytes", "Unused End Bytes")
        got = {r["Pool"]: tuple(int(r[c]) for c in columns) for r in rows("stats", "-r", "cuda_memory_pool_sum", "-f", "csv", report) if r["Pool"] != "graphs"} if pools else {}
        tap.ok(got == wanted, f"{name}: what each pool held and used", (got, wanted))


def known_places():
    report, truth = capture("nvtx_memory_use")
    (total,) = rows("stats", "-r", "cuda_memory_sum", "-f", "csv", report)
    wanted = {"Allocations": 7, "Releases": 5, "Peak Bytes": 15 * MIB, "Never Released Bytes": 5 * MIB, "Never Released": 2, "Failed": 1, "Pinned Peak Bytes": MIB // 2,
              "Managed Peak Bytes": 2 * MIB, "Device Bytes": 16 * MIB}
    tap.ok({name: int(total[name]) for name in wanted} == wanted, "peak, leaks and failures are those of the program", total)
    raw = "c10::cuda::CUDACachingAllocator::raw_alloc(unsigned long)"
    peak = live(report)
    tap.ok(set(peak) == {WEIGHTS, CACHE, ("peak", raw, 10 * MIB)}, "the peak has its holders, with NVTX range and function", peak)
    tap.ok({r["Allocator"] for key, r in peak.items() if key[0] == "peak"} == {"PyTorch"} and {r["Allocator"] for key, r in peak.items() if key[0] != "peak"} == {"CUDA"},
           "an allocation by a caching allocator is told from CUDA's own by its callchain", peak)
    tap.ok(len({r["TID"] for r in peak.values()}) == 2, "each holder has its thread", peak)
    tap.ok(set(live(report, "at=oom")) == {WEIGHTS, CACHE, ("step/forward", "run_out", 4 * MIB)}, "what was live when an allocation failed")
    tap.ok(set(live(report, "at=end")) == {WEIGHTS, CACHE}, "leaks are what is live at the end")
    failed = rows("stats", "-r", "cuda_memory_fail", "-f", "csv", report)
    tap.ok([(int(r["Requested Bytes"]), int(r["Live Bytes"]), r["NVTX Range"], r["Callchain"].split(" < ")[0]) for r in failed] == [(8 * MIB, 9 * MIB, "step/forward", "run_out")],
           "the failed allocation has its size, range and callchain", failed)
    api = [line for line in truth if line["type"] == "api" and line["result"] == 2]
    dumped = [json.loads(line) for line in trace("dump", "--json", report).out.decode().splitlines() if '"cuda_allocation_failed"' in line]
    tap.ok([e["correlation_id"] for e in dumped] == [line["correlation"] for line in api], "its event has the correlation id of the call", dumped)


def other_kinds():
    """Check memory that CUPTI does not report: of virtual memory management and of another process; and arrays."""
    report, _ = capture("nvtx_memory_kinds")

    def holders(at):
        return {(r["NVTX Range"], " < ".join(r["Callchain"].split(" < ")[:2]), r["Kind"], int(r["Bytes"])) for r in rows("stats", "-r", f"cuda_memory_live:at={at}", "-f", "csv", report)}
    totals = rows("stats", "-r", "cuda_memory_sum", "-f", "csv", report)
    array, leaked = ("", "keep_array < main", "Array", MIB), ("allocate", "segment_create < leak_segment", "Device", 2 * MIB)
    tap.ok([(int(r["Peak Bytes"]), int(r["Never Released Bytes"])) for r in totals if r["Peak Bytes"]] == [(9 * MIB, 3 * MIB)], "peak and leaks", totals)
    tap.ok(holders("peak") == {array, leaked, ("virtual", "segment_create < use_segments", "Device", 6 * MIB)}, "the peak has segments by where they were created", holders("peak"))
    tap.ok({r["Allocator"] for r in rows("stats", "-r", "cuda_memory_live", "-f", "csv", report) if r["NVTX Range"] == "allocate"} == {"RMM"}, "an allocator is told by its NVTX domain")
    shared = ("", "open_shared < main", "IPC", 3 * MIB)
    tap.ok(holders("end") == {array, leaked, shared}, "a segment is free when it has neither references nor mappings; memory of another process has its size", holders("end"))
    query = "SELECT max(used) AS peak, (SELECT sum(bytes) FROM CUDA_MEMORY_LIVE) AS live, (SELECT count(*) FROM CUDA_ALLOCATIONS WHERE kind = 'IPC') AS shared FROM CUDA_MEMORY_USE"
    tap.ok(rows("query", "-f", "csv", report, query) == [{"peak": str(9 * MIB), "live": str(9 * MIB), "shared": "2"}], "the tables can be queried in SQL")
    several = ("CUDA_MEMORY_USE", "KERNEL_OCCUPANCY", "LIBTRACE_CRITICAL_PATH", "LIBTRACE_WAIT_GRAPH", "CUDA_ALLOCATION_CALLS")
    counts = rows("query", "-f", "csv", report, "SELECT " + ", ".join(f"(SELECT count(*) FROM {table}) AS {table}" for table in several))
    alone = {table: rows("query", "-f", "csv", report, f"SELECT count(*) AS n FROM {table}")[0]["n"] for table in several}
    tap.ok(counts == [alone] and sum(n != "0" for n in alone.values()) >= 4, "a statement can name several of them, and those of the critical path", (counts, alone))
    failed = [int(r["Requested Bytes"]) for r in rows("stats", "-r", "cuda_memory_fail", "-f", "csv", report)]
    tap.ok(failed == [64 * MIB, 32 * MIB], "failed allocations of an array and a segment have their sizes", failed)


def of_graphs():
    """Check memory that nodes of graphs allocate: by the call that created the node, from a launch to a free, of whatever kind."""
    report, truth = capture("nvtx_graph_memory")
    (total,) = rows("stats", "-r", "cuda_memory_sum", "-f", "csv", report)
    wanted = {"Allocations": 12, "Releases": 10, "Peak Bytes": 13 * MIB, "Never Released Bytes": 9 * MIB, "Never Released": 2, "Failed": 2}
    tap.ok({name: int(total[name]) for name in wanted} == wanted, "graphs: peak, leaks and failures are those of the program", total)
    weights, leaked, result = ("", "main", MIB), ("", "leak_by_graph", 8 * MIB), ("build", "node_alloc", 4 * MIB)
    peak = live(report)
    tap.ok(set(peak) == {weights, leaked, result} and " < add_result < " in peak[result]["Callchain"], "graphs: holders are known by the calls that created the nodes", peak)
    tap.ok((peak[leaked]["Allocator"], peak[weights]["Allocator"]) == ("graph", "CUDA"), "graphs: their memory is told from other memory", peak)
    tap.ok(set(live(report, "at=end")) == {weights, leaked} == set(live(report, "at=oom")), "graphs: leaks, and what was live when an allocation failed")
    changes = rows("stats", "-r", "cuda_memory_trace", "-f", "csv", report)
    inside = next(int(r["Time (ns)"]) for r in changes if int(r["Change Bytes"]) == 2 * MIB)
    tap.ok(set(live(report, f"at={inside}")) == {weights, ("build", "node_alloc", 2 * MIB)}, "graphs: a temporary is live within its launch")
    captured = next(int(r["Time (ns)"]) for r in changes if int(r["Change Bytes"]) == 3 * MIB)
    tap.ok(set(live(report, f"at={captured}")) == {weights, ("", "capture_workspace", 3 * MIB)}, "graphs: captured allocations are live from a launch on")
    failed = [(int(r["Requested Bytes"]), r["API Name"], r["NVTX Range"]) for r in rows("stats", "-r", "cuda_memory_fail", "-f", "csv", report)]
    tap.ok(failed == [(12 * MIB, "cuGraphLaunch", "too much"), (8 * MIB, "cuMemAlloc_v2", "")], "graphs: a launch without memory failed, with its size", failed)
    (pool,) = rows("stats", "-r", "cuda_memory_pool_sum", "-f", "csv", report)
    tap.ok([pool[c] for c in ("Pool", "Operations", "Reserved Peak Bytes", "Used Peak Bytes")] == ["graphs", "21", str(4 * MIB), str(12 * MIB)], "graphs: their pool", pool)
    reads = rows("query", "-f", "csv", report, "SELECT operation, handle, bytes FROM LIBTRACE_CUDA_MAPPING WHERE operation IN (16, 17) ORDER BY timestamp")
    tap.ok([(int(r["operation"]), int(r["handle"]), int(r["bytes"])) for r in reads] == [(17, 0, 0), (17, 2, 4 * MIB), (16, 0, 0), (17, 2, 0), (17, 1, 12 * MIB)],
           "graphs: what the program read and trimmed", reads)
    whole = sum(line["type"] == "memory" for line in truth)
    tap.ok(not any(e["kind"] == "cuda_memory" and e["bytes"] != MIB for e in Report(report).events()) and whole == 22, "graphs: CUPTI has no records of them here", whole)


def other_frees():
    """Check that frees of ordinary memory count that hit the tracer's filter of addresses of nodes."""
    report, _ = capture("graph_frees", memory_mib=0)
    (hits,) = rows("query", "-f", "csv", report, "SELECT count(*) AS n FROM LIBTRACE_CUDA_MAPPING WHERE operation = 15")
    (total,) = rows("stats", "-r", "cuda_memory_sum", "-f", "csv", report)
    got = [int(total[name]) for name in ("Allocations", "Releases", "Never Released", "Never Released Bytes")]
    tap.ok(int(hits["n"]) > 0 and got == [2000, 2000, 0, 0], f"graphs: {hits['n']} frees of other memory hit the filter, and none is lost", total)


def chains_of_graphs():
    """Check that --cuda-backtrace memory has the callchains of calls that are about memory of graphs, whatever their names say, and of no others."""
    report, _ = capture("nvtx_graph_memory", backtrace="memory")
    chains = collections.defaultdict(set)
    for event in Report(report).events("--kind", "cuda_api"):
        chains[event["function"]].add(bool(event.get("callchain")))
    wanted = {"cuGraphAddMemAllocNode": {True}, "cuGraphAddMemFreeNode": {True}, "cuGraphAddNode_v2": {True}, "cuGraphLaunch": {True}, "cuMemAlloc_v2": {True}, "cuGraphCreate": {False}, "cuStreamCreate": {False}}
    tap.ok({name: chains[name] for name in wanted} == wanted, "--cuda-backtrace memory: graphs", chains)
    report, _ = capture("graph_memory", backtrace="memory")
    chains = {event["function"] for event in Report(report).events("--kind", "cuda_api") if event.get("callchain")}
    tap.ok(any(name.startswith("cudaGraphLaunch") for name in chains) and not any("LaunchKernel" in name for name in chains), "and of the runtime", chains)
    report, _ = capture("driver_api", backtrace="memory")
    chains = {event["function"] for event in Report(report).events("--kind", "cuda_api") if event.get("callchain")}
    tap.ok(chains and not any("Launch" in name for name in chains), "no launches of a program without graphs", chains)


def of_python():
    """Check that memory that Python allocates has the lines of Python as its callchain."""
    program = "ctypes_driver.py"
    if device.missing(program):
        tap.skip("memory of Python", device.missing(program))
        return
    report = device.recorded(device.command(program), LIBTRACE_TRACE="cuda", LIBTRACE_CUDA_BACKTRACE="memory")
    if report:
        text = trace("memory", "--flame", "--callchains", "python", report.path).out.decode()
        with open(device.command(program)[-1], encoding="utf-8") as file:
            line = next(number for number, line in enumerate(file, 1) if "cuMemAlloc_v2" in line)
        tap.ok(re.fullmatch(rf"<module> \(ctypes_driver\.py:{line}\);check \(ctypes_driver\.py:\d+\) 4096\n", text), "memory of a Python program has its lines", text)


def on_the_page():
    """Check the track of memory in the page: sixteenths of the peak, from each change to the next."""
    report, _ = capture("nvtx_memory_use")
    (content,) = _page.write(os.path.join(folder(), "p.html"), report).content["reports"]
    timeline = content["timeline"]
    texts = {number: text for number, _, text, _ in timeline["names"]}
    tracks = {track[0] for track in timeline["tracks"] if track[3] == "memory"}
    got = [(row.start, row.start + row.length, texts[row.name]) for row in sorted(_page.level_rows(timeline["levels"][0])) if row.track in tracks]
    use = [(int(r["Time (ns)"]), int(r["Used Bytes"])) for r in rows("stats", "-r", "cuda_memory_trace", "-f", "csv", report)]
    peak = max(used for _, used in use)
    parts = [-(-16 * used // peak) for _, used in use]
    wanted = [(time, f"up to {peak * part / 16 / MIB:.1f} MiB in use" + (" (peak)" if part == 16 else "")) for (time, _), part in zip(use, parts)]
    tap.ok(len(tracks) == 1 and [(start, text) for start, _, text in got] == wanted and len(wanted) > 5, "the page has a track of the memory in use", (got, wanted))
    tap.ok([end for _, end, _ in got[:-1]] == [start for start, _, _ in got[1:]] and got[-1][1] > got[-1][0], "each value lasts until the next, the last one until the end", got)


def the_command():
    report, _ = capture("nvtx_memory_use")
    folded = {}
    for line in trace("memory", "--flame", "--at", "oom", report).out.decode().splitlines():
        stack, _, size = line.rpartition(" ")
        folded[stack.split(";")[-1]] = int(size)
    tap.ok(folded == {"run_out": 4 * MIB, "leak_weights": 3 * MIB, "leak_cache": 2 * MIB}, "--flame prints folded stacks with their bytes", folded)
    first = int(rows("stats", "-r", "cuda_memory_trace", "-f", "csv", report)[1]["Time (ns)"])
    text = trace("memory", "--at", f"{first}ns", report).out.decode()
    tap.ok("(cuda_memory_fail)" in text and "leak_weights" in text and "leak_cache" in text and "reach_peak" not in text, "--at TIME: the live set at that time", text)
    done = trace("memory", "--at", "noon", report)
    tap.ok(done.status == 2 and b"invalid time 'noon'" in done.err, "a wrong time is refused", done)
    plain, _ = capture("driver_api", trace_of="cuda")
    tap.ok("(cuda_memory_fail)" not in trace("memory", plain).out.decode(), "no table of failures where nothing failed")
    tap.ok(trace("memory", "--at", "oom", plain).status == 0, "--at oom without one is an empty table")
    base = os.path.join(folder(), "nsys.sqlite")
    trace("export", "-t", "sqlite", "-o", base, report)
    with sqlite3.connect(base) as c:
        for (name,) in c.execute("SELECT name FROM sqlite_master WHERE name GLOB 'LIBTRACE_*' AND type = 'table'").fetchall():
            c.execute(f"DROP TABLE {name}")
    failed = rows("stats", "-r", "cuda_memory_fail", "-f", "csv", base)
    tap.ok(set(live(base)) == set(live(report)) and [r["Requested Bytes"] for r in failed] == [""], "a database with nsys's tables alone has all but the requested size", failed)


def compared():
    """Check the section of a comparison: more is held at the peak, and by whom."""
    if not made.interpreter():
        tap.skip("memory in comparisons", "no python3 with numpy and scipy (scripts/setup --python)")
        return
    report, _ = capture("nvtx_memory_use")
    work = folder()
    first = os.path.join(work, "first.sqlite")
    trace("export", "-t", "sqlite", "-o", first, report)
    paths = {"base": [], "other": []}
    for side, extra in (("base", 0), ("other", MIB)):
        for number in range(8):
            path = os.path.join(work, f"{side}{number}.sqlite")
            shutil.copyfile(first, path)
            with sqlite3.connect(path) as c:
                c.execute("UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET bytes = bytes + ? WHERE bytes = ?", (extra, 3 * MIB))
            paths[side].append(path)
    done = run([os.path.join(made.lib.PRODUCTS, "bin/trace"), "diff", "--force", "-f", "json", *paths["base"], "--", *paths["other"]],
               env=made.lib.clean_env(LIBTRACE_PYTHON=made.interpreter()))
    found = {(f["kind"], f["path"], f["name"]): (f["base"], f["other"], f["result"]) for f in json.loads(done.out)["findings"] if f["metric"] == "bytes" and f["result"] != "equal"}
    wanted = {("memory", "", "[peak]"): (15 * MIB, 16 * MIB, "worse"), ("memory", "", "[never released]"): (5 * MIB, 6 * MIB, "worse"),
              ("memory", ":load", "leak_weights"): (3 * MIB, 4 * MIB, "worse"), ("allocation", ":load", "device memory"): (3 * MIB, 4 * MIB, "worse")}
    tap.ok(done.status == 1 and found == wanted, "diff names the peak, what is never released, the holder that grew, and the range that allocates more", (done.status, found, done.err.decode()[-300:]))


REASON = device.missing("nvtx_memory_use")
if REASON:
    tap.skip("device memory", REASON)
    tap.finish()
else:
    main(the_devices_count, known_places, other_kinds, of_graphs, chains_of_graphs, other_frees, of_python, on_the_page, the_command, compared)
