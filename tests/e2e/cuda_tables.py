#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compare the SQLite tables of every kind of activity record that the simulated device delivers with the device's log, row by row.

sqlite_cuda.py compares kernels, copies, sets, waits, whole graphs, memory and joins of ordinary programs. This test compares the kinds that few
programs use: copies between devices, unified memory and its faults, overhead, pools, events, nodes of graphs, contexts, streams, devices,
modules, compilation, and incomplete events.
"""
import collections
import csv
import io
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import folder, main, receipts_agree, Report, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from sqlite_cuda import MEMORY_KIND, of, one, rows, same, without_sqlite  # noqa: E402

CONTEXT_CREATED, STREAM_CREATED, MODULE_LOADED, MODULE_UNLOADED = 1, 3, 6, 7  # CUpti_CallbackIdResource
GRAPH_CREATED, GRAPH_CLONED, NODE_CREATED, NODE_CLONED, EXEC_CREATED = 9, 11, 13, 20, 18
OVERHEAD_TYPES = {1: 2, 1 << 16: 3, 2 << 16: 4, 3 << 16: 5, 4 << 16: 6, 5 << 16: 7, 6 << 16: 8}  # CUPTI's kind: nsys's type
OF_PROFILER = (1, 3, 4, 5)  # types in PROFILER_OVERHEAD; the others are in CUPTI_ACTIVITY_KIND_OVERHEAD
ASK_ATTRIBUTES = """
import ctypes
cuda, value, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_int()
assert not cuda.cuInit(0) and not cuda.cuDeviceGetCount(ctypes.byref(count))
for device in range(count.value):
    for attribute in range(1, 256):
        if not cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device):
            print(device, attribute, value.value)
