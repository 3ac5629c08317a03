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
import ctypes
import io
import itertools
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import TORTURE, TRACE, clean_env, fixtures, folder, main, receipts_agree, Report, run, spool_folder, tap, trace, traced_env, wait_spool_gone, wait_until, writer_of  # noqa: E402
from sqlite_cuda import same, without_sqlite  # noqa: E402

PREFIX = "CUPTI_ACTIVITY_KIND_"
CAPTURES = {"nvtx_pytorch-2022.1.3": 10, "nvtx_sampling-2023.3.1": 1, "um_addblock-2024.4.1": 1, "um_osrt-2026.1.3": 1}  # name: speed
KERNEL, COPY, PEER_COPY, SET, SYNC, EVENT, GRAPH, UNIFIED, MEMORY = 0, 1, 2, 3, 4, 5, 6, 7, 8  # enum sim_op_kind
HOST = 0xFFFFFFFF
OLD_SYNCS = {1: 4, 2: 1, 3: 3}  # nsys before schema 3.17 -> CUPTI
REPLAYS = {}  # report: (original, replayed, what the replay is later) of each process
LEAD_NS = 1_000_000_000  # that much later than their calls are operations: more than a busy machine may be late
KERNEL_FACTS = ("gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, registersPerThread, localMemoryPerThread, launchType, gridId, "
                "(SELECT value FROM StringIds WHERE id = coalesce(mangledName, demangledName))")


def cupti_kind(kind):
    """Return CUPTI's number of a kind of memory of nsys."""
    return 0 if kind in (None, 7) else kind + 1


def own_calls(devices):
    """Return the player's own calls."""
    return ["cuInit", "cuDeviceGetCount", *["cuDevicePrimaryCtxRetain"] * devices, "cuCtxSetCurrent"]


def callbacks():
    """Return domain (1 driver, 2 runtime) and number of each function of the APIs by its name in CUPTI."""
    library, name, found = ctypes.CDLL(os.path.join(device.folder(), "libcupti.so.13")), ctypes.c_char_p(), {}
    for domain in (1, 2):
        for number in range(1, 1024):
            if not library.cuptiGetCallbackName(domain, number, ctypes.byref(name)) and name.value:
                found.setdefault(name.value.decode(), (domain, number))
    return found


