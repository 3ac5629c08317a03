#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace export --type sqlite` as scripts for nsys read its exports: by Python's sqlite3 with the documented tables and queries.

Fixtures are exports of nsys itself with expected values (SHARED/fixtures/nsys); the queries are tested on these first. If NVIDIA's nsys
has been fetched (PEERS, default /tmp/peers), its own `nsys stats` runs on our file, too.
"""
import collections
import csv
import glob
import io
import json
import os
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, Report, TRACE, app, fixtures, folder, main, spool_folder, tap, trace, traced_env, run, wait_spool_gone, wait_until  # noqa: E402
from libpeers import NSYS  # noqa: E402

MAKER = os.path.join(BUILD, "tests/unit/test_reader_profile")
PLACE = folder()
CHAINS, SAMPLE, LIVE = (os.path.join(PLACE, name + ".rep") for name in ("chains", "sample", "live"))
FIXTURES = fixtures("nsys")
MEMORY_BYTES = 8 << 20
OS_RUNTIME = 27  # ENUM_NSYS_EVENT_CLASS

# The summary of OS runtime calls as documented: rows of class 27 by name, ordered by their total; shares of all of them.
OSRT_SUM = f"""
    SELECT value AS name, count(*) AS calls, sum(end - start) AS total, avg(end - start) AS mean, min(end - start) AS least,
           max(end - start) AS most, 100.0 * sum(end - start) / (SELECT sum(end - start) FROM OSRT_API WHERE eventClass = {OS_RUNTIME}) AS share
    FROM OSRT_API JOIN StringIds ON StringIds.id = nameId WHERE eventClass = {OS_RUNTIME}
    GROUP BY nameId ORDER BY total DESC, name"""
DURATIONS = f"""
    SELECT value, end - start FROM OSRT_API JOIN StringIds ON StringIds.id = nameId WHERE eventClass = {OS_RUNTIME}"""


def exported(*reports, name="out", options=()):
    path = os.path.join(PLACE, name + ".sqlite")
    if os.path.exists(path):
        os.unlink(path)
    result = trace("export", "--type", "sqlite", *options, "-o", path, *reports)
    if result.status != 0:
        raise RuntimeError(f"trace export: {result.status} {result.err!r}")
    return path


def opened(path):
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def tables(db):
    return [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def columns(db, table):
    return [tuple(row[1:4]) for row in db.execute(f"PRAGMA table_info({table})")]


def one(db, sql):
    return db.execute(sql).fetchone()[0]


def osrt_sum(db):
    durations = collections.defaultdict(list)
    for name, duration in db.execute(DURATIONS):
        durations[name].append(duration)
    rows = []
    for name, calls, total, mean, least, most, share in db.execute(OSRT_SUM):
        median = statistics.median(durations[name])
        deviation = statistics.stdev(durations[name]) if calls > 1 else 0.0
        rows.append([f"{share:.1f}", str(total), str(calls), f"{mean:.1f}", f"{median:.1f}", str(least), str(most), f"{deviation:.1f}", name])
    return rows


def by_name(rows):
    return {row[-1]: row[:-1] for row in rows}


def differ(ours, theirs):
    """Return the texts that differ; a difference in the last digit of a mean or deviation is allowed, since sums may be computed in another order."""
    wrong = []
    for name in sorted(set(ours) | set(theirs)):
        a, b = ours.get(name), theirs.get(name)
        if a is None or b is None or any(x != y and not ("." in x and abs(float(x) - float(y)) <= max(0.11, 1e-9 * float(x))) for x, y in zip(a, b)):
            wrong.append(f"{name}: {a} != {b}")
    return wrong


def csv_rows(text):
    return [row for row in csv.reader(io.StringIO(text)) if row and row[0].replace(".", "").isdigit()]


def query_on_fixtures():
    found = sorted(glob.glob(os.path.join(FIXTURES, "expected/*/osrt_sum.csv")))
    if not found:
        tap.skip("the query gives what nsys exports say", "no fixtures")
    for path in found:
        name = os.path.basename(os.path.dirname(path))
        with open(path, encoding="utf-8") as file:
            expected = csv_rows(file.read())
        rows = osrt_sum(opened(os.path.join(FIXTURES, name + ".sqlite")))
        tap.ok(not differ(by_name(rows), by_name(expected)) and rows, f"osrt_sum on the fixture {name}: {len(rows)} rows", differ(by_name(rows), by_name(expected)))


def statistics_agree():
    for report in (CHAINS, SAMPLE, LIVE):
        rows = osrt_sum(opened(exported(report)))
        stats = csv_rows(trace("stats", "-r", "osrt_sum", "-f", "csv", report).out.decode())
        wrong = differ(by_name(rows), by_name(stats))
        tap.ok(rows and not wrong, f"osrt_sum of {os.path.basename(report)} is that of trace stats: {len(rows)} functions", wrong)
        tap.ok([row[1] for row in rows] == [row[1] for row in stats], "rows have the order of stats")


def nsys_itself():
    if not os.path.exists(NSYS):
        tap.skip("nsys stats on our file", "no nsys in PEERS or /tmp/peers")
        return
    path = exported(LIVE, name="nsys")
    done = run([NSYS, "stats", "--report", "osrt_sum", "--format", "csv", "--force-export=false", path], env=dict(os.environ), limit=200)
    rows = csv_rows(done.out.decode(errors="replace"))
    stats = csv_rows(trace("stats", "-r", "osrt_sum", "-f", "csv", LIVE).out.decode())
    wrong = differ(by_name(rows), by_name(stats))
    tap.ok(rows and not wrong, f"nsys stats --report osrt_sum on our file: {len(rows)} functions", wrong or (done.out + done.err).decode(errors="replace"))


def shape():
    fixture = os.path.join(FIXTURES, "um_osrt-2026.1.3.sqlite")
    db = opened(exported(LIVE))
    required = {"StringIds", "ThreadNames", "PROCESSES", "ANALYSIS_DETAILS", "TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_SYSTEM_ENV",
                "META_DATA_EXPORT", "META_DATA_CAPTURE", "OSRT_API", "ENUM_NSYS_EVENT_CLASS", "LIBTRACE_PROCESS", "LIBTRACE_RECEIPT"}
    tap.ok(required <= set(tables(db)), "the tables that are always there", required - set(tables(db)))
    ours = [t for t in tables(db) if t.startswith("LIBTRACE_") and not t.startswith("LIBTRACE_ENUM_")]
    tap.ok(all(one(db, f"SELECT count(*) FROM {t}") for t in ours if t not in ("LIBTRACE_PROCESS", "LIBTRACE_RECEIPT")), "no table of ours is empty", ours)
    if not os.path.exists(fixture):
        tap.skip("tables as in an export of nsys", "no fixtures")
        return
    theirs = opened(fixture)
    for table in sorted(set(tables(db)) & set(tables(theirs))):
        if table.startswith("ENUM_"):
            same = db.execute(f"SELECT * FROM {table} ORDER BY id").fetchall() == theirs.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
        else:
            same = columns(db, table)[:len(columns(theirs, table))] == columns(theirs, table)
        if not same or not table.startswith("ENUM_"):
            tap.ok(same, f"{table} is as in an export of nsys", columns(db, table))
    tap.ok(True, "the ENUM tables that both have are as in an export of nsys")


def generations():
    """Check --compat: each table has the shape that it has in exports of those years."""
    for compat, name, version in (("2.9", "nvtx_pytorch-2022.1.3", "2.9.1"), ("3.4", "nvtx_sampling-2023.3.1", "3.4.0"), ("3.24", "um_osrt-2026.1.3", "3.24.18")):
        db = opened(exported(LIVE, options=["--compat", compat]))
        meta = "EXPORT_META_DATA" if compat == "2.9" else "META_DATA_EXPORT"
        tap.ok(one(db, f"SELECT value FROM {meta} WHERE name = 'EXPORT_SCHEMA_VERSION'") == version, f"--compat {compat} has schema {version}")
        tap.ok(one(db, "SELECT group_concat(integrity_check) FROM pragma_integrity_check") == "ok", "the database passes SQLite's integrity check")
        enums = {t for t in tables(db) if t.startswith("ENUM_")}
        fixture = os.path.join(FIXTURES, name + ".sqlite")
        if not os.path.exists(fixture):
            tap.skip(f"--compat {compat} has the tables of then", "no fixtures")
            continue
        theirs = opened(fixture)
        tap.ok(bool(enums) == any(t.startswith("ENUM_") for t in tables(theirs)), f"{len(enums)} tables of enumerations", enums)
        both = sorted(t for t in set(tables(db)) & set(tables(theirs)) if not t.startswith("ENUM_"))
        shape_of = lambda base, t: [c[:2] for c in columns(base, t)]  # columns that may be NULL changed in some releases
        wrong = [(t, shape_of(db, t)) for t in both if shape_of(db, t)[:None if compat != "3.24" else len(columns(theirs, t))] != shape_of(theirs, t)]
        tap.ok(len(both) > 6 and not wrong, f"{len(both)} tables are as then: {' '.join(both)}", wrong)
        sums = {r: osrt_sum(opened(exported(LIVE, name="now")) if r else db) for r in (False, True)}
        tap.ok(sums[False] == sums[True] and sums[True], "other generations have the same calls")
    wrong = trace("export", "-t", "sqlite", "--compat", "1", "-o", os.path.join(PLACE, "wrong"), LIVE)
    tap.ok(wrong.status == 2 and b"--compat" in wrong.err, "another version is an error", wrong.err)


def references():
    for report in (CHAINS, SAMPLE, LIVE):
        db = opened(exported(report))
        name = os.path.basename(report)
        tap.ok(one(db, "SELECT group_concat(integrity_check) FROM pragma_integrity_check") == "ok", f"{name}: SQLite finds the file sound")
        ids = [row[0] for row in db.execute("SELECT id FROM StringIds ORDER BY id")]
        tap.ok(ids == list(range(len(ids))) and one(db, "SELECT count(DISTINCT value) FROM StringIds") == len(ids), "StringIds is dense, each text once")
        wrong = [(table, column) for table in tables(db) for column, _, _ in columns(db, table)
                 if (column.endswith("nameId") or column in ("pathId", "buildId", "symbol", "module")) and not table.startswith("ENUM")
                 and one(db, f"SELECT count(*) FROM {table} WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT id FROM StringIds)")]
        tap.ok(not wrong, "all references to it resolve", wrong)
        calls = one(db, "SELECT count(*) FROM OSRT_API")
        joined = one(db, "SELECT count(*) FROM OSRT_API JOIN ThreadNames USING (globalTid)")
        processes = one(db, "SELECT count(*) FROM OSRT_API a JOIN PROCESSES p ON p.globalPid = (a.globalTid & ~0xffffff)")
        tap.ok(calls == joined == processes > 0, f"one ThreadNames and one PROCESSES row for each of {calls} calls", (joined, processes))
        tap.ok(not one(db, "SELECT count(*) FROM OSRT_API WHERE globalTid >> 48 != 1"), "globalTid of a single report has VM 1")
        chains = one(db, "SELECT count(*) FROM OSRT_API WHERE callchainId != 0 AND callchainId NOT IN (SELECT id FROM OSRT_CALLCHAINS)") if "OSRT_CALLCHAINS" in tables(db) else 0
        tap.ok(not chains, "all callchains are there")
        start, utc = db.execute("SELECT systemClockNs, utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
        tap.ok(one(db, "SELECT startTime FROM ANALYSIS_DETAILS") == start and utc >= 0, "the start is stored by both clocks")


def frames(db, chain):
    return [(s, m, bool(u)) for s, m, u in db.execute(
        "SELECT s.value, m.value, unresolved FROM OSRT_CALLCHAINS c JOIN StringIds s ON s.id = symbol JOIN StringIds m ON m.id = module "
        "WHERE c.id = ? AND specialEntry IS NULL ORDER BY stackDepth", (chain,))]


def callers(db, chain):
    """Return the frames of a chain without the first one, in which nsys has the function that was called."""
    return frames(db, chain)[1:]


def events_agree():
    """Check that every call of `dump --json` has a row with all values that dump prints."""
    bits = {"abandoned": 1, "nested": 2, "unfinished": 4}
    for path in (CHAINS, LIVE):
        db = opened(exported(path))
        chains, rows = {}, collections.Counter()
        for table, columns_of in (("OSRT_API", "a.start, a.end - a.start"), ("LIBTRACE_OSRT_UNFINISHED", "a.start, a.duration")):
            if table not in tables(db):
                continue
            facts = "a" if table != "OSRT_API" else "f"
            join = "LEFT JOIN LIBTRACE_OSRT_CALL f ON f.id = a.rowid" if facts == "f" else ""
            for *row, chain in db.execute(
                    f"SELECT {columns_of}, a.globalTid / 0x1000000 % 0x1000000, a.globalTid % 0x1000000, value, returnValue, ifnull({facts}.errno, 0), "
                    f"ifnull({facts}.object, 0), ifnull({facts}.holderTid, 0), ifnull({facts}.flags, 0), a.callchainId FROM {table} a JOIN StringIds s ON s.id = a.nameId {join}"):
                if chain not in chains:
                    chains[chain] = tuple(s for s, _, unresolved in callers(db, chain) if not unresolved) if chain else ()
                rows[(*row, chains[chain])] += 1
        told = collections.Counter()
        for e in Report(path).events("--kind", "osrt_call"):
            known = tuple(f["function"] for f in e.get("callchain") or [] if f.get("function"))
            told[(e["start_ns"], e["duration_ns"], e["pid"], e["tid"], e["function"], e["return_value"], e.get("errno") or 0,
                  int(e["object"], 0), e.get("holder_tid") or 0,
                  sum(bits[f] for f in e["flags"]), known)] += 1
        name = os.path.basename(path)
        tap.ok(rows == told and rows, f"{name}: {sum(rows.values())} calls are those that dump prints", f"{rows - told}\n{told - rows}")
        info = Report(path).info()["events"]
        others = {kind: count for kind, count in info.items() if kind not in ("osrt_call", *NVTX_TYPES)}
        counts = {kind: one(db, f"SELECT count(*) FROM LIBTRACE_{kind.upper()}") for kind in others}
        tap.ok(counts == others, f"events of the other kinds are complete: {counts}", info)


NVTX_TYPES = {"nvtx_mark": 34, "nvtx_range": 59, "nvtx_start_end": 60}  # ENUM_NSYS_EVENT_TYPE
PAYLOADS = ("uint64", "int64", "double", "uint32", "int32", "float")


def clean(text):
    """Convert a text to UTF-8 as the exporter does."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def nvtx_told(path):
    pid = next(p["pid"] for p in Report(path).info()["processes"])
    rows, domains = collections.Counter(), {}
    for e in sorted(Report(path).events("--kind", "nvtx_name"), key=lambda e: e["time_ns"]):
        if e["what"] == "domain":
            domains.setdefault(e["name"], len(domains) + 1)
    number = lambda name: domains[name] if name else 0
    for kind, event_type in NVTX_TYPES.items():
        for e in Report(path).events("--kind", kind):
            start = e["time_ns" if kind == "nvtx_mark" else "start_ns"]
            ended = kind != "nvtx_mark" and "unfinished" not in e["flags"]
            tid = e.get("start_tid", e["tid"])
            payload = {name: None for name in PAYLOADS}
            if e["payload_type"] != "none":
                payload[e["payload_type"]] = e["payload"] - (1 << 64) if e["payload"] > (1 << 63) - 1 else e["payload"]
            rows[(start, start + e["duration_ns"] if ended else None, event_type, e.get("range_id"), e["category"] or None,
                  int(e["color"] or "0", 0) or None, clean(e["text"]) or None, bool(e["text"]) and "registered" in e["flags"], pid, tid,
                  e["tid"] if ended and tid != e["tid"] else None, number(e["domain"]), *payload.values())] += 1
    types = {"domain": 75, "domain destroyed": 76, "category": 33, "thread": 39}
    for e in Report(path).events("--kind", "nvtx_name"):
        if e["what"] in types:
            domain = e["name"] if e["what"] == "domain" else e["domain"]
            rows[(e["time_ns"], None, types[e["what"]], None, e["identifier"] if e["what"] == "category" else None, None,
                  clean(e["name"]) if e["what"] != "domain destroyed" else None, False, pid,
                  e["identifier"] if e["what"] == "thread" else e["tid"], None, number(domain), *[None] * 6)] += 1
    return rows


