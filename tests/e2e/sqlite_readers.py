#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that scripts of other projects can read our databases: the queries that readers of nsys exports use, in pandas and plain SQL.

pandas is fetched from PyPI into READER_PACKAGES (default build/reader-packages) if it is not installed; without it those tests are
skipped.
"""
import importlib
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device
from lib import BUILD, app, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

PACKAGES = os.environ.get("READER_PACKAGES") or os.path.join(BUILD, "reader-packages")
PLACE = folder()
made = {}


def pandas_or_reason():
    sys.path.append(PACKAGES)
    try:
        import pandas
        return pandas, None
    except ImportError:
        done = run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--target", PACKAGES, "pandas==2.2.3"],
                   env=dict(os.environ, PIP_RETRIES="1"), limit=400)
        if done.status != 0:
            return None, "pandas is not to be had from PyPI"
    importlib.invalidate_caches()
    import pandas
    return pandas, None


def report(name, argv, env=lambda base: base):
    path, spool = os.path.join(PLACE, name + ".rep"), spool_folder()
    done = run(argv, env=env(traced_env(path, spool, LIBTRACE_TRACE="cuda,nvtx,osrt")))
    if done.hung or not wait_spool_gone(spool):
        raise RuntimeError(f"no report of {name}: {done}")
    return path


def database():
    """Write a database of a CUDA program, one with NVTX and one with threads."""
    if "db" not in made:
        program = "import threading,time\nt=[threading.Thread(target=time.sleep,args=(.01,)) for _ in range(5)]\n[x.start() for x in t]\n[x.join() for x in t]\n"
        reports = [report("threads", [sys.executable, "-c", program])]
        if not device.missing("pipeline"):
            reports.append(report("cuda", [device.app("pipeline")], lambda base: device.env(base=base)))
        if os.path.exists(app("nvtx_calls")):
            reports.append(report("nvtx", [app("nvtx_calls")]))
        path = os.path.join(PLACE, "all.sqlite")
        done = trace("export", "-t", "sqlite", "-o", path, *reports)
        if done.status != 0:
            raise RuntimeError(f"no database: {done.err!r}")
        made["db"] = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    return made["db"]


def tables(db):
    return {name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def one(db, sql):
    return db.execute(sql).fetchone()[0]


def in_pandas():
    pandas, reason = pandas_or_reason()
    if reason:
        tap.skip("pandas reads all tables", reason)
        return
    db = database()
    frames = {name: pandas.read_sql_query(f'SELECT * FROM "{name}"', db) for name in tables(db)}
    wrong = [name for name, frame in frames.items() if len(frame) != one(db, f'SELECT count(*) FROM "{name}"') or frame.columns.has_duplicates]
    tap.ok(not wrong and len(frames) > 40, f"pandas reads all {len(frames)} tables", wrong)
    calls, names = frames["OSRT_API"], frames["StringIds"].set_index("id")["value"]
    calls = calls.assign(name=calls.nameId.map(names), pid=calls.globalTid // 0x1000000 % 0x1000000, duration=calls.end - calls.start)
    tap.ok(calls.name.notna().all() and (calls.duration >= 0).all(), "names by a map of ids, no time before its begin")
    totals = calls.groupby("name").duration.sum().to_dict()
    tap.ok(totals == dict(db.execute("SELECT value, sum(end - start) FROM OSRT_API JOIN StringIds ON id = nameId GROUP BY 1")), "sums by name are those of SQL")
    pids = set(frames["PROCESSES"].pid)
    tap.ok(set(calls.pid) <= pids and len(calls.merge(frames["ThreadNames"], on="globalTid")) == len(calls), "an inner join to ThreadNames loses and doubles none")
    if "CUPTI_ACTIVITY_KIND_KERNEL" not in frames:
        tap.skip("kernels with their launches", device.missing("pipeline"))
        return
    kernels, api = frames["CUPTI_ACTIVITY_KIND_KERNEL"], frames["CUPTI_ACTIVITY_KIND_RUNTIME"]
    api = api.assign(globalPid=api.globalTid // 0x1000000 * 0x1000000)
    launches = kernels.merge(api, on=["globalPid", "correlationId"], suffixes=("", "_api"))
    tap.ok(len(launches) == len(kernels) > 0 and launches.nameId.map(names).str.startswith("cudaLaunchKernel").all(), f"{len(kernels)} kernels with their launches")
    tap.ok((launches.start >= launches.start_api).all(), "no kernel begins before it is launched")
    hardware = frames["TARGET_INFO_CUDA_DEVICE"].merge(frames["TARGET_INFO_GPU"], left_on="gpuId", right_on="id", suffixes=("", "_gpu"))
    tap.ok(len(hardware) == len(frames["TARGET_INFO_CUDA_DEVICE"]) > 0 and hardware.name.notna().all(), "devices with their names")


def as_timelines():
    """Read the database as converters to trace-event JSON do: the tables say which events there are, joins find names, and threads are computed from
    globalTid.
    """
    db = database()
    there, events = tables(db), []
    if "CUPTI_ACTIVITY_KIND_KERNEL" in there:
        for start, end, dev, stream, name in db.execute("SELECT start, end, deviceId, streamId, value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName"):
            events.append({"ph": "X", "ts": start / 1e3, "dur": (end - start) / 1e3, "pid": f"Device {dev}", "tid": f"stream {stream}", "name": name})
    if "NVTX_EVENTS" in there:
        for start, end, tid, text in db.execute("SELECT start, end, globalTid, coalesce(text, value) FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId "
                                                "WHERE eventType IN (SELECT id FROM ENUM_NSYS_EVENT_TYPE WHERE name IN ('NvtxPushPopRange', 'NvtxStartEndRange')) AND end IS NOT NULL"):
            events.append({"ph": "X", "ts": start / 1e3, "dur": (end - start) / 1e3, "pid": tid // 0x1000000 % 0x1000000, "tid": tid % 0x1000000, "name": text})
    for start, end, tid, name in db.execute("SELECT start, end, globalTid, value FROM OSRT_API JOIN StringIds ON id = nameId WHERE eventClass = 27"):
        events.append({"ph": "X", "ts": start / 1e3, "dur": (end - start) / 1e3, "pid": tid >> 24 & 0xffffff, "tid": tid & 0xffffff, "name": name})
    wanted = sum(one(db, sql) for table, sql in (
        ("OSRT_API", "SELECT count(*) FROM OSRT_API"), ("CUPTI_ACTIVITY_KIND_KERNEL", "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"),
        ("NVTX_EVENTS", "SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND end IS NOT NULL")) if table in there)
    json.loads(json.dumps(events))
    tap.ok(len(events) == wanted and all(e["name"] is not None and e["dur"] >= 0 for e in events), f"a timeline of {len(events)} events", wanted)
    duration, utc = one(db, "SELECT duration FROM ANALYSIS_DETAILS"), one(db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")
    tap.ok(all(0 <= e["ts"] * 1e3 <= duration + 1 for e in events) and utc > 1_600_000_000_000_000_000, "all inside the capture, which has its place in time")


def ranges_with_kernels():
    """Find the range that launched GPU work by thread and time, as NVTX projections do."""
    db = database()
    if not {"CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"} <= tables(db):
        tap.skip("ranges joined to calls", "no CUDA or NVTX program was built")
        return
    inside = one(db, "SELECT count(*) FROM NVTX_EVENTS n JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.globalTid = n.globalTid AND r.start >= n.start AND r.end <= n.end")
    tap.ok(inside == 0, "threads of different reports are never the same", inside)
    hosts = one(db, "SELECT count(DISTINCT globalVid) FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'")
    tap.ok(hosts == one(db, "SELECT count(*) FROM LIBTRACE_MERGED") > 1, "each report has its host", hosts)


if b"without SQLite" in trace("export", "-t", "sqlite", "-o", os.path.join(PLACE, "x"), __file__).err:
    print("1..0 # SKIP built without SQLite")
    sys.exit(0)
main(in_pandas, as_timelines, ranges_with_kernels)