class Capture:
    """A process of a database of nsys: its calls in order, and the operations of each table as rows that a traced replay must have, too. The first `own` calls
    are those of the player."""

    def __init__(self, path, own=0, pid=None):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.tables = {name for name, in self.db.execute("SELECT name FROM sqlite_master")}
        self.pid = pid
        self.calls = self.rows("RUNTIME", "start, end, globalTid, (SELECT value FROM StringIds WHERE id = nameId), returnValue, correlationId", of="globalTid", order="ORDER BY start, correlationId")
        self.own, self.calls = [c[3] for c in self.calls[:own]], self.calls[own:]
        # Threads are numbered in the order of their first calls, in a replay in the order in which the player started them.
        self.threads = {tid: n for n, tid in enumerate(sorted({call[2] for call in self.calls}) if own else dict.fromkeys(call[2] for call in self.calls))}
        self.rank, self.call_of, self.counts = {}, {}, collections.Counter()
        for call in self.calls:
            thread = self.threads[call[2]]
            self.rank.setdefault(call[5], (thread, self.counts[thread]))  # calls within a call may have its id
            self.call_of[thread, self.counts[thread]] = call
            self.counts[thread] += 1
        self.old_syncs = "SYNCHRONIZATION" in "".join(self.tables) and not any(
            row[1] == "deprecatedSyncType" for row in self.db.execute(f"PRAGMA table_info({PREFIX}SYNCHRONIZATION)"))
        self.has_pools = any(row[1] == "localMemoryPoolSize" for row in self.db.execute("PRAGMA table_info(CUDA_GPU_MEMORY_USAGE_EVENTS)"))
        self.devices = 1 + max((op[3] for op in self.operations() if op[3] is not None), default=0)

    def pids(self):
        return sorted(pid for pid, in self.db.execute(f"SELECT DISTINCT globalTid >> 24 & 0xffffff FROM {PREFIX}RUNTIME"))

    def rows(self, table, columns, where="1", of="globalPid", order=""):
        table = table if table.startswith("CUDA_GPU") else PREFIX + table
        if table not in self.tables:
            return []
        process = "1" if self.pid is None else f"{of} >> 24 & 0xffffff = {self.pid}"
        return list(self.db.execute(f"SELECT {columns} FROM {table} WHERE {where} AND {process} {order}"))

    def graph_of(self, table):
        """Return the columns of the graph that an operation ran for, as far as the table has them."""
        have = {row[1] for row in self.db.execute(f"PRAGMA table_info({PREFIX + table})")}
        return ", ".join(f"coalesce({name}, 0)" if name in have else "0" for name in ("graphNodeId", "graphId"))

    def operations(self):
        """Return (kind, start, end, device, context, stream, correlation, graph node, graph, facts) of each; the facts are those of tests/cuda/player.c."""
        place = "start, end, deviceId, contextId, streamId, correlationId"
        for row in self.rows("KERNEL", f"{place}, {self.graph_of('KERNEL')}, {KERNEL_FACTS}"):
            yield (KERNEL, *row[:8], row[8:])
        for row in self.rows("MEMCPY", f"{place}, {self.graph_of('MEMCPY')}, bytes, copyKind, srcKind, dstKind", "copyKind < 10"):
            yield (COPY, *row[:8], (*row[8:10], *map(cupti_kind, row[10:])))
        sides = "srcDeviceId, srcContextId, dstDeviceId, dstContextId"
        for row in self.rows("MEMCPY", f"{place}, {self.graph_of('MEMCPY')}, bytes, copyKind, srcKind, dstKind, {sides}", "copyKind = 10"):
            yield (PEER_COPY, *row[:8], (*row[8:10], *map(cupti_kind, row[10:12]), *row[12:]))
        pools = ", ".join(f"coalesce(localMemoryPool{name}, 0)" if self.has_pools else "0" for name in ("Address", "Size", "ReleaseThreshold", "UtilizedSize"))
        stream = "coalesce(streamId, 0)" if self.has_pools else "0"
        for row in self.rows("CUDA_GPU_MEMORY_USAGE_EVENTS", f"start, start, deviceId, contextId, {stream}, correlationId, memoryOperationType, memKind, address, bytes, {pools}"):
            yield (MEMORY, *row[:6], 0, 0, (row[6] + 1, cupti_kind(row[7]), *row[8:]))
        for row in self.rows("MEMSET", f"{place}, {self.graph_of('MEMSET')}, bytes, value, memKind"):
            yield (SET, *row[:8], (*row[8:10], cupti_kind(row[10])))
        for row in self.rows("SYNCHRONIZATION", f"{place}, syncType, eventId"):
            yield (SYNC, *row[:6], 0, 0, (row[6], row[7] & HOST))
        for row in self.rows("GRAPH_TRACE", f"{place}, 0, graphExecId"):
            yield (GRAPH, *row, ())
        for row in self.rows("MEMCPY", f"{place}, copyKind, bytes, coalesce(virtualAddress, 0), coalesce(migrationCause, 0)", "copyKind IN (11, 12)"):
            target = row[2] if row[6] == 11 else HOST
            yield (UNIFIED, *row[:5], 0, 0, 0, (row[6] - 10, row[7], row[8], HOST if row[6] == 11 else row[2], target, row[9]))

    def begin(self):
        return min([c[0] for c in self.calls] + [op[1] for op in self.operations()])

    def program(self, begin):
        """Return the lines for the player; times begin at `begin`."""
        numbers = callbacks()
        own = collections.defaultdict(list)
        for op in self.operations():
            own[op[6]].append(op)
        for eid, correlation, *place in self.rows("CUDA_EVENT", "eventId, correlationId, deviceId, contextId, streamId"):
            call = self.call_of[self.rank[correlation]]
            own[correlation].append((EVENT, call[0], call[0], *place, correlation, 0, 0, (eid,)))
        lines = []

        def put_ops(ops):
            for kind, start, end, dev, context, stream, _, node, graph, facts in ops:
                facts = [OLD_SYNCS.get(facts[0], facts[0]), facts[1]] if kind == SYNC and self.old_syncs else list(facts)
                if kind == KERNEL:
                    facts[10] = (facts[10] or 1) - 1  # CUPTI's launch type 0 is nsys's 1
                lines.append(" ".join(map(str, ["o", kind, start - begin, end - begin, dev, context, stream, node, graph, *facts])))

        for start, end, tid, name, value, correlation in self.calls:
            domain, number = numbers[name]
            lines.append(f"c {start - begin} {end - begin} {self.threads[tid]} {domain} {number} {value} {name}")
            put_ops(own.pop(correlation, ()))
        for op in sorted(own.pop(0, ()), key=lambda op: op[1]):  # of no call
            lines.append(f"l {op[1] - begin} {op[2] - begin} {len(self.threads)}")
            put_ops([op])
        tap.ok(not own, "each operation belongs to a call or to none", own)
        return lines