def nvtx():
    if not os.path.exists(app("nvtx_calls")):
        tap.skip("NVTX_EVENTS", "nvtx_calls is not built: no headers of NVTX")
        return
    path, spool = os.path.join(PLACE, "nvtx.rep"), spool_folder()
    done = run([app("nvtx_calls")], env=traced_env(path, spool))
    if done.status != 0 or not wait_spool_gone(spool):
        raise RuntimeError(f"no report: {done}")
    db = opened(exported(path))
    rows = collections.Counter()
    for r in db.execute("SELECT start, end, eventType, rangeId, category, color, coalesce(text, value), textId IS NOT NULL, globalTid / 0x1000000 % 0x1000000, "
                        "globalTid % 0x1000000, endGlobalTid % 0x1000000, domainId, uint64Value, int64Value, doubleValue, uint32Value, int32Value, floatValue "
                        "FROM NVTX_EVENTS LEFT JOIN StringIds ON textId = id"):
        rows[(*r[:7], bool(r[7]), *r[8:])] += 1
    told = nvtx_told(path)
    tap.ok(rows == told and len(rows) > 20, f"NVTX_EVENTS has the {sum(rows.values())} events that dump prints", f"{rows - told}\n{told - rows}")
    older = os.path.join(FIXTURES, "nvtx_sampling-2023.3.1.sqlite")
    if os.path.exists(older):
        tap.ok(columns(db, "NVTX_EVENTS")[:-1] == columns(opened(older), "NVTX_EVENTS"), "NVTX_EVENTS has the columns of an export of nsys", columns(db, "NVTX_EVENTS"))
    else:
        tap.skip("NVTX_EVENTS has the columns of nsys", "no fixtures")
    tap.ok(not one(db, "SELECT count(*) FROM NVTX_EVENTS WHERE text IS NOT NULL AND textId IS NOT NULL"), "a text stands inline or is registered")
    tap.ok(one(db, "SELECT count(*) FROM NVTX_EVENTS") == one(db, "SELECT count(*) FROM NVTX_EVENTS JOIN ThreadNames USING (globalTid)"),
           "each NVTX event has one row of ThreadNames")
    tap.ok(one(db, "SELECT count(*) FROM ThreadNames JOIN StringIds ON nameId = id WHERE value = 'the main thread'") == 1,
           "the name that NVTX gave a thread is its name")


