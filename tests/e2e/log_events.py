#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Events from lines of output by a regular expression (--log-events): types and fields, numbers and texts, lines in pieces, in exports, statistics and timelines."""
import csv
import gzip
import io
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, clean_env, folder, main, run, tap, trace  # noqa: E402

PLACE = folder()
REPORT = os.path.join(PLACE, "log.rep")
PATTERN = r"(?#epoch)^epoch (?<epoch>\d+): loss (?<loss>\S+)|(?#message)(?<level>[A-Z]+) (?<text>.*)$"
# A shell writes each printf in one call; the last line of standard output comes in pieces, and has no line end.
SCRIPT = r"""
for i in 1 2 3; do printf 'epoch %d: loss 0.%d\n' $i $i; done
printf 'epoch 4: loss 1e-3\r\nother line\nepoch 5: loss nan\n'
printf 'WARN disk "full"\nWARN disk "full"\nINFO 7 of 9\n' | cat >&2
sh -c 'printf "INFO of a child\n"'
printf 'epoch 6: '; printf 'loss 18446744073709551615'
"""
EVENTS = [("epoch", {"epoch": str(i), "loss": loss}) for i, loss in ((1, "0.1"), (2, "0.2"), (3, "0.3"), (4, "0.001"), (5, "nan"))] + [
    ("message", {"level": "WARN", "text": 'disk "full"'})] * 2 + [("message", {"level": "INFO", "text": "7 of 9"}), ("message", {"level": "INFO", "text": "of a child"}),
                                                                  ("epoch", {"epoch": "6", "loss": "1.8446744073709552e+19"})]


def database(name, report=REPORT, *options):
    path = os.path.join(PLACE, name)
    said = trace("export", "-t", "sqlite", "-f", "true", "-o", path, *options, report)
    if said.status:
        tap.ok(False, "the report is exported", said)
    return sqlite3.connect(path)


def events_of(d):
    return [(name, json.loads(data)) for name, data in d.execute(
        "SELECT json_extract(t.data, '$.Name'), e.data FROM GENERIC_EVENTS AS e JOIN GENERIC_EVENT_TYPES AS t USING (typeId)")]


def sortable(events):
    return sorted(json.dumps(event, sort_keys=True) for event in events)


def same(found):
    """Compare events; a number is compared as such."""
    def plain(event):
        name, fields = event
        return name, {key: float(value) if key == "loss" and value != "nan" else value for key, value in fields.items()}
    return sortable(map(plain, found)) == sortable(map(plain, EVENTS))


def recorded():
    plain = run(["sh", "-c", SCRIPT], env=clean_env())
    said = trace("run", "-t", "none", "--log-events", PATTERN, "-o", REPORT, "--", "sh", "-c", SCRIPT, env=clean_env())
    tap.ok(said.status == 0 and said.out == plain.out and Report(REPORT).check().status == 0, "the program writes what it writes untraced", said)
    for compat in ("2.9", "3.4", "3.24"):
        with database("a.sqlite", REPORT, "--compat", compat) as d:
            found = events_of(d)
        tap.ok(same(found), f"each line that matches is an event, its groups are fields (--compat {compat})", found)


def numbers():
    """The tables of schema 3.13: numbers by type, with the thread; a field that has a text is in the JSON only."""
    with database("b.sqlite") as d:
        fields = d.execute("SELECT t.value, f.value, y.type, e.label FROM GENERIC_EVENT_TYPE_FIELDS AS y JOIN GENERIC_EVENT_TYPES USING (typeId) "
                           "JOIN StringIds AS t ON t.id = nameId JOIN StringIds AS f ON f.id = fieldNameId "
                           "JOIN ENUM_NSYS_GENERIC_EVENT_FIELD_TYPE AS e ON e.id = y.type").fetchall()
        values = sorted(d.execute("SELECT intVal, uintVal, floatVal, doubleVal FROM GENERIC_EVENT_DATA").fetchall())
        threads = d.execute("SELECT count(DISTINCT globalTid >> 24), count(*) FROM GENERIC_EVENTS WHERE globalTid IS NOT NULL").fetchall()
        sources = d.execute("SELECT sourceId, json_extract(data, '$.Name') FROM GENERIC_EVENT_SOURCES").fetchall()
    tap.ok(fields == [("epoch", "epoch", 0, "Signed Integer")] and values == [(i, None, None, None) for i in range(1, 7)] and sources == [(2, "log")],
           "GENERIC_EVENT_TYPE_FIELDS and GENERIC_EVENT_DATA have the numbers", (fields, values, sources))
    tap.ok(threads == [(3, len(EVENTS))], "each event has the thread that wrote the line", threads)


