# SPDX-License-Identifier: Apache-2.0
"""Play a database of nsys on the simulated device: its calls, and the operations that they caused, as lines for tests/cuda/player.c, and the run of that program.

For tests/e2e/replayed.py, which compares what is recorded with the original, and tests/bench/replay.py, which measures.
"""
import collections
import ctypes
import os
import sqlite3
import threading
import time
from typing import NamedTuple

import libdevice as device
from lib import Report, folder, receipts_agree, run, spool_folder, tap, traced_env, wait_spool_gone

PREFIX = "CUPTI_ACTIVITY_KIND_"
KERNEL, COPY, PEER_COPY, SET, SYNC, EVENT, GRAPH, UNIFIED, MEMORY = 0, 1, 2, 3, 4, 5, 6, 7, 8  # enum sim_op_kind
HOST = 0xFFFFFFFF
MANY = "nvtx_sampling-2023.3.1.sqlite"  # the fixture that is played again and again: one process and thread, a kernel in each fourth call
OLD_SYNCS = {1: 4, 2: 1, 3: 3}  # nsys before schema 3.17 -> CUPTI
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

    def context_devices(self):
        """Return the devices in the order in which the process created their contexts, one each: CUPTI numbers contexts in this order, and has no device of
        a wait but that of its context."""
        of = {op[4]: op[3] for op in self.operations() if op[0] != UNIFIED}
        unused = iter(sorted(set(range(self.devices)) - set(of.values())))
        return [of[context] if context in of else next(unused, 0) for context in range(1, 1 + self.devices)]

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
        lines = [f"d {number}" for number in self.context_devices()]

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


class Played(NamedTuple):
    """A process that has played its capture."""

    zero_ns: int  # time of the report that stands for the capture's begin, for operations
    length_ns: int  # of a repetition
    played_ns: int  # processor time of the threads that played
    pid: int
    used_ns: int  # processor time of the process
    most_kib: int  # greatest resident memory


def played(captures, speed, repeats=1, client="tracer", at_once=False, during=None, limit=550, **options):
    """Play the processes of a capture at once, with a client of CUPTI: "none", "bare" (tests/cuda/libbare.c: activity and API records) or "tracer".
    Return the report, the processes, and the capture's begin. `during` is called with the folder of the spools while the processes play."""
    work, spool = folder(), spool_folder()
    report, begin, commands = os.path.join(work, "r.rep"), min(c.begin() for c in captures), []
    for number, capture in enumerate(captures):
        program = os.path.join(work, f"program{number}")
        with open(program, "w", encoding="utf-8") as file:
            file.write("\n".join(capture.program(begin)) + "\n")
        base = 0 if at_once else time.monotonic_ns() + 1_000_000_000 if len(captures) > 1 else ""
        commands.append(f"{device.app('player')} {program} {speed} {LEAD_NS} {repeats} {base}")
    is_traced = client == "tracer"
    base = traced_env(report, spool, LIBTRACE_TRACE="cuda", LIBTRACE_CUDA_TRIVIAL="record", **options) if is_traced else None
    env = device.env(device=f"devices={max(c.devices for c in captures)}", base=base, LD_PRELOAD=device.app("libbare.so") if client == "bare" else None)
    if during:
        threading.Thread(target=during, args=(spool,), daemon=True).start()
    done = run(["/bin/sh", "-c", "".join(f"{command} >{work}/out{n} & " for n, command in enumerate(commands)) + "for p in $(jobs -p); do wait $p || exit; done"], env=env, limit=limit)
    sound = done.status == 0 and (not is_traced or (wait_spool_gone(spool) and not receipts_agree(Report(report))))
    tap.ok(sound, f"played at {speed} times its speed, {repeats} times, with {client}; nothing is lost", done)
    origin = Report(report).info()["session"]["start_ns"] if is_traced else 0
    found = []
    for number in range(len(captures)):
        with open(os.path.join(work, f"out{number}"), encoding="utf-8") as file:
            zero, *rest = map(int, file.read().split())
        found.append(Played(zero - origin + LEAD_NS, *rest))
    return report, found, begin
