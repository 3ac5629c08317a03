#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check CUDA programs on the simulated device, traced and exported to SQLite: the operations of the device are in the tables of nsys, and
scripts can join them.
"""
import collections
import csv
import io
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device
from lib import folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone

PLACE = folder()
PROGRAMS = ("vector_add", "pipeline", "graph", "driver_api")
CLOCKS_NS = 20000  # allowed difference between two ways to read a clock on a loaded machine
MEMORY_KIND = lambda kind: kind - 1 if kind else 7  # noqa: E731


def exported(name, *options):
    truth, report, path = (os.path.join(PLACE, name + suffix) for suffix in (".truth", ".rep", ".sqlite"))
    if not os.path.exists(report):
        spool = spool_folder()
        env = device.env(truth=truth, base=traced_env(report, spool, LIBTRACE_TRACE="cuda,nvtx,osrt"))
        done = run([device.app(name)], env=env)
        if done.status != 0 or not wait_spool_gone(spool):
            raise RuntimeError(f"no report of {name}: {done}")
    made = trace("export", "-t", "sqlite", "-f", "true", "-o", path, *options, report)
    if made.status != 0:
        raise RuntimeError(f"no database of {name}: {made.err!r}")
    info = json.loads(trace("info", "--json", report).out)
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True), device.lines(truth), info["session"]["start_ns"]


def rows(db, table, columns, more=""):
    if not one(db, f"SELECT count(*) FROM sqlite_master WHERE name = '{table}'"):
        return collections.Counter()
    return collections.Counter(db.execute(f"SELECT {columns} FROM {table} {more}"))


def one(db, sql):
    return db.execute(sql).fetchone()[0]


def of(truth, kind, *fields):
    return collections.Counter(tuple(line[f] if isinstance(f, str) else f(line) for f in fields) for line in truth if line["type"] == kind)


def same(name, got, wanted, times=0):
    """Compare rows, in the order of their correlation ids. The first `times` columns are times of two clocks and may differ slightly."""
    def without(rows):
        return collections.Counter(row[times:] for row in rows.elements())
    tap.ok(without(got) == without(wanted), f"{name}: {sum(wanted.values())} rows", f"only in the database: {got - wanted}\nonly in truth: {wanted - got}")
    order = lambda row: row[times:] + row[:times]  # noqa: E731
    pairs = list(zip(sorted(got.elements(), key=order), sorted(wanted.elements(), key=order)))
    far = [(a, b) for a, b in pairs if any(abs(x - y) > CLOCKS_NS for x, y in zip(a[:times], b[:times]))]
    if times and pairs:
        tap.ok(not far, f"at the times of the device, less than {CLOCKS_NS} ns apart", far)


def what_the_device_did():
    for name in PROGRAMS:
        reason = device.missing(name)
        if reason:
            tap.skip(f"tables of {name}", reason)
            continue
        db, truth, began = exported(name)
        start, end = (lambda line: line["start"] - began), (lambda line: line["end"] - began)
        place = ("device", "context", "stream", "correlation")
        columns = "start, end, deviceId, contextId, streamId, correlationId"
        whole = [line for line in truth if not (line.get("graph") and line["type"] in ("kernel", "memcpy", "memset"))]  # nodes of graphs are not recorded one by one
        dims = [lambda line, d=d, i=i: line[d][i] for d in ("grid", "block") for i in range(3)]
        same(f"kernels of {name}", rows(db, "CUPTI_ACTIVITY_KIND_KERNEL", columns + ", value, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory, launchType", "JOIN StringIds ON id = mangledName"),
            of(whole, "kernel", start, end, *place, "name", *dims, "registers", "static_shared", "dynamic_shared", lambda line: line["launch_type"] + 1), 2)
        same(f"copies of {name}", rows(db, "CUPTI_ACTIVITY_KIND_MEMCPY", columns + ", bytes, copyKind, srcKind, dstKind", "WHERE virtualAddress IS NULL"),
            of(whole, "memcpy", start, end, *place, "bytes", "copy_kind", lambda line: MEMORY_KIND(line["source_kind"]), lambda line: MEMORY_KIND(line["target_kind"])), 2)
        same(f"sets of {name}", rows(db, "CUPTI_ACTIVITY_KIND_MEMSET", columns + ", bytes, value, memKind"),
             of(whole, "memset", start, end, *place, "bytes", "value", lambda line: MEMORY_KIND(line["memory_kind"])), 2)
        same(f"waits of {name}", rows(db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "start, end, deviceId, contextId, correlationId, syncType"),
             of(truth, "synchronization", start, end, "device", "context", "correlation", "sync_type"), 2)
        same(f"graphs of {name}", rows(db, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns), of(truth, "graph", start, end, *place), 2)
        same(f"memory of {name}", rows(db, "CUDA_GPU_MEMORY_USAGE_EVENTS", "address, bytes, memKind, memoryOperationType, correlationId"),
             of(truth, "memory", "address", "bytes", lambda line: MEMORY_KIND(line["memory_kind"]), lambda line: line["operation"] - 1, "correlation"))


def joins():
    """Check the joins that scripts for nsys use."""
    for name in PROGRAMS:
        reason = device.missing(name)
        if reason:
            tap.skip(f"joins of {name}", reason)
            continue
        db, truth, _ = exported(name)
        calls = one(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME")
        tap.ok(calls == one(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN ThreadNames USING (globalTid)") > 0, f"{name}: each of {calls} calls has a thread")
        doubled = one(db, "SELECT count(*) FROM (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY globalTid >> 24, correlationId HAVING count(*) > 1)")
        tap.ok(not doubled, "correlation ids are unique in a process")
        names = collections.Counter(n for n, in db.execute("SELECT value FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId"))
        wrong = set(names) - {line["name"] for line in truth if line["type"] == "api" and not line["nested"]}
        tap.ok(not wrong, "calls inside of others are not among them", wrong)
        for table in ("KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "GRAPH_TRACE", "CUDA_EVENT"):
            table = "CUPTI_ACTIVITY_KIND_" + table
            if not one(db, f"SELECT count(*) FROM sqlite_master WHERE name = '{table}'"):
                continue
            own = "correlationId != 0"
            count = one(db, f"SELECT count(*) FROM {table} WHERE {own}")
            joined = one(db, f"SELECT count(*) FROM {table} g JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = g.correlationId "
                             f"AND (r.globalTid & ~0xffffff) = g.globalPid WHERE g.{own}")
            tap.ok(count == joined, f"{table}: each of {count} rows has its call", joined)
        devices = one(db, "SELECT count(*) FROM TARGET_INFO_CUDA_DEVICE d JOIN TARGET_INFO_GPU g ON g.id = d.gpuId WHERE g.smCount > 0 AND g.uuid = d.uuid")
        tap.ok(devices == one(db, "SELECT count(*) FROM TARGET_INFO_CUDA_DEVICE") > 0, "devices have their hardware")
        contexts = one(db, "SELECT count(*) FROM TARGET_INFO_CUDA_STREAM s JOIN TARGET_INFO_CUDA_CONTEXT_INFO c USING (contextId, processId)")
        tap.ok(contexts == one(db, "SELECT count(*) FROM TARGET_INFO_CUDA_STREAM") > 0, "streams have their context")
        labels = one(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = copyKind JOIN ENUM_CUDA_MEM_KIND s ON s.id = srcKind")
        tap.ok(labels == one(db, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY"), "kinds of copies have labels")
        driver = db.execute("SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE nameEnum = 611 AND name = 'CudaDriverVersion'").fetchall()
        tap.ok(driver == db.execute("SELECT CAST(driverVersion AS TEXT) FROM LIBTRACE_CUDA_SETUP WHERE driverVersion > 0").fetchall() and driver, "the driver's version", driver)
        types = {v for v, in db.execute("SELECT value FROM META_DATA_CAPTURE WHERE name = 'CAPTURE_EVENT_TYPE'")}
        tap.ok(types == {"Cuda", "OSRuntime"}, f"META_DATA_CAPTURE says what was traced: {types}")


def older_generations():
    for name in PROGRAMS[:2]:
        if device.missing(name):
            tap.skip(f"--compat of {name}", device.missing(name))
            continue
        counts = {}
        for compat in ("2.9", "3.4", "3.24"):
            db, _, _ = exported(name, "--compat", compat)
            counts[compat] = [one(db, f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{t}") for t in ("RUNTIME", "KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION")]
            streams = one(db, "SELECT count(*) FROM TARGET_INFO_CUDA_NULL_STREAM")
            tap.ok(streams == 1 and one(db, "SELECT group_concat(integrity_check) FROM pragma_integrity_check") == "ok", f"{name} as {compat} is sound")
        tap.ok(counts["2.9"] == counts["3.4"] == counts["3.24"], f"{name}: each generation has the same rows: {counts['2.9']}", counts)


def of_ranges(events):
    """Return the ranges that launched something: (name, style, tid, duration, kernels), by a plain search over the thread's ranges."""
    calls = {e["correlation_id"]: e for e in events if e["kind"] == "cuda_api" and not e["level"]}
    for e in events:
        if e["kind"] not in ("nvtx_range", "nvtx_start_end"):
            continue
        tid = e["tid"] if e["kind"] == "nvtx_range" else e["start_tid"]
        end = e["start_ns"] + e["duration_ns"]
        inside = [k for k in events if k["kind"] == "cuda_kernel" and calls[k["correlation_id"]]["tid"] == tid and e["start_ns"] <= calls[k["correlation_id"]]["start_ns"]
                  and calls[k["correlation_id"]]["start_ns"] + calls[k["correlation_id"]]["duration_ns"] <= end]
        if inside:
            yield f"{e['domain'] or ''}:{e['text']}", "PushPop" if e["kind"] == "nvtx_range" else "StartEnd", tid, e["duration_ns"], inside