def callchains():
    db = opened(exported(CHAINS))
    stacks = [callers(db, chain) for chain, in db.execute("SELECT DISTINCT id FROM OSRT_CALLCHAINS")]
    called = one(db, "SELECT count(*) FROM OSRT_API a JOIN OSRT_CALLCHAINS c ON c.id = a.callchainId AND stackDepth = 0 AND symbol = nameId AND originalIP IS NULL")
    tap.ok(called == one(db, "SELECT count(*) FROM OSRT_API WHERE callchainId != 0") > 0, f"the function called is the first frame, as nsys has it: {called} calls")
    wanted = [('std::inl<"x">', "/bin/app", False), ("helper", "/bin/app", False), ("run(int; char)", "/bin/app", False), ("main", "/bin/app", False)]
    tap.ok(wanted in stacks, "a chain with an inlined function, innermost first", stacks)
    tap.ok([("0x7f0000000999", "/lib/liby.so", True)] in [s[:1] for s in stacks], "an unresolved frame is an address and flagged", stacks)
    special = {row[0] for row in db.execute("SELECT value FROM OSRT_CALLCHAINS JOIN StringIds s ON s.id = symbol WHERE specialEntry")}
    tap.ok(special == {"[Max depth]", "[Broken backtraces]"}, "cut chains and lost ones end in what nsys has for it", special)
    raw = opened(exported(CHAINS, options=["--no-symbols"]))
    tap.ok(not one(raw, "SELECT count(*) FROM OSRT_CALLCHAINS WHERE unresolved = 0 AND specialEntry IS NULL AND stackDepth > 0"), "--no-symbols gives addresses")
    tap.ok(one(raw, "SELECT count(*) FROM OSRT_CALLCHAINS JOIN StringIds s ON s.id = module WHERE s.value = '/bin/app'") > 0, "unresolved frames have their modules")