"""


class Capture:
    """The traced run of a program on two devices: its exported database `db`, the device's `truth`, the report's path, the origin of its clock."""

    def __init__(self, name, devices=2, fault=None, **options):
        work, spool = folder(), spool_folder()
        self.report, truth = os.path.join(work, "r.rep"), os.path.join(work, "truth")
        env = device.env(truth=truth, device=f"devices={devices}", fault=fault, base=traced_env(self.report, spool, LIBTRACE_TRACE="cuda", **options))
        done = run([device.app(name)], env=env)
        whole = wait_spool_gone(spool) and done.status == 0 and not receipts_agree(Report(self.report))
        made = trace("export", "-t", "sqlite", self.report)
        tap.ok(whole and made.status == 0, f"{name} {fault or ''}{options or ''}: traced and exported", f"{done}\n{made.err}")
        self.db, self.truth = sqlite3.connect(f"file:{os.path.join(work, 'r.sqlite')}?mode=ro", uri=True), device.lines(truth)
        self.began = json.loads(trace("info", "--json", self.report).out)["session"]["start_ns"]

    def times(self):
        return (lambda line: line["start"] - self.began), (lambda line: line["end"] - self.began)

    def resources(self, *fields, cbid):
        return collections.Counter(tuple(line[f] for f in fields) for line in self.truth if line["type"] == "resource" and line["cbid"] == cbid)

    def stats(self, name):
        return list(csv.DictReader(io.StringIO(trace("stats", "-r", name, "-f", "csv", self.report).out.decode())))


def text_of(column):
    return f"(SELECT value FROM StringIds WHERE id = {column})"


def missing(name):
    if device.missing(name):
        tap.skip(f"tables of {name}", device.missing(name))
    return device.missing(name)


def copies_between_devices_and_events():
    if missing("pipeline"):
        return
    c = Capture("pipeline")
    start, end = c.times()
    same("copies between devices", rows(c.db, "CUPTI_ACTIVITY_KIND_MEMCPY", "start, end, correlationId, deviceId, streamId, bytes, copyKind, srcKind, dstKind, srcDeviceId, dstDeviceId",
                                        "WHERE copyKind = 10"),
         of(c.truth, "memcpy_peer", start, end, "correlation", "device", "stream", "bytes", "copy_kind", lambda line: MEMORY_KIND(line["source_kind"]),
            lambda line: MEMORY_KIND(line["target_kind"]), "source_device", "target_device"), 2)
    same("CUDA events", rows(c.db, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "deviceId, contextId, streamId, correlationId, eventId"),
         of(c.truth, "event", "device", "context", "stream", "correlation", "event"))
    same("pools", rows(c.db, "CUDA_GPU_MEMORY_POOL_EVENTS", "start, deviceId, correlationId, operationType, address"),
         of(c.truth, "memory_pool", start, "device", "correlation", "operation", "address"), 1)
    unified_memory(c)
    overhead(c)
    places(c)


def unified_memory(c):
    start, end = c.times()

    def told(counter, *fields):
        return of([line for line in c.truth if line.get("counter") == counter], "unified_memory", *fields)

    for counter, kind in ((1, 11), (2, 12)):
        same(f"migrations of kind {kind}", rows(c.db, "CUPTI_ACTIVITY_KIND_MEMCPY", "start, end, deviceId, bytes, virtualAddress, migrationCause", f"WHERE copyKind = {kind}"),
             told(counter, start, end, "device", "value", "address", "flags"), 2)
    same("faults of the device are in their table", rows(c.db, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", "start, end, deviceId, numberOfPageFaults, address, faultAccessType"),
         told(4, start, end, "device", "value", "address", "flags"), 2)
    same("faults of the CPU are in their table", rows(c.db, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", "start, address, originalFaultPc"), told(3, start, "address", "value"), 1)
    where = rows(c.db, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", f"{text_of('CpuInstruction')}, {text_of('module')}")
    tap.ok(where and all(function in ("main", "managed()") and module == device.app("pipeline") for function, module in where), "each fault of the CPU has its function", where)
    faults, moved = told(3, "value"), told(1, "value") + told(2, "value")
    got = c.stats("um_total_sum")
    tap.ok(len(got) == 1 and int(got[0]["Total CPU Page Faults"]) == sum(faults.values()) and int(got[0]["Total GPU PageFaults"]) == sum(n[0] for n in told(4, "value")), "um_total_sum counts them", got)
    got = c.stats("um_sum")
    total = sum(float(row[f"{way} Migration Size (MB)"]) for row in got for way in ("HtoD", "DtoH"))
    tap.ok(got and abs(total - sum(n[0] * times for n, times in moved.items()) / 1e6) < 0.002, "um_sum adds up what moved", got)
    got = c.stats("um_cpu_page_faults_sum")
    tap.ok([int(row["CPU Page Faults"]) for row in got] == [sum(faults.values())], "um_cpu_page_faults_sum has one function", got)


def overhead(c):
    start, end = c.times()
    for table, wanted in (("PROFILER_OVERHEAD", lambda t: t in OF_PROFILER), ("CUPTI_ACTIVITY_KIND_OVERHEAD", lambda t: t not in OF_PROFILER)):
        lines = [line for line in c.truth if line["type"] == "overhead" and wanted(OVERHEAD_TYPES[line["overhead_kind"]])]
        same(f"overhead in {table}", rows(c.db, table, "start, end, overheadType"), of(lines, "overhead", start, end, lambda line: OVERHEAD_TYPES[line["overhead_kind"]]), 2)
        tap.ok(lines and one(c.db, f"SELECT count(*) FROM {table} o JOIN StringIds s ON s.id = o.nameId JOIN ThreadNames USING (globalTid)") == len(lines), f"{table}: names and threads")
        labels = rows(c.db, table, "label", "JOIN ENUM_CUPTI_OVERHEAD_TYPE t ON t.id = overheadType")
        tap.ok(sum(labels.values()) == len(lines), f"{table}: labels", labels)
    same("overhead with the call it delayed", rows(c.db, "CUPTI_ACTIVITY_KIND_OVERHEAD", "correlationId"),
         of([line for line in c.truth if line.get("overhead_kind", 0) > 3 << 16], "overhead", "correlation"))


def places(c):
    """Check contexts, streams (with the default one), devices and modules."""
    same("contexts", rows(c.db, "TARGET_INFO_CUDA_CONTEXT_INFO", "contextId, deviceId, nullStreamId"),
         collections.Counter((*key, 7) for key in c.resources("context", "device", cbid=CONTEXT_CREATED).elements()))
    same("streams", rows(c.db, "TARGET_INFO_CUDA_STREAM", "contextId, streamId"), c.resources("context", "stream", cbid=STREAM_CREATED))
    same("default streams are in their table", rows(c.db, "TARGET_INFO_CUDA_NULL_STREAM", "contextId, deviceId, streamId"),
         collections.Counter((*key, 7) for key in c.resources("context", "device", cbid=CONTEXT_CREATED).elements()))
    same("modules", rows(c.db, "LIBTRACE_CUDA_MODULE", "contextId, moduleId, cubinBytes", "WHERE NOT isUnload"), c.resources("context", "module", "cubin_bytes", cbid=MODULE_LOADED))
    asked = run([sys.executable, "-c", ASK_ATTRIBUTES], env=device.env(device="devices=2")).out.decode().split("\n")
    same("all attributes of the devices are recorded", rows(c.db, "LIBTRACE_CUDA_DEVICE_ATTRIBUTE", "deviceId, attribute, value"), collections.Counter(tuple(map(int, line.split())) for line in asked if line))
    columns = "name, l2CacheSize, smCount, threadsPerWarp, constantMemory, maxShmemPerBlockOptin, isDiscrete, busLocation, computeMajor, maxWarpsPerSm, maxGridDimX, asyncEngines"
    same("devices", rows(c.db, "TARGET_INFO_GPU", columns), collections.Counter((f"Simulated GPU {i}", 52428800, 132, 32, 65536, 232448, 1, f"0000:{i + 1:02x}:00.0", 9, 64, 2147483647, 3) for i in (0, 1)))


def compiled_and_unloaded():
    if missing("driver_api"):
        return
    c = Capture("driver_api")
    start, end = c.times()
    same("compilations", rows(c.db, "LIBTRACE_CUDA_JIT", "start, start + duration, correlationId, deviceId"), of(c.truth, "jit", start, end, "correlation", "device"), 2)
    same("modules that are unloaded", rows(c.db, "LIBTRACE_CUDA_MODULE", "contextId, moduleId", "WHERE isUnload"), c.resources("context", "module", cbid=MODULE_UNLOADED))
    tap.ok(one(c.db, "SELECT count(*) FROM PROFILER_OVERHEAD WHERE overheadType = 2") + one(c.db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_OVERHEAD WHERE overheadType = 2")
           == len([line for line in c.truth if line.get("overhead_kind") == 1]) > 0, "the compiler's time is overhead")


def graphs():
    if missing("graph"):
        return
    c = Capture("graph", LIBTRACE_CUDA_GRAPH="node", LIBTRACE_CUDA_BACKTRACE="all")
    start, end = c.times()
    same("with --cuda-graph node each kernel of a graph is a row", rows(c.db, "CUPTI_ACTIVITY_KIND_KERNEL", "start, end, correlationId, streamId, graphNodeId"),
         of(c.truth, "kernel", start, end, "correlation", "stream", lambda line: line["graph_node"] or None), 2)
    for table, kind in (("MEMCPY", "memcpy"), ("MEMSET", "memset")):
        same(f"{kind} by node", rows(c.db, f"CUPTI_ACTIVITY_KIND_{table}", "start, end, correlationId, bytes, graphNodeId"),
             of(c.truth, kind, start, end, "correlation", "bytes", lambda line: line["graph_node"] or None), 2)
    for cbid, event_class, what in ((GRAPH_CREATED, 95, "created"), (GRAPH_CLONED, 96, "cloned"), (EXEC_CREATED, 94, "instantiated")):
        count = sum(c.resources(cbid=cbid).values())
        tap.ok(one(c.db, f"SELECT count(*) FROM CUDA_GRAPH_EVENTS JOIN StringIds ON id = nameId WHERE eventClass = {event_class}") == count, f"graphs that were {what}: {count}")
    nodes = sum(c.resources(cbid=NODE_CREATED).values()) + sum(c.resources(cbid=NODE_CLONED).values())
    tap.ok(one(c.db, "SELECT count(DISTINCT graphNodeId) FROM CUDA_GRAPH_NODE_EVENTS") == nodes > 0, f"nodes: {nodes}")
    ran = one(c.db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k WHERE graphNodeId NOT IN (SELECT graphNodeId FROM CUDA_GRAPH_NODE_EVENTS)")
    tap.ok(ran == 0, "each kernel of a graph belongs to a known node", ran)
    made = one(c.db, "SELECT count(*) FROM CUDA_GRAPH_NODE_EVENTS WHERE originalGraphNodeId NOT IN (SELECT graphNodeId FROM CUDA_GRAPH_NODE_EVENTS)")
    tap.ok(made == 0, "each copy of a graph belongs to a known node", made)
    nodes_are_summed(c)


def nodes_are_summed(c):
    """Check that what launches ran is summed up by the node that the program added, with the call that added it."""
    original = dict(c.db.execute("SELECT graphNodeId, originalGraphNodeId FROM CUDA_GRAPH_NODE_EVENTS"))
    wanted = collections.defaultdict(lambda: [0, 0])
    for line in c.truth:
        if line.get("graph_node"):
            entry = wanted[original[line["graph_node"]]]
            entry[0] += 1
            entry[1] += line["end"] - line["start"]
    got = c.stats("cuda_graph_node_sum")
    far = [r for r in got if int(r["Instances"]) != wanted[int(r["Node ID"])][0] or abs(int(r["Total Time (ns)"]) - wanted[int(r["Node ID"])][1]) > 2 * int(r["Instances"])]
    tap.ok(wanted and None not in wanted and len(got) == len(wanted) and not far, "cuda_graph_node_sum: each node of the program, with all its launches", (got, dict(wanted)))
    calls = {r["API Name"] for r in got}
    tap.ok(calls and "" not in calls and all(r["Callchain"] for r in got), "with the call that added it, and its callchain", got)


def callchains():
    if missing("vector_add"):
        return
    c = Capture("vector_add", LIBTRACE_CUDA_BACKTRACE="all")
    calls, chained = one(c.db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"), one(c.db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN CUDA_CALLCHAINS ON id = callchainId AND stackDepth = 0")
    tap.ok(calls == chained > 0, f"each of {calls} calls has its callchain", chained)
    broken = one(c.db, "SELECT count(*) FROM (SELECT 1 FROM CUDA_CALLCHAINS GROUP BY id HAVING count(*) != max(stackDepth) + 1)")
    in_main = one(c.db, f"SELECT count(DISTINCT id) FROM CUDA_CALLCHAINS WHERE {text_of('symbol')} = 'main'")
    chains = one(c.db, "SELECT count(DISTINCT callchainId) FROM CUPTI_ACTIVITY_KIND_RUNTIME")
    tap.ok(not broken and in_main == chains, "callchains have no gaps, and each goes through main", f"{broken}, {in_main} of {chains}")


def what_is_not_whole():
    if missing("vector_add"):
        return
    c = Capture("vector_add", fault="zero_every=4")
    untimed = rows(c.db, "LIBTRACE_CUDA_UNTIMED", "rawStart, rawEnd")
    tap.ok(untimed and set(untimed) == {(0, 0)} and one(c.db, "SELECT impossible FROM LIBTRACE_CUDA_RECEIPT") == sum(untimed.values()), "stamps that cannot be true have a table of their own", untimed)
    timed = sum(one(c.db, f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{t} WHERE start <= 0") for t in ("KERNEL", "MEMCPY", "MEMSET"))
    tap.ok(not timed, "no other table has these rows", timed)
    c = Capture("vector_add", fault="drop_every=5")
    wanted = len([line for line in c.truth if line["type"] in ("kernel", "memcpy", "memset", "synchronization", "event", "overhead", "memory")]) // 5
    got = one(c.db, "SELECT dropped FROM LIBTRACE_CUDA_RECEIPT")
    tap.ok(got == wanted > 0, "records that CUPTI dropped are counted", f"{got}, {wanted}")


if __name__ == "__main__":
    if without_sqlite():
        print("1..0 # SKIP built without SQLite")
        sys.exit(0)
    main(copies_between_devices_and_events, compiled_and_unloaded, graphs, callchains, what_is_not_whole)