def projected():
    """Compare nvtx_gpu_proj_sum, nvtx_gpu_proj_trace and nvtx_kern_sum of a report with its events."""
    if device.missing("nvtx_launch"):
        tap.skip("projected", device.missing("nvtx_launch"))
        return
    report, spool = os.path.join(PLACE, "projected.rep"), spool_folder()
    done = run([device.app("nvtx_launch"), "5"], env=device.env(base=traced_env(report, spool, LIBTRACE_TRACE="cuda,nvtx")))
    if not tap.ok(done.status == 0 and wait_spool_gone(spool), "ranges that launch kernels: traced", done):
        return
    events = [json.loads(line) for line in trace("dump", "--json", "--absolute", report).out.splitlines()]
    ranges = list(of_ranges(events))
    sums, kernels, traced = collections.defaultdict(lambda: [0, 0, 0, 0]), collections.defaultdict(lambda: [0, 0, 0]), collections.Counter()
    for name, style, tid, length, inside in ranges:
        length_there = max(k["start_ns"] + k["duration_ns"] for k in inside) - min(k["start_ns"] for k in inside)
        for at, value in enumerate((length_there, length, 1, len(inside))):
            sums[name, style][at] += value
        for at, value in enumerate((1, len(inside), sum(k["duration_ns"] for k in inside))):
            kernels[name, style, tid][at] += value
        traced[name, style, tid, length_there, length, len(inside)] += 1
    in_ranges, tids = {k["correlation_id"] for *_, inside in ranges for k in inside}, {e["correlation_id"]: e["tid"] for e in events if e["kind"] == "cuda_api"}
    for k in events:
        if k["kind"] == "cuda_kernel" and k["correlation_id"] not in in_ranges:  # nsys lists them in rows without a name
            outside = kernels["", "", tids[k["correlation_id"]]]
            outside[1] += 1
            outside[2] += k["duration_ns"]
    table = lambda title: list(csv.DictReader(io.StringIO(trace("stats", "-r", title, "-f", "csv", report, limit=100).out.decode())))  # noqa: E731
    got = {(r["Range"], r["Style"]): [int(r[c]) for c in ("Total Proj Time (ns)", "Total Range Time (ns)", "Range Instances", "Total GPU Ops")] for r in table("nvtx_gpu_proj_sum")}
    tap.ok(len(got) == 6 and got == dict(sums), "nvtx_gpu_proj_sum is what a plain search finds", f"{got}\n{dict(sums)}")
    got = {(r["NVTX Range"], r["Style"], int(r["TID"])): [int(r[c]) for c in ("NVTX Inst", "Kern Inst", "Total Time (ns)")] for r in table("nvtx_kern_sum")}
    tap.ok(len(got) >= 6 and got == dict(kernels), "nvtx_kern_sum has the same kernels, those outside of ranges, too", f"{got}\n{dict(kernels)}")
    got = collections.Counter((r["Name"], r["Style"], int(r["TID"]), *(int(r[c]) for c in ("Projected Duration (ns)", "Orig Duration (ns)", "NumGPUOps")))
                              for r in table("nvtx_gpu_proj_trace"))
    tap.ok(got == traced and sum(got.values()) == len(ranges) == 30, "nvtx_gpu_proj_trace, range by range", f"{got - traced}\n{traced - got}")


