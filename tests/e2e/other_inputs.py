#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
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
    for command in (("export", "-t", "perfetto"), ("info",), ("dump",), ("check",), ("stats",), ("report",)):
        result = trace(*command, report)
        tap.ok(result.status == 2 and f"nsys export -t sqlite {report}'".encode() in result.err, f"{command[0]} of a .nsys-rep: the command that converts it", result)


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


def inputs_are_listed():
    text = trace("export", "--list", env={**os.environ, "COLUMNS": "120"}).out.decode()
    tap.ok(all(word in text for word in ("database of nsys", "XSpace", "CPU samples", "nsys export -t sqlite")), "export --list says what is carried from each input", text[-1500:])
    tap.ok(max(map(len, text[text.index("The table is"):].split("\n\n")[0].split("\n"))) <= 80, "its lines fit")


made.make(MADE)
main(same_statistics, timelines, callchains, information, impossible_rows, missing_columns, damaged_files, xspaces, inputs_are_listed)