def other_pattern():
    with database("c.sqlite", REPORT, "--log-events", r"loss (?<loss>[\d.]+(?:e-?\d+)?)$|(?<big>\d{20})$") as d:
        found = [fields for _, fields in events_of(d)]
        kinds = dict(d.execute("SELECT f.value, y.type FROM GENERIC_EVENT_TYPE_FIELDS AS y JOIN StringIds AS f ON f.id = fieldNameId"))
        doubles = sorted(row[0] for row in d.execute("SELECT doubleVal FROM GENERIC_EVENT_DATA WHERE doubleVal IS NOT NULL"))
    tap.ok(len(found) == 5 and kinds == {"loss": 3} and doubles[:4] == [0.001, 0.1, 0.2, 0.3], "export --log-events takes another pattern for the same report",
           (found, kinds, doubles))
    with database("d.sqlite", REPORT, "--log-events", r"^(?:epoch 6: loss )(?<big>\d+)$") as d:
        found = d.execute("SELECT uintVal, data, type FROM GENERIC_EVENT_DATA JOIN GENERIC_EVENTS USING (genericEventId) JOIN GENERIC_EVENT_TYPE_FIELDS USING (typeId)").fetchall()
    tap.ok(found == [(-1, '{"big":"18446744073709551615"}', 1)], "numbers up to 2^64 - 1 are kept", found)


def statistics():
    said = trace("stats", "-r", "generic_sum", "-f", "csv", REPORT)
    rows = list(csv.DictReader(io.StringIO("\n".join(line for line in said.out.decode().splitlines() if "," in line))))
    epoch = [(row["Count"], float(row["Sum"]), float(row["Max"])) for row in rows if row["Field"] == "epoch"]
    levels = [(row["Count"], row["Sum"], row["Value"]) for row in rows if row["Field"] == "level"]
    tap.ok(epoch == [("6", 21.0, 6.0)] and levels == [("2", "", "INFO"), ("2", "", "WARN")], "generic_sum: sums of numbers, counts of texts", said)
    said = trace("stats", "-r", "generic_sum:rows=1", "-f", "csv", REPORT)
    tap.ok(said.out.count(b"message,text,") == 1, "rows=1: the most frequent text only", said)


def numbers_only():
    """A database of nsys since 2024 may have no JSON."""
    path = os.path.join(PLACE, "numbers.sqlite")
    with sqlite3.connect(path) as d:
        d.executescript("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'type'), (2, 'speed');"
                        "CREATE TABLE GENERIC_EVENT_TYPES (typeId INTEGER, sourceId INTEGER, nameId INTEGER); INSERT INTO GENERIC_EVENT_TYPES VALUES (9, 1, 1);"
                        "CREATE TABLE GENERIC_EVENT_TYPE_FIELDS (typeId INTEGER, fieldIdx INTEGER, fieldNameId INTEGER, offset INTEGER, size INTEGER, type INTEGER);"
                        "INSERT INTO GENERIC_EVENT_TYPE_FIELDS VALUES (9, 0, 2, 0, 8, 3);"
                        "CREATE TABLE GENERIC_EVENTS (genericEventId INTEGER PRIMARY KEY, rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER);"
                        "INSERT INTO GENERIC_EVENTS VALUES (1, 1, 1, 9), (2, 2, 2, 9);"
                        "CREATE TABLE GENERIC_EVENT_DATA (genericEventId INTEGER, fieldIdx INTEGER, intVal INTEGER, uintVal INTEGER, floatVal REAL, doubleVal REAL);"
                        "INSERT INTO GENERIC_EVENT_DATA VALUES (1, 0, NULL, NULL, NULL, 1.5), (2, 0, NULL, NULL, NULL, 2.5);")
    said = trace("stats", "-r", "generic_sum", "-f", "csv", path)
    tap.ok(said.status == 0 and b"2,4.0,2.0,1.5,2.5,type,speed," in said.out, "statistics of GENERIC_EVENT_DATA", said)


