#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Events with typed fields and counters of libtrace.h: in the report, in nsys's tables of generic events, in statistics and timelines."""
import collections
import csv
import io
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, app, clean_env, folder, main, receipts_agree, run, tap, trace  # noqa: E402

PROGRAM = app("user_events")
COUNT = 200  # of events, and of samples: 100 by each of 2 threads
MOST = 2**64 - 1


def record(*arguments, sources="nvtx"):
    path = os.path.join(folder(), "report.rep")
    plain = run([PROGRAM, *arguments], env=clean_env())
    traced = trace("run", "-t", sources, "-o", path, "--", PROGRAM, *arguments, env=clean_env())
    report = Report(path)
    tap.ok(traced.status == 0 == plain.status and traced.out == plain.out == b"done\n" and report.check().status == 0 and receipts_agree(report) is None
           and not report.dropped(), f"{arguments}: the program runs as without the tracer, and the report is sound", f"{traced}\n{plain}")
    return report, traced


def exported(report, kind, name):
    path = os.path.join(folder(), name)
    said = trace("export", "-t", kind, "-o", path, report.path)
    return path, said


def events():
    report, _ = record()
    marks = report.events("--kind", "nvtx_mark")
    tap.ok(len(marks) == COUNT and {(e["domain"], e["text"]) for e in marks} == {("libtrace", "step")}, "each event is a mark", str(marks[:2]))
    path, _ = exported(report, "sqlite", "a.sqlite")
    with sqlite3.connect(path) as d:
        sources = d.execute("SELECT sourceId, json_extract(data, '$.Name') FROM GENERIC_EVENT_SOURCES").fetchall()
        types = {name: (number, json.loads(data)) for number, name, data in d.execute(
            "SELECT typeId, json_extract(data, '$.Name'), data FROM GENERIC_EVENT_TYPES WHERE sourceId = 1")}
        rows = d.execute("SELECT typeId, timestamp, rawTimestamp, data FROM GENERIC_EVENTS").fetchall()
    tap.ok(sources == [(1, "libtrace")] and sorted(types) == ["loss", "step"] and
           [f["Name"] for f in types["step"][1]["Fields"]] == ["offset", "address", "ratio"], "GENERIC_EVENT_SOURCES and GENERIC_EVENT_TYPES describe them", (sources, types))
    steps = [json.loads(data) for number, _, _, data in rows if number == types["step"][0]]
    wanted = collections.Counter((str(-i), str(MOST - i), i / 4) for i in range(100) for _ in range(2))
    tap.ok(collections.Counter((e["offset"], e["address"], float(e["ratio"])) for e in steps) == wanted and all(isinstance(v, str) for e in steps for v in e.values()),
           "GENERIC_EVENTS has each event, its values as texts", str(steps[:3]))
    samples = collections.Counter(float(json.loads(data)["value"]) for number, _, _, data in rows if number == types["loss"][0])
    tap.ok(samples == collections.Counter(100.5 - i for i in range(100) for _ in range(2)), "and each sample of a counter", str(samples))
    with sqlite3.connect(path) as d:
        start = [row[0] for row in d.execute("SELECT start FROM NVTX_EVENTS WHERE eventType = 34 ORDER BY 1")]
    tap.ok(sorted(t for number, t, raw, _ in rows if number == types["step"][0] and t == raw) == start, "each event has its time", str(start[:3]))
    summary(report)
    timeline(report)


def summary(report):
    said = trace("stats", "-r", "generic_sum", "-f", "csv", report.path)
    lines = [line for line in said.out.decode().splitlines() if "," in line]
    rows = {(row["Type"], row["Field"]): row for row in csv.DictReader(io.StringIO("\n".join(lines)))}
    offset, loss = rows.get(("step", "offset"), {}), rows.get(("loss", "value"), {})
    tap.ok(int(offset.get("Count", 0)) == COUNT and float(offset["Sum"]) == -9900 and float(offset["Min"]) == -99 and float(loss["Max"]) == 100.5,
           "generic_sum has count, sum and bounds of each field", said.out.decode())


def timeline(report):
    path, said = exported(report, "chrome", "a.json")
    with open(path, encoding="utf-8") as file:
        shown = json.load(file)["traceEvents"]
    counters = [e for e in shown if e.get("ph") == "C" and "loss" in e.get("name", "")]
    instants = [e for e in shown if e.get("ph") in ("i", "I") and "step" in e.get("name", "")]
    tap.ok(len(counters) == COUNT and len(instants) == COUNT, "timelines have the counter, and the events as instants", (len(counters), len(instants), said))


def garbage():
    report, _ = record("garbage")
    marks = report.events("--kind", "nvtx_mark")
    tap.ok(len(marks) == 1 and not report.events("--kind", "nvtx_sample"), "invalid arguments are ignored", str(marks))
    path, _ = exported(report, "sqlite", "a.sqlite")
    with sqlite3.connect(path) as d:
        data = d.execute("SELECT data FROM GENERIC_EVENTS").fetchall()
    tap.ok([json.loads(text) for text, in data] == [{"offset": "1", "address": None, "ratio": None}], "fields without a value are null", str(data))
    _, traced = record("many")
    tap.ok(b"last 1024 refused 78" in traced.err, "there are at most 1,024 types and counters", str(traced))


def forked():
    report, traced = record("forked")
    samples = report.events("--kind", "nvtx_sample")
    tap.ok(b"status 0" in traced.err and len(samples) == 5, "a forked child whose first call makes a counter is recorded", (traced, samples))


def off():
    report, _ = record(sources="osrt")
    path, _ = exported(report, "sqlite", "a.sqlite")
    with sqlite3.connect(path) as d:
        tables = d.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'GENERIC%'").fetchall()
    tap.ok(not report.events("--kind", "nvtx_mark") and not tables, "without the source nvtx nothing is recorded, and no table is there", str(tables))


def hostile():
    """A database with other data than JSON is no reason to fail."""
    path = os.path.join(folder(), "bad.sqlite")
    with sqlite3.connect(path) as d:
        d.executescript("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE GENERIC_EVENT_TYPES (typeId INTEGER, sourceId INTEGER, data TEXT);"
                        "CREATE TABLE GENERIC_EVENTS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER, data TEXT);"
                        "INSERT INTO GENERIC_EVENT_TYPES VALUES (1, 1, '{\"Name\":'), (2, 1, '[]'), (3, 1, '{\"Name\": \"good\"}');"
                        "INSERT INTO GENERIC_EVENTS VALUES (1, 1, 1, '{'), (2, 2, 2, NULL), (3, 3, 3, '{\"v\": \"7\"}'), (4, 4, 9, '{\"v\": {\"w\": 1}}');")
    said = trace("stats", "-r", "generic_sum", "-f", "csv", path)
    tap.ok(said.status == 0 and b"good,v" in said.out, "statistics of malformed data", str(said))


main(events, garbage, forked, off, hostile)