def nvtx_payloads():
    """Check extended payloads as JSON, and the tables of their layouts."""
    if not os.path.exists(app("nvtx_payloads")):
        tap.skip("jsonText", "nvtx_payloads is not built: no headers of NVTX")
        return
    path, spool = os.path.join(PLACE, "payloads.rep"), spool_folder()
    done = run([app("nvtx_payloads")], env=traced_env(path, spool))
    if done.status != 0 or not wait_spool_gone(spool):
        raise RuntimeError(f"no report: {done}")
    db = opened(exported(path))
    here = collections.Counter((start, kind, json.dumps(json.loads(text))) for start, kind, text in db.execute(
        "SELECT start, eventType, jsonText FROM NVTX_EVENTS WHERE jsonText IS NOT NULL"))
    told = collections.Counter((e["time_ns" if kind == "nvtx_mark" else "start_ns"], number, json.dumps(e["payload"]))
                               for kind, number in NVTX_TYPES.items() for e in Report(path).events("--kind", kind) if e["payload_type"] == "extended")
    tap.ok(here == told and len(here) > 10, f"{len(here)} payloads are stored as JSON, as dump prints them", f"{here - told}\n{told - here}")
    for table, kind in (("NVTX_PAYLOAD_SCHEMAS", "nvtx_schema"), ("NVTX_PAYLOAD_SCHEMA_ENTRIES", "nvtx_schema_entry"), ("NVTX_PAYLOAD_ENUM_ENTRIES", "nvtx_enum"), ("NVTX_SCOPES", "nvtx_scope")):
        count = Report(path).info()["events"][kind]
        tap.ok(one(db, f"SELECT count(*) FROM {table}") == one(db, f"SELECT count(*) FROM LIBTRACE_{kind.upper()}") == count > 0, f"{table}: {count} rows")
    entries = one(db, "SELECT count(*) FROM NVTX_PAYLOAD_SCHEMA_ENTRIES e JOIN NVTX_PAYLOAD_SCHEMAS s USING (domainId, schemaId) WHERE idx < numEntries")
    tap.ok(entries == one(db, "SELECT count(*) FROM NVTX_PAYLOAD_SCHEMA_ENTRIES"), "each entry belongs to a layout", entries)


