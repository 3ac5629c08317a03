#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check callchains of NVTX events: which events have one, and whether it is right, in the output of every command.

tests/apps/nvtx_chains.c prints the functions that create its events; it is not built without the headers of NVTX.
"""
import collections
import csv
import io
import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, app, clean_env, folder, main, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

KINDS = ("nvtx_mark", "nvtx_range", "nvtx_start_end")


class Traced:
    def __init__(self, threshold=None, **options):
        spool = spool_folder()
        self.path = os.path.join(folder(), "r.rep")
        if threshold is not None:
            options["LIBTRACE_NVTX_BACKTRACE_THRESHOLD"] = threshold
        self.result = run([app("nvtx_chains")], env=traced_env(self.path, spool, **options))
        self.said = dict(re.findall(r"^chain (.*): (.*)$", self.result.out.decode(), re.MULTILINE))
        self.said_none = re.findall(r"^no chain (.*)$", self.result.out.decode(), re.MULTILINE)
        finished = wait_spool_gone(spool)
        self.report = Report(self.path)
        self.wrong = self.result.status or not finished or not self.said or receipts_agree(self.report) or self.report.check().status
        self.events = [] if self.wrong else [e for kind in KINDS for e in self.report.events("--kind", kind)]


def traced(name, **options):
    if not os.path.exists(app("nvtx_chains")):
        tap.skip(name, "not built: no headers of NVTX")
        return None
    t = Traced(**options)
    tap.ok(not t.wrong, f"{name}: runs, and its report is sound", t.wrong)
    return None if t.wrong else t


def names(event):
    return [frame["function"] or "?" for frame in event["callchain"] or []]


def mismatch(event, wanted):
    """Return how a chain differs from the wanted names, where * stands for a few frames of any name; None if it does not."""
    pattern = "".join(r"(?:\S+\n){0,4}?" if name == "*" else re.escape(name) + r"\n" for name in wanted.split())
    text = "".join(name + "\n" for name in names(event))
    return None if re.match(pattern, text) and event["callchain_method"] == "rules" else f"{event['text']}: wanted {wanted}, got {names(event)}"


def all_of_them():
    t = traced("threshold 0", threshold=0)
    if not t:
        return
    wrong = [why for e in t.events if e["text"] in t.said for why in [mismatch(e, t.said[e["text"]])] if why]
    found = {e["text"] for e in t.events}
    tap.ok(not wrong and found == set(t.said) | set(t.said_none), "every mark and range that ended has the chain that the program says", wrong[:3] or found)
    open_ones = [(e["text"], e["callchain"], e["flags"]) for e in t.events if e["text"] in t.said_none]
    tap.ok(len(open_ones) == 2 and all(not chain and flags == ["unfinished"] for _, chain, flags in open_ones), "a range that was never ended has no callchain", open_ones)
    database = os.path.join(os.path.dirname(t.path), "r.sqlite")
    made = trace("export", "-t", "sqlite", "-o", database, t.path)
    tap.ok(made.status == 0, "the report is exported to SQLite", made.err)
    with sqlite3.connect(database) as db:
        rows = db.execute("""SELECT e.rowid, coalesce(e.text, t.value), s.value FROM
            (SELECT id, callchainId FROM LIBTRACE_NVTX_MARK UNION ALL SELECT id, callchainId FROM LIBTRACE_NVTX_RANGE
             UNION ALL SELECT id, callchainId FROM LIBTRACE_NVTX_START_END) f
            JOIN NVTX_EVENTS e ON e.rowid = f.id LEFT JOIN StringIds t ON t.id = e.textId
            JOIN OSRT_CALLCHAINS c ON c.id = f.callchainId JOIN StringIds s ON s.id = c.symbol
            ORDER BY e.rowid, c.stackDepth""").fetchall()
    chains = {}
    for event, text, function in rows:
        chains.setdefault((event, text), []).append(function)
    wanted = collections.Counter((e["text"], *(f["function"] or f["address"] for f in e["callchain"])) for e in t.events if e["callchain"])
    found = collections.Counter((text, *functions) for (_, text), functions in chains.items())
    tap.ok(found == wanted and len(wanted) == len(t.said), "the database has the same chains", (found - wanted, wanted - found))


def call_trees():
    t = traced("call trees", threshold=0)
    if not t:
        return
    ended = [e for e in t.events if e["callchain"]]
    folded = trace("export", "-t", "folded", "--source", "nvtx", "--weight", "count", "-o", "-", t.path).out.decode().splitlines()
    found = collections.Counter()
    for line in folded:
        stack, weight = line.rsplit(" ", 1)
        found[tuple(stack.split(";")[2:])] += int(weight)
    wanted = collections.Counter((*reversed([f["function"] or f"{os.path.basename(f['module'])}+{f['offset']:#x}" for f in e["callchain"]]), f":{e['text']}") for e in ended)
    tap.ok(found == wanted, "folded --source nvtx has each event below the functions that ended it", (found - wanted, wanted - found))
    rows = list(csv.DictReader(io.StringIO(trace("stats", "-r", "callchain_flat", "-f", "csv", "--source", "nvtx", t.path).out.decode())))
    by_name = {row["Name"]: row for row in rows}
    quick = [e["duration_ns"] for e in ended if e["text"] == "quick"]
    whole = sum(e.get("duration_ns", 0) for e in ended)
    tap.ok((int(by_name[":quick"]["Self Time (ns)"]), int(by_name[":quick"]["Calls"])) == (sum(quick), 100) and sum(int(r["Self Time (ns)"]) for r in rows) == whole
           and int(by_name["deeper"]["Calls"]) == 1, "callchain_flat --source nvtx adds up their times", rows)
    some = trace("export", "-t", "folded", "-o", "-", t.path).out.decode()
    tap.ok(":quick" not in some, "by default folded stacks have calls and no NVTX events", some)
    chosen = json.loads(trace("stats", "-r", "callchain_tree", "-f", "json", "--source", "nvtx", "--name", "slow", t.path).out)
    tap.ok({row["Name"] for row in chosen if row["Name"].startswith(":")} == {":slow"}, "--name chooses by text", chosen)


def by_threshold():
    limit = 5000000
    t = traced("threshold 5 ms", threshold=limit)
    if not t:
        return
    clear = [e for e in t.events if "unfinished" not in e["flags"] and abs(e.get("duration_ns", 0) - limit) > limit / 50]
    wrong = [e for e in clear if bool(e["callchain"]) != (e.get("duration_ns", 0) > limit)]
    slow = [e for e in clear if e["text"] == "slow"]
    tap.ok(slow and slow[0]["callchain"] and not wrong, "ranges that lasted as long have a chain, shorter ones and marks have none", wrong[:3] or slow)


def without():
    for name, options in (("default", {}), ("none", {"threshold": "none"}), ("depth 0", {"threshold": 0, "LIBTRACE_OSRT_BACKTRACE_DEPTH": 0})):
        t = traced(name, **options)
        if t:
            tap.ok(not any(e["callchain"] for e in t.events), f"{name}: no NVTX event has a chain", t.events[:2])
    t = traced("only NVTX has chains", threshold=0, LIBTRACE_OSRT_BACKTRACE_THRESHOLD="none")
    if t:
        calls = t.report.events("--kind", "osrt_call")
        tap.ok(calls and not any(c["callchain"] for c in calls) and any(e["callchain"] for e in t.events), "each class has its own threshold", calls[:2])


def forked_and_depth():
    t = traced("two frames", threshold=0, LIBTRACE_OSRT_BACKTRACE_DEPTH=2)
    if t:
        wrong = [e for e in t.events if e["callchain"] and (sum(not f["inlined"] for f in e["callchain"]) != 2 or "cut" not in e["callchain_method"])]
        tap.ok(not wrong and any(e["callchain"] for e in t.events), "the depth holds for NVTX, too", wrong[:2])
    if os.path.exists(app("nvtx_fork")):
        spool, path = spool_folder(), os.path.join(folder(), "r.rep")
        result = run([app("nvtx_fork")], env=traced_env(path, spool, LIBTRACE_NVTX_BACKTRACE_THRESHOLD=0))
        wait_spool_gone(spool)
        ranges = Report(path).events("--kind", "nvtx_range")
        tap.ok(result.status == 0 and len(ranges) == 2 and all("main" in names(e) for e in ranges), "a forked child has chains", [names(e) for e in ranges])


def option_of_run():
    if not os.path.exists(app("nvtx_chains")):
        tap.skip("trace run --nvtx-backtrace-threshold", "not built: no headers of NVTX")
        return
    path = os.path.join(folder(), "r.rep")
    for value, status in (("0", 0), ("none", 0), ("NUMBER", 2), ("-1", 2), ("1ms", 2)):
        result = trace("run", "-f", "true", "--nvtx-backtrace-threshold", value, "-o", path, "--", app("nvtx_chains"),
                       env=clean_env(LIBTRACE_SPOOL_DIR=spool_folder()))
        chains = not result.status and any(e["callchain"] for e in Report(path).events("--kind", "nvtx_range"))
        tap.ok((result.status, chains) == (status, value == "0"), f"trace run --nvtx-backtrace-threshold {value}", (result.status, result.err, chains))


main(all_of_them, call_trees, by_threshold, without, forked_and_depth, option_of_run)
