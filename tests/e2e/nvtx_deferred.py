#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check deferred events of NVTX: the output of every command has their ranges and marks, with the right times, whatever
clock gave them.
"""
import collections
import csv
import io
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, app, folder, main, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

WITHIN_NS = 200_000_000  # allowed error: the program cannot read two clocks at exactly the same time
UNPLACED = ["the layout has no time", "begin without end, or end without begin", "end before begin", "unknown clock",
            "no synchronization point links the clock to that of the report", "a single synchronization point, and the rate of the clock is unknown",
            "time outside the report"]


def traced(**options):
    """Run the program. Return its report, and the events that the program says the report must have: (kind, message,
    begin, end).
    """
    where, spool = folder(), spool_folder()
    said = os.path.join(where, "said")
    result = run([app("nvtx_deferred"), said], env=traced_env(os.path.join(where, "r.rep"), spool, **options), cwd=where)
    finished, report = wait_spool_gone(spool), Report(os.path.join(where, "r.rep"))
    ok = finished and result.status == 0 and report.exists() and not receipts_agree(report) and report.check().status == 0
    tap.ok(ok, "the program runs as it should, and its report is sound", f"status {result.status}\n{result.err.decode()}")
    with open(said, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return report, [(kind, message, int(begin), int(end)) for kind, message, begin, end in rows]


def same(name, got, wanted):
    return tap.ok(got == wanted, name, f"wanted {wanted}\n   got {got}")


def placed(report, *arguments):
    rows = [e for kind in ("nvtx_range", "nvtx_start_end", "nvtx_mark") for e in report.events("--absolute", "--kind", kind, *arguments)]
    return [e for e in rows if "deferred" in e["flags"]]


def begin_of(e):
    return e.get("start_ns", e.get("time_ns"))


def sums(rows):
    return sorted(collections.Counter((e["kind"], e["text"]) for e in rows).items())


REPORT = None


def events_have_their_place():
    global REPORT
    REPORT, said = traced()
    rows = placed(REPORT)
    same("each is there, as what it is to become", sums(rows), sorted(collections.Counter((kind, message) for kind, message, _, _ in said).items()))
    found = {(e["kind"], e["text"], e.get("payload", {}).get("detail")): e for e in rows}
    for kind, message, begin, end in said:
        near = [e for (k, text, _), e in found.items() if (k, text) == (kind, message)]
        best = min(abs(begin_of(e) - begin) + abs(begin_of(e) + e.get("duration_ns", 0) - end) for e in near)
        exact = kind == "nvtx_mark" or end - begin < 200000  # times of nvtxTimestampGet(), not converted
        tap.ok(best <= (2 * WITHIN_NS if not exact or "scope" in message else 0), f"'{message}' has the right time", f"{best} ns off")
    info = REPORT.info()["deferred"]
    same("deferred events without a place in time are counted by reason", [(r["count"], r["reason"]) for r in info["not_placed"]], [(1, reason) for reason in UNPLACED])
    same("placed deferred events are counted", info["placed"], len(said))
    told = trace("dump", REPORT.path).err.decode()
    tap.ok(f"{len(UNPLACED)} of {len(UNPLACED) + len(said)} deferred NVTX events" in told, "commands that print events report them", told)
    tap.ok("without a known time: 1 (unknown clock)" in trace("info", REPORT.path).out.decode(), "info says so in words")
    inner = [e for e in rows if e["text"] == "inner"][0]
    same("levels of ranges in each other", inner["level"], 1)
    batch = [e for e in rows if e["text"] == "batch: b"][0]
    same("an event of a batch has its own fields", (batch["payload"]["detail"], batch["event_index"], batch["category"], batch["color"]), (1, 1, 3, "0xff00ff00"))
    same("an event whose scope is not a thread belongs to the process", [e["tid"] for e in rows if e["text"] == "of a scope"], [0])


def statistics_have_them():
    table = csv.DictReader(io.StringIO(trace("stats", "-r", "nvtx_sum", "-f", "csv", REPORT.path).out.decode()))
    got = sorted((row["Style"], row["Range"], int(row["Instances"])) for row in table)
    styles = {"nvtx_range": "PushPop", "nvtx_start_end": "StartEnd"}
    wanted = collections.Counter((styles[e["kind"]], "deferred:" + e["text"]) for e in placed(REPORT) if e["kind"] in styles)
    same("nvtx_sum", got, sorted((style, name, count) for (style, name), count in wanted.items()))
    for report, style in (("nvtx_pushpop_sum", "PushPop"), ("nvtx_startend_sum", "StartEnd")):
        rows = list(csv.DictReader(io.StringIO(trace("stats", "-r", report, "-f", "csv", REPORT.path).out.decode())))
        same(report, len(rows), len([key for key in wanted if key[0] == style]))
    rows = list(csv.DictReader(io.StringIO(trace("stats", "-r", "nvtx_pushpop_trace", "-f", "csv", REPORT.path).out.decode())))
    stacks = {row["Name"]: row["Lvl"] for row in rows}
    same("nvtx_pushpop_trace", (stacks["deferred:outer"], stacks["deferred:inner"]), ("0", "1"))


def exports_have_them():
    where = folder()
    base, text = os.path.join(where, "r.sqlite"), os.path.join(where, "r.nvtxt")
    trace("export", "-t", "sqlite", "-o", base, REPORT.path)
    with sqlite3.connect(base) as db:
        rows = db.execute("SELECT eventType, coalesce(text, (SELECT value FROM StringIds WHERE id = textId)), [end] IS NULL FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60)").fetchall()
        kinds = {34: "nvtx_mark", 59: "nvtx_range", 60: "nvtx_start_end"}
        same("SQLite: rows of NVTX_EVENTS by their eventType", sorted(collections.Counter((kinds[t], name) for t, name, _ in rows).items()), sums(placed(REPORT)))
        same("SQLite: only marks lack an end", {t for t, _, lacks in rows if lacks}, {34})
        same("SQLite: fields", db.execute("SELECT json_extract(jsonText, '$.detail') FROM NVTX_EVENTS WHERE text = 'batch: b'").fetchall(), [(1,)])
        told = [t for t, in db.execute("SELECT text FROM DIAGNOSTIC_EVENT WHERE text LIKE 'deferred NVTX%'")]
        same("SQLite: what is not placed", sorted(told), sorted(f"deferred NVTX events not placed in time: 1 ({reason})" for reason in UNPLACED))
    trace("export", "-t", "nvtxt", "-o", text, REPORT.path)
    with open(text, encoding="utf-8") as file:
        lines = file.read()
    missing = [e["text"] for e in placed(REPORT) if f'"deferred:{e["text"]}"' not in lines]
    same("NVTXT: a line for each", missing, [])


def filters_know_them():
    got = [e["text"] for e in placed(REPORT, "--nvtx-include", "deferred@outer/")]
    same("a range of push and pop around others", sorted(got), sorted(["outer", "inner", "mark", "mark by its entry", "one time", "two times", "by entries", "clock not told"]))
    got = {e["text"] for e in placed(REPORT, "--nvtx-include", "deferred@by entries")}
    tap.ok({"by entries", "mark"} <= got and "tsc" not in got, "a range of start and end", str(got))
    outer = [e for e in report_times(REPORT) if e["text"] == "outer"][0]
    window = f"{outer['start_ns']}ns/{outer['start_ns'] + 5}ns"
    got = {e["text"] for e in placed(REPORT, "--filter-time", window)}
    tap.ok("outer" in got and "inner" not in got and "tsc" not in got, "--filter-time selects placed events", f"{window}: {got}")


def report_times(report):
    return report.events("--kind", "nvtx_range")


def domains_are_chosen():
    report, _ = traced(LIBTRACE_NVTX_DOMAIN_EXCLUDE="deferred")
    same("an excluded domain has none", (placed(report), report.info().get("deferred")), ([], None))


def a_large_batch():
    where, spool = folder(), spool_folder()
    result = run([app("nvtx_deferred"), "large"], env=traced_env(os.path.join(where, "r.rep"), spool), cwd=where)
    finished, report = wait_spool_gone(spool), Report(os.path.join(where, "r.rep"))
    tap.ok(finished and result.status == 0 and not receipts_agree(report), "a batch of 1 MiB is recorded", result.err.decode())
    room = (1 << 20) // 40  # an event has 40 bytes
    told = report.info()["deferred"]
    missing = {r["reason"]: r["count"] for r in told["not_placed"]}
    same("all that fits is placed, the rest counted", (told["placed"], set(missing), missing.get("bytes or layout not recorded", 0) in (10, 11)), (room, {"bytes or layout not recorded"}, True))
    marks = placed(report)
    same("each event of a batch has its own text and fields", collections.Counter((e["text"], e["payload"]["detail"] % 2) for e in marks),
         {("large: even", 0): (room + 1) // 2, ("large: odd", 1): room // 2})


def another_tools_clock():
    report, said = traced(NVTX_INJECTION64_PATH=app("libnvtx_tool.so"))
    names = {e["text"] for e in placed(report)}
    same("times that another tool gave are placed, too", {"tool", "outer", "batch: a"} - names, set())
    begins = {e["text"]: begin_of(e) for e in placed(report)}
    wanted = [begin for _, message, begin, _ in said if message == "tool"][0]
    tap.ok(abs(begins.get("tool", 0) - wanted) <= WITHIN_NS, "events of another tool's clock are placed by that tool's points", f"{begins.get('tool')} for {wanted}")


if not os.path.exists(app("nvtx_deferred")):
    tap.skip("deferred events", "not built: no headers of NVTX")
    tap.finish()
main(events_have_their_place, statistics_have_them, exports_have_them, filters_know_them, domains_are_chosen, a_large_batch, another_tools_clock)