def file_access():
    """Check which calls worked on which file, with the option that records paths."""
    report, spool, data = os.path.join(PLACE, "files.rep"), spool_folder(), os.path.join(PLACE, "data")
    program = "import os\n" \
        f"a = os.open({data!r}, os.O_CREAT | os.O_RDWR)\nos.write(a, b'x' * 100)\nos.lseek(a, 0, 0)\nos.fsync(a)\nos.close(a)\n" \
        f"b = os.open({data!r}, os.O_RDONLY)\nassert a == b\nos.read(b, 1000)\nr, w = os.pipe()\nos.write(w, b'12')\nos.read(r, 2)\n" \
        "try: os.open('/nonexistent/x', 0)\nexcept OSError: pass\n"
    done = run([sys.executable, "-S", "-c", program], env=traced_env(report, spool, threshold=0, LIBTRACE_OSRT_FILE_ACCESS=1))
    if done.status != 0 or not wait_spool_gone(spool):
        raise RuntimeError(f"no report: {done}")
    db = opened(exported(report))
    calls = "SELECT eventType, value, bytesProcessed FROM OSRT_FILE_ACCESS_EVENTS e JOIN StringIds ON id = apiCallId WHERE fileAccessId = ? ORDER BY startedAt"
    files = db.execute("SELECT fileAccessId, openedAt, closedAt FROM OSRT_FILE_ACCESS_DESCRIPTORS WHERE filePath = ? ORDER BY openedAt", (data,)).fetchall()
    tap.ok(len(files) == 2 and files[0][2] > files[0][1] and files[1][1] >= files[0][2] and files[1][2] == 0, "a file opened twice, closed once", files)
    did = [[(kind, name.replace("64", ""), size) for kind, name, size in db.execute(calls, (number,))] for number, _, _ in files]
    plain = [[c for c in calls_of if c[1] in ("open", "write", "lseek", "fsync", "close", "read")] for calls_of in did]
    tap.ok(plain == [[(1, "open", 0), (4, "write", 100), (6, "lseek", 0), (6, "fsync", 0), (2, "close", 0)], [(1, "open", 0), (3, "read", 100)]],
           "a file has its operations, for each time it was open", did)
    tap.ok(not one(db, "SELECT count(*) FROM OSRT_FILE_ACCESS_DESCRIPTORS WHERE filePath LIKE '/nonexistent%'"), "a file that could not be opened is not listed")
    count = one(db, "SELECT count(*) FROM OSRT_FILE_ACCESS_EVENTS e JOIN OSRT_FILE_ACCESS_DESCRIPTORS d USING (fileAccessId) JOIN ENUM_OSRT_FILE_ACCESS_EVENT_TYPE t "
                    "ON t.id = e.eventType JOIN OSRT_API a ON a.start = e.startedAt AND a.end = e.endedAt AND a.nameId = e.apiCallId "
                    "AND a.globalTid & 0xffffff = e.threadId AND a.globalTid >> 24 & 0xffffff = d.processId")
    tap.ok(count == one(db, "SELECT count(*) FROM OSRT_FILE_ACCESS_EVENTS") > 6, f"each of {count} operations joins its call, its file and the name of its type")
    fixture = os.path.join(FIXTURES, "um_osrt-2026.1.3.sqlite")
    if os.path.exists(fixture):
        wrong = [t for t in ("OSRT_FILE_ACCESS_EVENTS", "OSRT_FILE_ACCESS_DESCRIPTORS") if columns(db, t) != columns(opened(fixture), t)]
        tap.ok(not wrong, "tables as in an export of nsys", wrong)