def many_machines():
    """Check several reports in one database: a GPU, identified by its UUID, has one number, whatever its number was on the recording machine."""
    missing = device.missing("vector_add") or device.missing("pipeline")
    if missing:
        tap.skip("GPUs of several machines", missing)
        return
    reports = []
    for first, devices, name in ((0, 1, "vector_add"), (4, 2, "pipeline"), (5, 1, "vector_add"), (0, 2, "vector_add")):
        path, spool = os.path.join(PLACE, f"machine-{len(reports)}.rep"), spool_folder()
        run([device.app(name)], env=device.env(device=f"first_gpu={first},devices={devices}", base=traced_env(path, spool, LIBTRACE_TRACE="cuda")))
        wait_spool_gone(spool)
        reports.append((path, {f"{first + n}" for n in range(devices)}))
    merged = os.path.join(PLACE, "machines.sqlite")
    made = trace("export", "-t", "sqlite", "-f", "true", "-o", merged, *(path for path, _ in reports))
    db = sqlite3.connect(f"file:{merged}?mode=ro", uri=True)
    gpus = db.execute("SELECT id, uuid FROM TARGET_INFO_GPU ORDER BY id").fetchall()
    tap.ok(made.status == 0 and [gpu for gpu, _ in gpus] == [0, 1, 2, 3] and len({uuid for _, uuid in gpus}) == 4, "four GPUs of three machines have a number each", gpus)
    joined = db.execute("SELECT d.pid, d.cudaId, d.uuid, g.uuid FROM TARGET_INFO_CUDA_DEVICE AS d LEFT JOIN TARGET_INFO_GPU AS g ON g.id = d.gpuId").fetchall()
    known = one(db, "SELECT count(*) FROM TARGET_INFO_CUDA_DEVICE")
    tap.ok(known >= 5 and len(joined) == known and all(own == of_gpu for _, _, own, of_gpu in joined), "each device of a process joins the GPU that it is", joined)


def without_sqlite():
    return b"without SQLite" in trace("export", "-t", "sqlite", "-o", os.path.join(PLACE, "x"), __file__).err


if __name__ == "__main__":
    if without_sqlite():
        print("1..0 # SKIP built without SQLite")
        sys.exit(0)
    main(what_the_device_did, joins, older_generations, projected, many_machines)