def program_images():
    """Positions in a stream start again at exec; lines before and after it are events, and ProcessStreams has them in order."""
    path = os.path.join(PLACE, "exec.rep")
    script = "echo step 1; echo a; exec sh -c 'printf \"step 2\\nb\\n\"; exec echo step 3'"
    said = trace("run", "-t", "none", "--log-events", "step (?<n>[0-9]+)", "-o", path, "--", "sh", "-c", script, env=clean_env())
    tap.ok(said.status == 0 and said.out == b"step 1\na\nstep 2\nb\nstep 3\n", "a program that calls exec twice is recorded", said)
    with database("exec.sqlite", path) as d:
        found = sortable(events_of(d))
        streams = [row[0] for row in d.execute("SELECT value FROM ProcessStreams JOIN StringIds ON id = contentId")]
    tap.ok(found == sortable(("log", {"n": str(n)}) for n in (1, 2, 3)), "lines before and after exec are events", found)
    tap.ok(streams == [said.out.decode()], "ProcessStreams has the output in the order of the programs", streams)


def timelines():
    """Each event is a moment of the thread that wrote the line, in each format, and on the page."""
    said = trace("export", "-t", "chrome", "-o", "-", REPORT)
    found = [(e["name"], e["args"]["fields"]) for e in json.loads(said.out)["traceEvents"] if e.get("cat") == "log"]
    tap.ok(same([(name, {key: str(value) for key, value in fields.items()}) for name, fields in found]), "chrome has each event, with its fields", found)
    for name in ("perfetto", "firefox"):
        path = os.path.join(PLACE, "log." + name)
        said = trace("export", "-t", name, "-f", "true", "-o", path, REPORT)
        with open(path, "rb") as file:
            data = file.read()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        tap.ok(said.status == 0 and b'"loss":0.1}' in data and b'"text":"of a child"}' in data, f"so has {name}", said)
    page = os.path.join(PLACE, "log.html")
    said = trace("report", "--html", "-f", "true", "-o", page, REPORT)
    if said.status and b"npm" in said.err:
        tap.skip("the page", "built without node")
        return
    with open(page, encoding="utf-8") as file:
        text = file.read()
    tap.ok(said.status == 0 and r'"log", "epoch", "{\"epoch\":\"1\",\"loss\":\"0.1\"}"' in text, "so has the page", said)


def merged():
    """Each of the reports that were merged has a pattern of its own, or none."""
    paths = []
    for number, options in enumerate((("--log-events", r"one (?<n>\d)"), ("--streams=process-tree",), ("--log-events", r"(?#second)two (?<n>\d)"))):
        paths.append(os.path.join(PLACE, f"part{number}.rep"))
        said = trace("run", "-t", "none", *options, "-o", paths[-1], "--", "sh", "-c", f"echo one {number}; echo two {number}", env=clean_env())
    target = os.path.join(PLACE, "merged.rep")
    said = trace("merge", "-f", "true", "-o", target, *paths)
    wanted = [("log", {"n": "0"}), ("second", {"n": "2"})]
    with database("merged.sqlite", target) as d:
        found = events_of(d)
    tap.ok(said.status == 0 and sortable(found) == sortable(wanted), "a merged report has the events of each of its reports", (found, said))
    events = json.loads(trace("export", "-t", "chrome", "-o", "-", target).out)["traceEvents"]
    shown = [(e["name"], {"n": str(e["args"]["fields"]["n"])}) for e in events if e.get("cat") == "log"]
    tap.ok(sortable(shown) == sortable(wanted), "so has its timeline", shown)


def refused():
    said = trace("run", "--log-events", "(?<a", "--", "true")
    tap.ok(said.status == 2 and b"--log-events" in said.err and b"a name has no end" in said.err, "a pattern that is not valid is refused", said)
    said = trace("run", "--", "true", env=clean_env(LIBTRACE_LOG_EVENTS="x" * 256))
    tap.ok(said.status == 2 and b"LIBTRACE_LOG_EVENTS" in said.err, "and one that is too long", said)


main(recorded, numbers, other_pattern, statistics, numbers_only, program_images, timelines, merged, refused)