def what_nsys_has_no_table_for():
    db, info = opened(exported(LIVE)), Report(LIVE).info()
    produced = sum(p["receipt"]["produced"] for p in info["processes"])
    tap.ok(one(db, "SELECT sum(produced) FROM LIBTRACE_RECEIPT") == produced, f"receipts: {produced} produced")
    ours = db.execute("SELECT processId, pid, executable, endHow, exitStatus, traced FROM LIBTRACE_PROCESS ORDER BY processId").fetchall()
    theirs = sorted((p["id"], p["pid"], p["executable"], p["end"], p.get("exit_status"), p["traced"]) for p in info["processes"])
    tap.ok(ours == theirs, f"{len(ours)} processes with their ends", f"{ours}\n{theirs}")
    sample = opened(exported(SAMPLE))
    tap.ok(one(sample, "SELECT sum(count) FROM LIBTRACE_DROP") == 7, "drops")
    tap.ok(one(sample, "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity = 2 AND text LIKE '%are missing'") > 0, "a warning about missing events is where nsys's scripts look for it")
    tap.ok(one(sample, "SELECT sum(count) FROM LIBTRACE_OSRT_SUMMARY") == 1234, "sums of short calls are exported")


def many_reports():
    db = opened(exported(LIVE, CHAINS, name="two"))
    vms = dict(db.execute("SELECT globalTid >> 48, count(*) FROM OSRT_API GROUP BY 1"))
    alone = [one(opened(exported(r, name="alone")), "SELECT count(*) FROM OSRT_API") for r in (LIVE, CHAINS)]
    tap.ok(vms == {1: alone[0], 2: alone[1]}, f"two reports are kept apart: {vms}", alone)
    real = [json.loads(trace("info", "--json", r).out)["session"]["start_realtime_ns"] for r in (LIVE, CHAINS)]
    starts = [r - min(real) for r in real]
    clocks = db.execute("SELECT number, clock FROM LIBTRACE_MERGED ORDER BY globalVid").fetchall()
    tap.ok(clocks == [(1, "same"), (2, "wall")] and one(db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME") == min(real),
           "several reports are merged, by the wall clock where they have no messages", (clocks, real))
    first = [one(db, f"SELECT min(start) FROM OSRT_API WHERE globalTid >> 48 = {vm}") for vm in (1, 2)]
    apart = [one(opened(exported(r, name="alone")), "SELECT min(start) FROM OSRT_API") for r in (LIVE, CHAINS)]
    tap.ok([f - a for f, a in zip(first, apart)] == starts, "events of several reports are on one clock", (first, apart))


def memory_is_flat():
    """Check that an export of a million calls works within a limit of memory that has room for eight bytes per call."""
    if "/san-" in TRACE:
        tap.skip("memory", "a sanitizer takes more")
        return
    path, spool, target = os.path.join(PLACE, "many.rep"), spool_folder(), os.path.join(PLACE, "many.sqlite")
    done = run([app("many_calls"), "1000000", "2"], env=traced_env(path, spool, threshold=0, LIBTRACE_OSRT_BACKTRACE_DEPTH=0))
    if done.status != 0 or not wait_spool_gone(spool):
        raise RuntimeError(f"no report: {done}")
    made = trace("export", "-t", "sqlite", "-o", target, path, restore_signals=False,
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES)))
    rows = one(opened(target), "SELECT count(*) FROM OSRT_API") if made.status == 0 else 0
    tap.ok(rows > 1_000_000, f"{rows} calls exported in {MEMORY_BYTES >> 20} MiB of data", made.err)


