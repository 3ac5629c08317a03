#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Play captures of real GPUs on the simulated device: databases of nsys, played by tests/cuda/player.c, traced, exported, and compared with the
original table by table.

The captures are the fixtures. Device times must be those of the capture, calls the same calls in the same order: their times depend on the machine.
"""
import bisect
import collections
import csv
import glob
import io
import itertools
import json
import os
import shutil
import sqlite3
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import Report, fixtures, folder, main, tap, trace  # noqa: E402
from libreplay import COPY, GRAPH, KERNEL, MANY, MEMORY, OLD_SYNCS, PEER_COPY, PREFIX, SET, SYNC, UNIFIED, Capture, own_calls, played  # noqa: E402
from sqlite_cuda import same, without_sqlite  # noqa: E402

CAPTURES = {"nvtx_pytorch-2022.1.3": 10, "nvtx_sampling-2023.3.1": 1, "um_addblock-2024.4.1": 1, "um_osrt-2026.1.3": 1}  # name: speed
REPLAYS = {}  # report: (original, replayed, what the replay is later) of each process


def exported(report):
    path = report + ".sqlite"
    tap.ok(trace("export", "-t", "sqlite", "-o", path, report).status == 0, "exported")
    return path


def tables(name, speed):
    """Compare the tables of a capture with those of its replay."""
    path = os.path.join(fixtures("nsys"), name + ".sqlite")
    if not os.path.exists(path):
        tap.skip(f"replay of {name}", "no fixtures of nsys")
        return
    report = compared(name, path, speed)
    if speed == 1:
        sums(name, path, report)
        analyses(name, path, report)


def compared(name, path, speed):
    """Play all processes of a database and compare the tables. Return the report."""
    originals = [Capture(path, 0, pid) for pid in Capture(path).pids()]
    report, players, begin = played(originals, speed)
    base = exported(report)
    REPLAYS[report] = []
    for original, player in zip(originals, players):
        own = own_calls(max(c.devices for c in originals))
        replayed = Capture(base, len(own), player.pid)
        tap.ok(replayed.own == own, f"{name}: the player's own calls come first", replayed.own)
        same_tables(name, original, replayed, lambda ns, zero=player.zero_ns: zero + (ns - begin) // speed)
        REPLAYS[report].append((original, replayed, player.zero_ns - begin))
    return report


# What is computed of both: idle gaps, use, overlap, projections of NVTX, critical path, memory, launches.
REPORTS = ("critical_path_sum", "critical_path_trace", "blame_sum", "gpu_idle_sum", "cuda_api_gpu_sum", "cuda_gpu_trace", "cuda_gpu_mem_size_sum", "cuda_kern_exec_sum", "cuda_kern_exec_trace",
           "cuda_kern_occupancy", "cuda_graph_node_sum", "nvtx_gpu_proj_sum", "nvtx_gpu_proj_trace", "nvtx_kern_sum", "um_total_sum", "cuda_memory_sum", "cuda_memory_trace", "cuda_memory_pool_sum")
RULES = ("gpu_gaps:gap=0:rows=1000", "gpu_time_util:threshold=101:chunks=10", "cuda_memcpy_async", "cuda_memcpy_sync", "cuda_api_sync", "kernel_launches:count=1", "kernel_queue:count=1", "graph_nodes")
OPERATIONS = (*(PREFIX + table for table in ("KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "CUDA_EVENT", "GRAPH_TRACE")), "CUDA_GPU_MEMORY_USAGE_EVENTS")
NEW_SYNCS = {new: old for old, new in OLD_SYNCS.items()}


def exchanged(path, report):
    """Return a copy of a database with the operations of its replay instead of its own: at the same times, with the ids of the calls that caused them, and
    the processes, of the original. All else, so calls, NVTX and OS runtime calls, stays."""
    target = os.path.join(folder(), "exchanged.sqlite")
    shutil.copy(path, target)
    db = sqlite3.connect(target)
    for table in OPERATIONS:
        kept = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        if kept:
            names = {}
            filled = {name for name in kept if not db.execute(f"SELECT count(*) FROM {table} WHERE {name} IS NULL").fetchone()[0]}  # nsys may write 0 for none
            if table.endswith("KERNEL"):
                texts = ", ".join(name if name in kept else "NULL" for name in ("shortName", "demangledName", "mangledName"))
                names = {row[0]: row[1:] for row in db.execute(f"SELECT (SELECT value FROM StringIds WHERE id = coalesce({texts.split(', ')[2]}, demangledName)), {texts} FROM {table}")}
            db.execute(f"DELETE FROM {table}")
            for original, replayed, shift in REPLAYS[report]:
                for row in operations_of(table, original, replayed, shift, names):
                    row = {name: 0 if value is None and name in filled else value for name, value in row.items() if name in kept}
                    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    db.commit()
    db.close()
    return target


def operations_of(table, original, replayed, shift, names):
    """Return the rows of a table of a replayed process as those of the original one."""
    times = sorted({ns for op in original.operations() for ns in op[1:3]})
    shift += statistics.median(a - shift - b for a, b in zip(*(sorted(op[1] for op in c.operations()) for c in (replayed, original))))  # clocks differ by some ns
    (pid,), = original.db.execute(f"SELECT DISTINCT globalTid & ~0xffffff FROM {PREFIX}RUNTIME WHERE {original.pid} IS NULL OR globalTid >> 24 & 0xffffff = {original.pid}")
    found = replayed.db.execute(f"SELECT rowid AS number, * FROM {table} WHERE globalPid >> 24 & 0xffffff = {replayed.pid} ORDER BY rowid") if table in replayed.tables else []
    for values in found:
        row = dict(zip((column[0] for column in found.description), values))
        if table.endswith("KERNEL"):
            (name,), = replayed.db.execute("SELECT value FROM StringIds WHERE id = ?", (row["mangledName"] or row["demangledName"],))
            row["shortName"], row["demangledName"], row["mangledName"] = names[name]
        if table.endswith("SYNCHRONIZATION") and original.old_syncs:
            row["syncType"] = NEW_SYNCS.get(row["syncType"], row["syncType"])
        for column in ("start", "end"):
            if row.get(column) is not None:
                at = bisect.bisect(times, row[column] - shift)
                row[column] = min(times[max(at - 1, 0):at + 1], key=lambda ns: abs(ns - row[column] + shift))
        rank = replayed.rank.get(row["correlationId"])
        row.update(globalPid=pid, correlationId=row["correlationId"] if rank is None else original.call_of[rank][5])
        del row["number"]
        yield row


def analyses(name, path, report):
    """Compare what `trace` computes of the original with what it computes of the operations of its replay."""
    other, filled, unlike = exchanged(path, report), 0, {}
    for command, wanted in (("stats", REPORTS), ("analyze", RULES)):
        for which in wanted:
            found = [json.loads(trace(command, "-r", which, "-f", "json", file).out or "[]") for file in (path, other)]
            if command == "analyze":
                found = [[row for f in of for row in f["rows"]] for of in found]
            filled += bool(found[0])
            if found[0] != found[1]:
                unlike[which] = [next(pair for pair in itertools.zip_longest(*found) if pair[0] != pair[1]), *map(len, found)]
    tap.ok(filled >= 4 and not unlike, f"{name}: {filled} analyses find the same in the operations of the replay", (filled, unlike))


def same_tables(name, original, replayed, when):
    def calls(c):
        return [(place, call[3], call[4]) for place, call in sorted(c.call_of.items())]
    tap.ok(calls(replayed) == calls(original), f"{name}: {len(original.calls)} calls of {len(original.threads)} threads, in order", (calls(replayed)[:5], calls(original)[:5]))

    def rows(c, kind, time_of):
        return collections.Counter((time_of(op[1]), time_of(op[2]), *op[3:6], c.rank.get(op[6]), *op[7:9],
                                    *(OLD_SYNCS.get(f, f) if c.old_syncs and kind == SYNC and n == 0 else f for n, f in enumerate(op[9])))
                                   for op in c.operations() if op[0] == kind)
    for kind, what in ((KERNEL, "kernels"), (COPY, "copies"), (PEER_COPY, "copies between devices"), (MEMORY, "allocations and releases"), (SET, "sets"), (SYNC, "waits"), (GRAPH, "graphs"), (UNIFIED, "migrations of unified memory")):
        wanted = rows(original, kind, when)
        if wanted:
            same(f"{name}: {what}", rows(replayed, kind, lambda ns: ns), wanted, 2)

    def events(c):
        return collections.Counter((eid, *place, c.rank[correlation]) for eid, correlation, *place in c.rows("CUDA_EVENT", "eventId, correlationId, deviceId, contextId, streamId"))
    tap.ok(events(replayed) == events(original), f"{name}: {sum(events(original).values())} CUDA events")


def sums(name, path, report):
    """Compare statistics of both: names, counts and times of kernels and copies."""
    def stats(file, which):
        text = trace("stats", "-r", f"{which}:mangled", "-f", "csv", file).out.decode()
        return {r["Name" if "Name" in r else "Operation"]: r for r in csv.DictReader(io.StringIO(text))}
    for which, count in (("cuda_gpu_kern_sum", "Instances"), ("cuda_gpu_mem_time_sum", "Count")):
        was, now = stats(path, which), stats(report, which)
        far = {n: (was[n], now[n]) for n in set(was) & set(now)
               if was[n][count] != now[n][count] or abs(int(was[n]["Total Time (ns)"]) - int(now[n]["Total Time (ns)"])) > 2 * int(was[n][count])}
        tap.ok(was and set(was) == set(now) and not far, f"{name}: {which} of both are equal", (sorted(was), sorted(now), far))


    for rule, columns in (("gpu_gaps:gap=0:rows=20", ("Duration (ns)", "Device ID")), ("gpu_time_util:threshold=101:chunks=10", ("In-Use (%)", "Duration (ns)", "Device ID"))):
        found = []
        for file in (path, report):
            rows = [row for f in json.loads(trace("analyze", "-r", rule, "-f", "json", file).out) for row in f["rows"]]
            found.append(sorted(tuple(float(row[c]) for c in columns) for row in rows))
        near = len(found[0]) == len(found[1]) and all(abs(a - b) <= 4 for was, now in zip(*found) for a, b in zip(was, now))
        tap.ok(found[0] and near, f"{name}: {rule} finds the same in both", found)


def captures():
    for name, speed in CAPTURES.items():
        tables(name, speed)


def given_captures():
    """Play the databases in the folder CAPTURES, such as scripts/gpu-validate keeps."""
    paths = sorted(glob.glob(os.path.join(os.environ.get("CAPTURES") or "/nonexistent", "*.sqlite")))
    if not paths:
        tap.skip("replay of given captures", "CAPTURES names no folder with databases")
    for path in paths:
        name = os.path.basename(path)
        analyses(name, path, compared(name, path, 1))


def own_captures():
    """Play what the kept captures do not have: graphs, whole and by node, two devices whose contexts are created in either order, two processes. These
    captures are of the simulated device itself."""
    driver, pipeline = device.app("driver_api"), device.app("pipeline")
    programs = {"graphs": ([device.app("graph")], "graph", {}), "graphs by node": ([device.app("graph")], "graph", {"LIBTRACE_CUDA_GRAPH": "node"}),
                **{f"copies between devices, {first} first": ([pipeline, "2", "8", first], "pipeline", {}) for first in "01"},
                "two devices and processes": (["/bin/sh", "-c", f"{driver} 5 & {driver} 7; wait"], "driver_api", {})}
    for name, (argv, program, options) in programs.items():
        if device.missing(program):
            tap.skip(f"replay of {name}", device.missing(program))
            continue
        report = device.recorded(argv, SIM_DEVICE="devices=2", LIBTRACE_TRACE="cuda", **options)
        if report:
            path = exported(report.path)
            found = Capture(path)
            facts = len(found.pids()), found.devices, bool(found.rows("GRAPH_TRACE", "1")), bool(found.rows("KERNEL", "1", "graphNodeId > 0"))
            tap.ok(facts == {"graphs": (1, 1, True, False), "graphs by node": (1, 1, False, True), "two devices and processes": (2, 2, False, False)}.get(name, (1, 2, False, False)), f"{name}: the capture has them", facts)
            analyses(name, path, compared(name, path, 1))


def many_kernels():
    """Check that nothing is lost of many repetitions at ten times the speed of the GPU, and that each kernel has its times and its call. tests/bench/replay.py
    plays millions, and measures."""
    path, repeats = os.path.join(fixtures("nsys"), MANY), 24
    if not os.path.exists(path):
        tap.skip("many kernels", "no fixtures of nsys")
        return
    original = Capture(path)
    report, (player,), begin = played([original], 10, repeats)
    kernels = [op for op in original.operations() if op[0] == KERNEL]
    replayed = Capture(exported(report), len(own_calls(1)))

    def when(n, ns):
        return player.zero_ns + n * player.length_ns + (ns - begin) // 10
    wanted = collections.Counter((when(n, op[1]), when(n, op[2]), thread, n * original.counts[thread] + rank, op[9][-1])
                                 for n in range(repeats) for op in kernels for thread, rank in [original.rank[op[6]]])
    got = collections.Counter((op[1], op[2], *replayed.rank[op[6]], op[9][-1]) for op in replayed.operations() if op[0] == KERNEL)
    same(f"{repeats * len(kernels)} kernels at ten times the speed", got, wanted, 2)
    tap.ok(len(replayed.calls) == repeats * len(original.calls), f"{repeats * len(original.calls)} calls")


def end_while_delivered():
    """Check that nothing is lost of a program that ends while a thread of CUPTI delivers records, slowly: the last flush waits for it."""
    path, repeats = os.path.join(fixtures("nsys"), MANY), 24
    if not os.path.exists(path):
        tap.skip("end while records are delivered", "no fixtures of nsys")
        return
    original = Capture(path)
    report, _, _ = played([original], 10, repeats, SIM_FAULT="buffer_delay_us=60000", LIBTRACE_CUDA_FLUSH=1850)
    kernels = repeats * sum(op[0] == KERNEL for op in original.operations())
    tap.ok(Report(report).info()["events"].get("cuda_kernel") == kernels, f"{kernels} kernels of a program that ended while they were delivered", Report(report).info()["events"])


REASON = device.missing("player") or ("built without SQLite" if without_sqlite() else None)
if REASON:
    tap.skip("captures of real GPUs", REASON)
    tap.finish()
else:
    main(captures, given_captures, own_captures, many_kernels, end_while_delivered)
