#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check databases of nsys and XSpaces as inputs of the commands that read reports: `export` to every format, `info`,
`dump`, `check`.

The databases: that of _made_database.py, some for one case each, and those of SHARED/fixtures/nsys, from four versions
of nsys. Expected results come from the database itself, read with Python's sqlite3, and from `trace stats`, which reads
the database directly.
"""
import collections
import contextlib
import glob
import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _made_database as made  # noqa: E402
from lib import fixtures, folder, main, tap, trace  # noqa: E402

PLACE = folder()
MADE = os.path.join(PLACE, "made.sqlite")
PID, TID = 0x1000000000000 | 4242 << 24, 0x1000000000000 | 4242 << 24 | 4243
REPORTS = ("osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "nvtx_sum", "nvtx_pushpop_trace", "um_total_sum",
           "nvtx_gpu_proj_sum", "cuda_kern_exec_trace")

AS_RANGES = ("MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS", "CUPTI_ACTIVITY_KIND_OPENACC_DATA",
             "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", "CUPTI_ACTIVITY_KIND_OPENACC_OTHER", "OPENMP_EVENT_KIND_PARALLEL", "OPENMP_EVENT_KIND_SYNC_REGION",
             "OPENMP_EVENT_KIND_SYNC_REGION_WAIT", "OPENMP_EVENT_KIND_CRITICAL_SECTION", "OPENMP_EVENT_KIND_TASK", "OPENMP_EVENT_KIND_WORKSHARE")


def databases():
    return [MADE, *sorted(glob.glob(os.path.join(fixtures("nsys"), "*.sqlite")))]


def exported(path, kind, *options):
    result = trace("export", "-t", kind, "-o", "-", *options, path, limit=100)
    tap.ok(result.status == 0 and result.out, f"{kind} of {os.path.basename(path)}", f"{result.status} {result.err}")
    return result.out


def count(path, table, where="1"):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as c:
        if not c.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            return 0
        return c.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0]


# ---- every database ----

def same_statistics():
    """Check that a database that is exported to SQLite has the same statistics as the original."""
    for path in databases():
        again = os.path.join(PLACE, "again.sqlite")
        result = trace("export", "-t", "sqlite", "-f", "true", "-o", again, path)
        tap.ok(result.status == 0, f"{os.path.basename(path)} as a database of the newest schema", result)
        for report in REPORTS:
            before, after = (trace("stats", "-r", report, "-f", "csv", file).out for file in (path, again))
            if path == MADE and report.startswith("nvtx_"):  # calls of MPI, OpenACC and OpenMP are ranges of a report, too
                continue
            tap.ok(before == after, f"{os.path.basename(path)}: {report} is the same", (before[:500], after[:500]))


def timelines():
    """Check that every row of the database is a slice of the exported trace."""
    tables = (("cuda_api", "CUPTI_ACTIVITY_KIND_RUNTIME", "eventClass <> 67"), ("kernel", "CUPTI_ACTIVITY_KIND_KERNEL", "1"),
              ("gpu_memcpy", "CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind NOT IN (11, 12, 13)"), ("unified_memory", "CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind IN (11, 12, 13)"),
              ("gpu_memset", "CUPTI_ACTIVITY_KIND_MEMSET", "1"), ("osrt", "OSRT_API", "eventClass = 27"), ("user_annotation", "NVTX_EVENTS", "eventType IN (59, 60, 70, 71)"),
              ("cuda_sync", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "1"))
    for path in databases():
        events = json.loads(exported(path, "chrome"))["traceEvents"]
        found = collections.Counter(e["cat"].replace("cuda_runtime", "cuda_api").replace("cuda_driver", "cuda_api") for e in events if e["ph"] == "X")
        wanted = {category: count(path, table, where) for category, table, where in tables}
        wanted["user_annotation"] += sum(count(path, table) for table in AS_RANGES)
        wanted["unified_memory"] += count(path, "CUDA_UM_CPU_PAGE_FAULT_EVENTS") + count(path, "CUDA_UM_GPU_PAGE_FAULT_EVENTS")
        tap.ok({c: n for c, n in wanted.items() if n != found[c]} == {}, f"chrome: all rows of {os.path.basename(path)}", (found, wanted))
        for kind in ("perfetto", "xplane", "json"):
            exported(path, kind)
        scope = json.loads(exported(path, "speedscope"))
        slices = sum(e["type"] == "O" for p in scope["profiles"] if p["type"] == "evented" for e in p["events"])
        tap.ok(slices >= found["cuda_api"] + found["osrt"], f"speedscope: calls of {os.path.basename(path)} over time", slices)


def callchains():
    """Compare the functions of each callchain, outermost first, with those that a join in SQL finds."""
    for path in databases():
        if not count(path, "OSRT_CALLCHAINS"):
            continue
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as c:
            chains = collections.defaultdict(list)
            for chain, text in c.execute("SELECT f.id, s.value FROM OSRT_CALLCHAINS f JOIN StringIds s ON s.id = f.symbol ORDER BY f.id, f.stackDepth DESC"):
                chains[chain].append(text)
            wanted = collections.Counter((name, tuple(chains[chain])) for name, chain in c.execute(
                "SELECT s.value, callchainId FROM OSRT_API o JOIN StringIds s ON s.id = o.nameId WHERE eventClass = 27"))
        rows = [json.loads(line) for line in trace("dump", "--json", "-k", "osrt_call", path).out.splitlines()]
        found = collections.Counter((row["function"], tuple(f["function"] for f in reversed(row["callchain"]))) for row in rows)
        tap.ok(found == wanted and len(wanted) > 1, f"callchains of {os.path.basename(path)}", ((found - wanted).most_common(2), (wanted - found).most_common(2)))


def information():
    for path in databases():
        name = os.path.basename(path)
        info = json.loads(trace("info", "--json", path).out)
        kinds = info["events"]
        tap.ok(kinds.get("cuda_kernel", 0) == count(path, "CUPTI_ACTIVITY_KIND_KERNEL") and info["format"].startswith("a database")
               and info["bytes"] == os.path.getsize(path) and "none" in info["verdict"], f"info of {name}", info)
        text = trace("info", path).out.decode()
        tap.ok("format:    a database" in text and "cuda_kernel" in text and "report:" not in text, f"info of {name} as text", text)
        checked = trace("check", path)
        tap.ok(checked.status == 0 and b"sound as far as checked" in checked.out, f"check of {name}", checked)
    versions = [os.path.basename(path).split("-")[1][:6] for path in databases()[1:]]
    texts = [trace("info", path).out.decode().split("\n")[1] for path in databases()[1:]]
    tap.ok(all(version in text for version, text in zip(versions, texts)), "info names the version of nsys", texts)


# ---- databases for one case each ----

def calls_database(name, rows, columns="start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER"):
    path = os.path.join(PLACE, name)
    with contextlib.closing(sqlite3.connect(path)) as c, c:
        c.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        c.execute("INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020')")
        c.execute("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)")
        c.execute("INSERT INTO PROCESSES VALUES (?, 4242, '/opt/app')", (PID,))
        c.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME ({columns})")
        for row in rows:
            c.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({', '.join('?' * len(row))})", row)
    return path


def impossible_rows():
    """Check that rows with impossible times are counted and left out, and that times before the session are kept."""
    path = calls_database("odd.sqlite", [(-500, -400, 0, TID, 1, 1, 0), (100, 300, 0, TID, 2, 1, 0), (900, 200, 0, TID, 3, 1, 0), ("x", 1, 0, TID, 4, 1, 0),
                                         (1 << 62, (1 << 62) + 5, 0, TID, 5, 1, 0), (400, 1 << 62, 0, TID, 6, 1, 0)])
    result = trace("dump", "--json", path)
    rows = [json.loads(line) for line in result.out.splitlines()]
    tap.ok([(r["start_ns"], r["duration_ns"], r["correlation_id"], r["pid"], r["tid"]) for r in rows if r["correlation_id"] < 5]
           == [(-500, 100, 1, 4242, 4243), (100, 200, 2, 4242, 4243)], "rows with possible times", rows)
    tap.ok(b"left out" in result.err and b"no time" in result.err, "the other rows are counted", result.err)
    checked = trace("check", path)
    tap.ok(checked.status == 1 and b"damaged" in checked.out, "check calls such a database damaged", checked)
    chrome = json.loads(trace("export", "-t", "chrome", "-o", "-", path).out)["traceEvents"]
    names = {e["args"]["name"] for e in chrome if e["name"] == "process_name"}
    tap.ok(names == {"app"} and [e["ts"] for e in chrome if e["ph"] == "X"][:2] == [-0.5, 0.1], "chrome: name of the process, times as in the database", chrome[:4])


def missing_columns():
    path = calls_database("lacking.sqlite", [(100, 300, TID)], "start INTEGER, end INTEGER, globalTid INTEGER")
    for command in (("export", "-t", "chrome", "-o", "-"), ("dump",), ("info",), ("check",)):
        result = trace(*command, path)
        lines = result.err.decode().splitlines()
        tap.ok(result.status == 2 and len(lines) == 1 and "CUPTI_ACTIVITY_KIND_RUNTIME" in lines[0] and "lacking.sqlite" in lines[0],
               f"{command[0]}: one line names the table whose column is missing", result)


def unknown_columns():
    """Check that a column that a database lacks, or whose rows are all NULL, is left out and not 0."""
    path = os.path.join(PLACE, "unknown.sqlite")
    full = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
    lost = ("contextId", "streamId", "gridX", "registersPerThread", "srcKind", "memKind")
    with contextlib.closing(sqlite3.connect(path)) as c, c:
        with contextlib.closing(sqlite3.connect(MADE)) as whole:
            whole.backup(c)
        for table in full:
            has = {row[1] for row in c.execute(f"PRAGMA table_info({table})")}
            for column in lost:
                if column in has:
                    c.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    kinds = ("cuda_kernel", "cuda_memcpy", "cuda_memset")
    gone = {"context_id", "stream_id", "grid_x", "registers_per_thread", "src_kind", "memory_kind"}
    known = [json.loads(line) for kind in kinds for line in trace("dump", "--json", "-k", kind, MADE).out.splitlines()]
    tap.ok({key for row in known for key in row} >= gone, "a database with all columns: dump has them", known[0])
    rows = [json.loads(line) for kind in kinds for line in trace("dump", "--json", "-k", kind, path).out.splitlines()]
    tap.ok(len(rows) == len(known) and not gone & {key for row in rows for key in row} and all("grid_y" in row for row in rows if row["kind"] == "cuda_kernel"),
           "dump --json leaves out what the database lacks", rows[0])
    rest = [{k: v for k, v in row.items() if k not in gone} for row in known]
    tap.ok(rest == rows, "and nothing else", [(a.items() ^ b.items()) for a, b in zip(rest, rows) if a != b][:3])
    text = "".join(trace("dump", "-k", kind, path).out.decode() for kind in kinds)
    tap.ok("grid_y=" in text and not any(f" {column}=" in text for column in gone), "and dump", text[:500])
    events = json.loads(exported(path, "chrome"))["traceEvents"]
    device = [e for e in events if e["ph"] == "X" and e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
    tap.ok(len(device) == len(rows) and all(e["args"].keys() & {"context", "stream", "grid", *gone} == set() and "device" in e["args"] for e in device),
           "chrome: likewise", device[:2])
    names = {e["args"]["name"] for e in events if e["name"] in ("process_name", "thread_name")}
    tap.ok(not any("context 0" in name or "stream 0" in name for name in names) and any(name == "GPU 0" for name in names), "tracks have no number that is unknown", names)
    perfetto = exported(path, "perfetto")
    tap.ok(b"context 0" not in perfetto and b"stream 0" not in perfetto, "also those of perfetto", len(perfetto))
    again = os.path.join(PLACE, "unknown-again.sqlite")
    result = trace("export", "-t", "sqlite", "-f", "true", "-o", again, path)
    nulls = [count(again, table, "contextId IS NULL AND streamId IS NULL") for table in full]
    tap.ok(result.status == 0 and nulls == [sum(row["kind"] == kind for row in rows) for kind in kinds], "sqlite: NULL", (result, nulls))
    tap.ok(count(again, full[0], "gridX IS NULL AND gridY IS NOT NULL") == count(path, full[0]), "sqlite: only what is unknown", nulls)


def unknown_cells():
    """Check that a number that only some rows lack is left out of these rows, not 0."""
    path = os.path.join(PLACE, "cells.sqlite")
    lost = ("contextId", "streamId", "registersPerThread", "gridX")
    with contextlib.closing(sqlite3.connect(path)) as c, c:
        with contextlib.closing(sqlite3.connect(MADE)) as whole:
            whole.backup(c)
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"):
            c.execute(f"CREATE TABLE filled AS SELECT * FROM {table}")
            c.execute(f"DROP TABLE {table}")
            c.execute(f"ALTER TABLE filled RENAME TO {table}")
            first = c.execute(f"SELECT rowid, start FROM {table} ORDER BY start LIMIT 1").fetchone()
            for column in lost if table.endswith("KERNEL") else lost[:2]:
                c.execute(f"UPDATE {table} SET {column} = NULL WHERE rowid = {first[0]}")
    gone = {"context_id", "stream_id", "registers_per_thread", "grid_x"}
    for kind, keys in (("cuda_kernel", gone), ("cuda_memcpy", {"context_id", "stream_id"})):
        known, rows = ([json.loads(line) for line in trace("dump", "--json", "-k", kind, file).out.splitlines()] for file in (MADE, path))
        tap.ok(len(rows) > 1 and rows[1:] == known[1:] and keys <= known[0].keys() and rows[0] == {k: v for k, v in known[0].items() if k not in keys},
               f"dump --json: {kind}: only what the row lacks is left out", (rows[0], known[0]))
        lines = [trace("dump", "-k", kind, file).out.decode().splitlines() for file in (MADE, path)]
        tap.ok(lines[0][1:] == lines[1][1:] and not any(f" {key}=" in lines[1][0] for key in keys) and all(f" {key}=" in lines[0][0] for key in keys), "dump", lines[1][0])
    events = [e for e in json.loads(exported(path, "chrome"))["traceEvents"] if e["ph"] == "X" and e["cat"] == "kernel"]
    tap.ok(len([e for e in events if "stream" not in e["args"]]) == 1 and not any(e["args"].get("stream") == 0 for e in events), "chrome: likewise", events[:2])
    perfetto = exported(path, "perfetto")
    tap.ok(b"context 0" not in perfetto and b"stream 0" not in perfetto, "perfetto: no track for numbers that are unknown", len(perfetto))
    again = os.path.join(PLACE, "cells-again.sqlite")
    result = trace("export", "-t", "sqlite", "-f", "true", "-o", again, path)
    kernels = "CUPTI_ACTIVITY_KIND_KERNEL"
    tap.ok(result.status == 0 and count(again, kernels, "streamId IS NULL AND gridX IS NULL AND gridY IS NOT NULL") == 1
           and count(again, kernels, "streamId IS NOT NULL") == count(path, kernels) - 1, "sqlite: NULL in this row", result)


def rows_without_a_process():
    """Check that rows that do not say their process are left out, and counted."""
    path = os.path.join(PLACE, "nobody.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as c, c:
        with contextlib.closing(sqlite3.connect(MADE)) as whole:
            whole.backup(c)
        for table, column in (("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"), ("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid")):
            c.execute(f"CREATE TABLE filled AS SELECT * FROM {table}")
            c.execute(f"DROP TABLE {table}")
            c.execute(f"ALTER TABLE filled RENAME TO {table}")
            c.execute(f"UPDATE {table} SET {column} = NULL WHERE rowid = (SELECT min(rowid) FROM {table})")
    whole, result = (trace("dump", "--json", file) for file in (MADE, path))
    tap.ok(result.status == 0 and len(result.out.splitlines()) == len(whole.out.splitlines()) - 2, "dump: without these rows", result.err)
    tap.ok(result.err.decode() == f"trace: '{path}': left out 2 rows that have no time or process, or end before they start\n", "the note counts them", result.err)


def empty_exports():
    """Check that an export that would be empty ends with status 2, one line and no file, whatever the input holds that the format cannot store."""
    to = os.path.join(PLACE, "nothing")
    only_calls = calls_database("calls.sqlite", [(100, 300, 0, TID, 2, 1, 0), (900, 200, 0, TID, 3, 1, 0)])
    cases = [(only_calls, kind) for kind in ("folded", "pprof", "nvtxt", "ncu", "csv", "occupancy")]
    cases += [(path, kind) for path in sorted(glob.glob(os.path.join(fixtures("xplane"), "*.xplane.pb"))) for kind in ("folded", "pprof")]
    for path, kind in cases:
        result = trace("export", "-t", kind, "-o", to, path)
        tap.ok(result.status == 2 and result.err.decode() == f"trace: '{path}': nothing to export as {kind}\n" and not os.path.exists(to),
               f"{kind} of {os.path.basename(path)}: one line", result)
    result = trace("export", "-t", "folded", "--source", "wall", "-o", to, only_calls)
    tap.ok(result.err.decode() == f"trace: '{only_calls}': nothing to export as folded\n", "no option of ours is advised for recordings of nsys", result)
    nothing = calls_database("none.sqlite", [])
    for output in (to, "-"):
        result = trace("export", "-t", "json", "-o", output, nothing)
        tap.ok(result.status == 2 and not result.out and result.err.decode() == f"trace: '{nothing}': nothing to export as json\n" and not os.path.exists(to),
               f"json of a database without events to {os.path.basename(output)}", result)
    text = " ".join(trace("export", "--list").out.decode().split())
    tap.ok("no callchains, so nothing as folded and pprof" in text, "export --list agrees", text[-900:])
    result = trace("export", "-t", "chrome", "-o", "-", only_calls)
    tap.ok(result.status == 0 and b"left out 1 rows" in result.err, "notes of an export with events are printed", result.err)


def damaged_files():
    torn = os.path.join(PLACE, "torn.sqlite")
    with open(MADE, "rb") as file, open(torn, "wb") as out:
        out.write(file.read()[:os.path.getsize(MADE) // 2])
    checked, dumped = trace("check", torn), trace("dump", torn)
    tap.ok(checked.status == 1 and b"torn.sqlite" in checked.err, "check finds a truncated database", checked)
    tap.ok(dumped.status == 2 and dumped.err.count(b"\n") == 1, "dump says so in one line", dumped)
    report = os.path.join(PLACE, "run.nsys-rep")
    with open(report, "wb") as file:
        file.write(b"\x01\x02\x03" * 99)
    commands = (("export", "-t", "perfetto"), ("export", "-t", "sqlite"), ("info",), ("dump",), ("check",), ("stats",), ("analyze",), ("report",), ("details",),
                ("symbolize",), ("import",))
    for content in (b"\x01\x02\x03" * 99, b"\x1f\x8b" + b"\1" * 99, b"text\n", b"{}"):
        with open(report, "wb") as file:
            file.write(content)
        for command in commands:
            result = trace(*command, report)
            tap.ok(result.status == 2 and f"nsys export -t sqlite {report}'".encode() in result.err and result.err.count(b"\n") == 1,
                   f"{command[0]} of a .nsys-rep ({content[:4]}): the command that converts it", result)


def xspaces():
    for path in sorted(glob.glob(os.path.join(fixtures("xplane"), "*.xplane.pb"))):
        name = os.path.basename(path)
        kernels = len(trace("stats", "-r", "cuda_gpu_trace", "-f", "csv", path).out.decode().strip().split("\n")) - 1
        events = json.loads(exported(path, "chrome"))["traceEvents"]
        found = collections.Counter(e["cat"] for e in events if e["ph"] == "X")
        tap.ok(found["kernel"] + found["gpu_memcpy"] + found["gpu_memset"] == kernels > 0, f"chrome: the device work of {name}", (found, kernels))
        for kind in ("perfetto", "xplane", "speedscope", "json"):
            exported(path, kind)
        tap.ok(trace("check", path).status == 0 and trace("dump", path).out, f"check and dump of {name}")
        planes = trace("info", path).out.decode()
        events = re.search(r"planes: .* with (\d+) events", planes)[1]
        tap.ok(f"; {events} events:" in trace("check", path).out.decode(), f"check counts the {events} events of {name} that info counts", planes[:300])


def inputs_are_listed():
    text = trace("export", "--list", env={**os.environ, "COLUMNS": "120"}).out.decode()
    listed = " ".join(text[text.index("The table is"):].split())
    tap.ok(all(word in listed for word in ("database of nsys", "XSpace", "nsys export -t sqlite")), "export --list says what is carried from each input", listed)
    tap.ok(listed.index("database of nsys") < listed.index("CPU samples") < listed.index("XSpace kernels") and "neither scheduling" in listed,
           "and that CPU samples are carried from databases only", listed)
    tap.ok(max(map(len, text[text.index("The table is"):].split("\n\n")[0].split("\n"))) <= 80, "its lines fit")


made.make(MADE)
main(same_statistics, timelines, callchains, information, impossible_rows, missing_columns, unknown_columns, unknown_cells, rows_without_a_process, empty_exports, damaged_files, xspaces, inputs_are_listed)