def names_and_failures():
    path = exported(CHAINS, name="kept")
    with open(path, "rb") as file:
        before = file.read()
    again = trace("export", "-t", "sqlite", "-o", path, CHAINS)
    with open(path, "rb") as file:
        tap.ok(again.status == 2 and b"kept.sqlite" in again.err and b"exists" in again.err and file.read() == before, "no file is overwritten", again.err)
    tap.ok(trace("export", "-t", "sqlite", "-f", "true", "-o", path, CHAINS).status == 0, "an existing file is replaced with --force-overwrite")
    tap.ok(os.stat(path).st_mode & 0o777 == 0o600, "the file is the user's alone")
    for arguments, word in ((["-o", os.path.join(PLACE, "none/x"), CHAINS], b"No such file"), (["-o", "-", CHAINS], b"standard output"),
                            (["-o", os.path.join(PLACE, "x"), CHAINS, os.path.join(PLACE, "absent.rep")], b"absent.rep"), ([], b"no FILE given")):
        result = trace("export", "-t", "sqlite", *arguments)
        tap.ok(result.status == 2 and word in result.err, f"an error names file and cause: {word.decode()}", result.err)
    device = trace("export", "-t", "sqlite", "-f", "true", "-o", "/dev/null", CHAINS)
    tap.ok(device.status == 2 and b"not a regular file" in device.err and not os.path.isfile("/dev/null"), "a device is not replaced by a database", device.err)
    for kind, limit in (("sqlite", 100000), ("json", 5000), ("folded", 100), ("speedscope", 100)):
        target = os.path.join(PLACE, "full." + kind)
        command = ["export", "-t", kind, "-o", target, LIVE]
        small = trace(*command, restore_signals=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))  # noqa: B023
        left = [name for name in os.listdir(PLACE) if name.startswith(("full", "x."))]
        tap.ok(small.status == 2 and b"full." + kind.encode() in small.err and not left, f"{kind}: a full disk is reported, and no file is left", f"{small.err!r} {left}")