def played(captures, speed, repeats=1, traced=True, at_once=False, during=None, **options):
    """Play the processes of a capture at once. Return the report, and for each process the time of the report that stands for the capture's begin, the length of a
    repetition, the processor time of its threads, and its pid; and the capture's begin."""
    work, spool = folder(), spool_folder()
    report, begin, commands = os.path.join(work, "r.rep"), min(c.begin() for c in captures), []
    for number, capture in enumerate(captures):
        program = os.path.join(work, f"program{number}")
        with open(program, "w", encoding="utf-8") as file:
            file.write("\n".join(capture.program(begin)) + "\n")
        base = 0 if at_once else time.monotonic_ns() + 1_000_000_000 if len(captures) > 1 else ""
        commands.append(f"{device.app('player')} {program} {speed} {LEAD_NS} {repeats} {base}")
    base = traced_env(report, spool, LIBTRACE_TRACE="cuda", LIBTRACE_CUDA_TRIVIAL="record", **options) if traced else None
    env = device.env(device=f"devices={max(c.devices for c in captures)}", base=base)
    if during:
        threading.Thread(target=during, args=(spool,), daemon=True).start()
    done = run(["/bin/sh", "-c", "".join(f"{command} >{work}/out{n} & " for n, command in enumerate(commands)) + "for p in $(jobs -p); do wait $p || exit; done"], env=env, limit=550)
    sound = done.status == 0 and (not traced or (wait_spool_gone(spool) and not receipts_agree(Report(report))))
    tap.ok(sound, f"{'played' if traced else 'played untraced'} at {speed} times its speed, {repeats} times; nothing is lost", done)
    origin = Report(report).info()["session"]["start_ns"] if traced else 0
    found = []
    for number in range(len(captures)):
        with open(os.path.join(work, f"out{number}"), encoding="utf-8") as file:
            zero, length, used, pid = map(int, file.read().split())
        found.append((zero - origin + LEAD_NS, length, used, pid))
    return report, found, begin


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
    for original, (zero, _, _, pid) in zip(originals, players):
        own = own_calls(max(c.devices for c in originals))
        replayed = Capture(base, len(own), pid)
        tap.ok(replayed.own == own, f"{name}: the player's own calls come first", replayed.own)
        same_tables(name, original, replayed, lambda ns, zero=zero: zero + (ns - begin) // speed)
        REPLAYS[report].append((original, replayed, zero - begin))
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


def own_captures():
    """Play what the kept captures do not have: graphs, whole and by node, two devices, two processes. These captures are of the simulated device itself."""
    driver = device.app("driver_api")
    programs = {"graphs": ([device.app("graph")], "graph", {}), "graphs by node": ([device.app("graph")], "graph", {"LIBTRACE_CUDA_GRAPH": "node"}),
                "copies between devices": ([device.app("pipeline")], "pipeline", {}), "two devices and processes": (["/bin/sh", "-c", f"{driver} 5 & {driver} 7; wait"], "driver_api", {})}
    for name, (argv, program, options) in programs.items():
        if device.missing(program):
            tap.skip(f"replay of {name}", device.missing(program))
            continue
        report = device.recorded(argv, SIM_DEVICE="devices=2", LIBTRACE_TRACE="cuda", **options)
        if report:
            path = exported(report.path)
            found = Capture(path)
            facts = len(found.pids()), found.devices, bool(found.rows("GRAPH_TRACE", "1")), bool(found.rows("KERNEL", "1", "graphNodeId > 0"))
            tap.ok(facts == {"graphs": (1, 1, True, False), "graphs by node": (1, 1, False, True), "copies between devices": (1, 2, False, False)}.get(name, (2, 2, False, False)), f"{name}: the capture has them", facts)
            analyses(name, path, compared(name, path, 1))


def most_kib(pid):
    """Return the most memory that a process has had, in KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0)


def many_kernels():
    """Check that nothing is lost of many repetitions at ten times the speed of the GPU, and report what a call costs, and the memory that the writer and a reader take."""
    peaks = []

    def watch(spool):
        try:
            wait_until(lambda: writer_of(spool))
            while peaks.append(most_kib(writer_of(spool))) is None:
                time.sleep(0.1)
        except (OSError, TypeError, ValueError):
            pass  # it has ended

    path, repeats = os.path.join(fixtures("nsys"), "nvtx_sampling-2023.3.1.sqlite"), int(os.environ.get("REPEATS") or (8192 if TORTURE else 24))
    if not os.path.exists(path):
        tap.skip("many kernels", "no fixtures of nsys")
        return
    original = Capture(path)
    report, ((zero, length, _, _), ), begin = played([original], 10, repeats, during=watch)
    calls, (plain, cost) = 24 * len(original.calls), (played([original], 10, 24, is_traced, at_once=True)[1][0][2] for is_traced in (False, True))
    print(f"# {calls} calls without waits between them: {plain / calls:.0f} ns of processor time each, {cost / calls:.0f} ns traced")
    kernels = [op for op in original.operations() if op[0] == KERNEL]
    with subprocess.Popen([TRACE, "stats", "-r", "cuda_gpu_kern_sum,cuda_api_sum", report], env=clean_env(), stdout=subprocess.DEVNULL) as reader:
        used = os.wait4(reader.pid, 0)[2].ru_maxrss
        reader.returncode = 0
    print(f"# {repeats * len(original.calls)} calls, {os.path.getsize(report) >> 20} MiB of report: the writer took at most {max(peaks, default=0) >> 10} MiB, statistics {used >> 10} MiB")
    if TORTURE:
        info = Report(report).info()
        tap.ok(f'"cuda_kernel": {repeats * len(kernels)}' in str(info).replace("'", '"'), f"{repeats * len(kernels)} kernels", info)
        return
    replayed = Capture(exported(report), len(own_calls(1)))
    wanted = collections.Counter((zero + n * length + (op[1] - begin) // 10, zero + n * length + (op[2] - begin) // 10, thread, n * original.counts[thread] + rank, op[9][-1])
                                 for n in range(repeats) for op in kernels for thread, rank in [original.rank[op[6]]])
    got = collections.Counter((op[1], op[2], *replayed.rank[op[6]], op[9][-1]) for op in replayed.operations() if op[0] == KERNEL)
    same(f"{repeats * len(kernels)} kernels at ten times the speed", got, wanted, 2)
    tap.ok(len(replayed.calls) == repeats * len(original.calls), f"{repeats * len(original.calls)} calls")


REASON = device.missing("player") or ("built without SQLite" if without_sqlite() else None)
if REASON:
    tap.skip("captures of real GPUs", REASON)
    tap.finish()
else:
    main(captures, own_captures, many_kernels)