def interrupted():
    """Check that, whenever a signal arrives, there is the whole database or no file."""
    target, ended = os.path.join(PLACE, "stopped.sqlite"), collections.Counter()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP) * 4:
        with subprocess.Popen([TRACE, "export", "-t", "sqlite", "-o", target, LIVE], stderr=subprocess.DEVNULL) as process:
            wait_until(lambda: [n for n in os.listdir(PLACE) if n.startswith("stopped")] or process.poll() is not None)
            process.send_signal(number)
            status = process.wait(60)
        left = [n for n in os.listdir(PLACE) if n.startswith("stopped")]
        ended[status] += 1
        if not (status == 0 and left == ["stopped.sqlite"] and one(opened(target), "SELECT integrity_check = 'ok' FROM pragma_integrity_check")
                or status == -number and not left):
            tap.ok(False, f"{number.name} leaves the whole database or nothing", (status, left))
        for name in left:
            os.unlink(os.path.join(PLACE, name))
    tap.ok(True, f"ended by signals: {dict(ended)}")


def damaged_reports():
    with open(LIVE, "rb") as file:
        data = file.read()
    for cut in (len(data) // 2, len(data) - 7):
        path = os.path.join(PLACE, "cut.rep")
        with open(path, "wb") as file:
            file.write(data[:cut])
        target = os.path.join(PLACE, "cut.sqlite")
        result = trace("export", "-t", "sqlite", "-f", "true", "-o", target, path)
        db = opened(target)
        tap.ok(result.status in (0, 1) and one(db, "SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity = 2") > 0,
               f"cut off at {cut}: what is there is exported, with a warning", result.err)
    broken = bytearray(data)
    broken[len(data) // 2] ^= 0xff
    with open(path, "wb") as file:
        file.write(broken)
    result = trace("export", "-t", "sqlite", "-f", "true", "-o", target, path)
    tap.ok(result.status == 1 and one(opened(target), "SELECT problems FROM LIBTRACE_REPORT") > 0, "damage gives status 1, and is in the database", result.err)


def by_position():
    db = opened(exported(LIVE))
    row = db.execute("SELECT * FROM OSRT_API LIMIT 1").fetchone()
    tap.ok(row[2] == OS_RUNTIME and row[1] >= row[0] and row[6] == 0, "columns have the positions that scripts of nsys expect", row)


def live_report():
    spool = spool_folder()
    program = "import os,subprocess,threading,time\n" \
        "t=[threading.Thread(target=time.sleep,args=(.01,)) for _ in range(3)]\n" \
        "[x.start() for x in t]\n[x.join() for x in t]\n" \
        "subprocess.run(['/bin/sh','-c','sleep 0.01; exit 3'])\ntry:\n os.open('/nonexistent',0)\nexcept OSError: pass\n"
    done = run([sys.executable, "-c", program], env=traced_env(LIVE, spool, threshold=0, LIBTRACE_OSRT_BACKTRACE_THRESHOLD=5000))
    if done.status != 0 or not wait_spool_gone(spool):
        raise RuntimeError(f"no report: {done}")


subprocess.run([MAKER, "--save", CHAINS], check=True, timeout=120)
if b"without SQLite" in trace("export", "-t", "sqlite", "-o", os.path.join(PLACE, "try"), CHAINS).err:
    print("1..0 # SKIP built without SQLite")
    sys.exit(0)
subprocess.run([MAKER, "--save-without", SAMPLE], check=True, timeout=120)
live_report()
main(query_on_fixtures, statistics_agree, nsys_itself, shape, generations, references, events_agree, callchains, nvtx, nvtx_payloads, file_access,
     what_nsys_has_no_table_for,
     many_reports, memory_is_flat, names_and_failures, interrupted, damaged_reports, by_position)
