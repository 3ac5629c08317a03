#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that the output of commands with --nvtx-include, --nvtx-exclude and --filter-time has the rows that an independent matcher selects."""
import collections
import csv
import io
import os
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TRACE, Report, app, clean_env, folder, main, run, tap  # noqa: E402

EVENTS = ("osrt_call", "nvtx_range", "nvtx_start_end", "nvtx_mark")


def trace(*arguments):
    return subprocess.run([TRACE, *arguments], capture_output=True, text=True, env=clean_env(), timeout=100, check=False)


def record():
    place = folder()
    report = Report(os.path.join(place, "r.rep"))
    result = run([TRACE, "run", "-o", report.path, "--osrt-threshold", "0", "--osrt-backtrace-threshold", "0", "--", app("nvtx_random")], env=clean_env(), cwd=place)
    return report if result.status == 0 else None


# ---- the independent matcher: a stack is a list of texts, outermost first ----

def stack_holds(elements, bottom, top, stack):
    def tail(i, at):
        """Return whether the elements from index i match the stack from index `at`."""
        if i == len(elements):
            return at == len(stack) or not top
        if elements[i] == "*":
            return any(tail(i + 1, k) for k in range(at, len(stack) + 1))
        return at < len(stack) and elements[i] in ("+", stack[at]) and tail(i + 1, at + 1)
    return any(tail(0, at) for at in range(1 if bottom else len(stack)))


class Oracle:
    def __init__(self, rows):
        self.ranges, self.spans = collections.defaultdict(list), collections.defaultdict(list)
        for e in rows:
            if e["kind"] == "nvtx_range":
                self.ranges[e["pid"], e["tid"], e["domain"]].append((e["start_ns"], e["level"], e["start_ns"] + e["duration_ns"], e["text"]))
            elif e["kind"] == "nvtx_start_end":
                self.spans[e["pid"], e["domain"]].append((e["start_ns"], e["start_ns"] + e["duration_ns"], e["text"]))

    def holds(self, expression, e, of_process=False):
        domain, at, ranges = expression.rpartition("@")
        tid = e.get("start_tid", e["tid"])
        now = e["start_ns"]
        bottom, top = ranges.startswith("["), ranges.endswith("]")
        if not (bottom or top or "/" in ranges):
            is_open = {text for start, end, text in self.spans[e["pid"], domain] if start <= now < end or start == now}
            return all(name in is_open for name in ranges.split(","))
        threads = [t for pid, t, d in self.ranges if (pid, d) == (e["pid"], domain)] if of_process else [tid]
        elements = ranges.strip("[]").rstrip("/").split("/")
        stacks = ([text for start, level, end, text in sorted(self.ranges[e["pid"], t, domain]) if start <= now < end or start == now] for t in threads)
        return any(stack_holds(elements, bottom, top, stack) for stack in stacks if stack)


CASES = (
    (["a/"], []), (["[a"], []), (["b]"], []), (["[a]"], []), (["a/b"], []), (["a/+/b"], []), (["a/*/b"], []), (["[a/*/d]"], []), (["D@a/*/b/+/c"], []),
    (["D@[c/d"], []), (["a"], []), (["D@b"], []), (["a,a"], []), (["D@c/", "[b"], []), ([], ["a/"]), ([], ["D@a/", "b]"]), (["a/*/a"], ["D@b/", "c"]),
    (["+/+/+/+"], []), (["[*/b]"], []),
)


def options_of(includes, excludes):
    return [word for name, list_ in (("--nvtx-include", includes), ("--nvtx-exclude", excludes)) for text in list_ for word in (name, text)]


def key(e):
    return (e["kind"], e["tid"], e["start_ns"], e.get("text", e.get("function")))


def against_the_oracle():
    if not os.path.exists(app("nvtx_random")):
        return tap.skip("filters", "not built: no headers of NVTX")
    report = record()
    if not tap.ok(report is not None, "the program is recorded"):
        return None
    rows = [e for e in report.events() if e["kind"] in EVENTS]
    oracle = Oracle(rows)
    tap.ok(len(rows) > 3000 and len({e["tid"] for e in rows}) >= 2, "there is something to choose from", len(rows))
    chosen_somewhere = 0
    for includes, excludes in CASES:
        wanted = sorted(key(e) for e in rows if (not includes or any(oracle.holds(x, e) for x in includes)) and not any(oracle.holds(x, e) for x in excludes))
        got = sorted(key(e) for e in report.events(*options_of(includes, excludes)))
        chosen_somewhere += 0 < len(wanted) < len(rows)
        tap.ok(got == wanted, f"{' '.join(options_of(includes, excludes))}: {len(wanted)} of {len(rows)} events",
               f"too many: {[k for k in got if k not in set(wanted)][:5]}\nmissing: {[k for k in wanted if k not in set(got)][:5]}")
    for includes, excludes in ((["a/*/b"], []), (["[a"], ["D@c/"])):
        options = (*options_of(includes, excludes), "--nvtx-push-pop-scope", "process")
        wanted = sorted(key(e) for e in rows if any(oracle.holds(x, e, True) for x in includes) and not any(oracle.holds(x, e, True) for x in excludes))
        got = sorted(key(e) for e in report.events(*options))
        less = len(report.events(*options_of(includes, [])))  # as many if the threads did not run at the same time
        tap.ok(got == wanted and (excludes or less <= len(got)), f"{' '.join(options)}: {len(wanted)} of {len(rows)} events", f"{len(got)}, of the thread alone {less}")
    tap.ok(chosen_somewhere >= len(CASES) - 3, "nearly every case chooses some and leaves some", chosen_somewhere)
    every_command(report, rows, oracle)
    windows(report, rows)
    return None


def every_command(report, rows, oracle):
    calls = sum(e["kind"] == "osrt_call" and e["function"] == "sched_yield" and oracle.holds("a/", e) for e in rows)
    nvtx = collections.Counter((e["domain"], e["text"]) for e in rows
                               if e["kind"] == "nvtx_range" and "unfinished" not in e["flags"] and oracle.holds("a/", e))
    where = ("--nvtx-include", "a/")
    for name in ("osrt_sum", "osrt_totals"):
        table = list(csv.DictReader(io.StringIO(trace("stats", "-r", name, "-f", "csv", *where, report.path).stdout)))
        column = "Num Calls" if name == "osrt_sum" else "Calls"
        found = {row["Name"]: next(int(v) for k, v in row.items() if k in (column, "Num Calls", "Total Calls", "Count", "Recorded")) for row in table}
        tap.ok(found.get("sched_yield") == calls, f"stats {name}: {calls} calls", f"{found}\n{table[:1]}")
    table = list(csv.DictReader(io.StringIO(trace("stats", "-r", "nvtx_pushpop_sum", "-f", "csv", *where, report.path).stdout)))
    found = {row["Range"]: int(row["Instances"]) for row in table}
    tap.ok(found == {f"{d}:{t}": n for (d, t), n in nvtx.items()}, "stats nvtx_pushpop_sum", f"{found}\n{nvtx}")
    for command in (("dump",), ("stats",), ("export", "-t", "json", "-o", "-")):
        none, some = (trace(*command, "--nvtx-include", what, report.path) for what in ("no such range/", "a/"))
        words = "no event matches the NVTX filter"
        tap.ok(none.returncode == 0 and none.stderr.count(words) == 1 and words not in some.stderr, f"{command[0]}: a range that is not there is reported, once",
               none.stderr + some.stderr)
    output = os.path.join(os.path.dirname(report.path), "x.sqlite")
    result = trace("export", "-t", "sqlite", "-o", output, *where, report.path)
    with sqlite3.connect(output) as database:
        counted = database.execute("SELECT count(*) FROM OSRT_API JOIN StringIds ON StringIds.id = nameId WHERE value = 'sched_yield'").fetchone()[0]
        threads = database.execute("SELECT count(DISTINCT globalTid) FROM ThreadNames").fetchone()[0]
    tap.ok(result.returncode == 0 and counted == calls and threads >= 2, f"export sqlite: {calls} calls; threads keep their names", f"{counted} {threads} {result.stderr}")
    folded = trace("export", "-t", "folded", "-w", "count", "-o", "-", *where, report.path)
    whole = trace("export", "-t", "folded", "-w", "count", "-o", "-", report.path)
    weight = [sum(int(line.rsplit(" ", 1)[1]) for line in text.stdout.splitlines()) for text in (folded, whole)]
    tap.ok(folded.returncode == 0 and 0 < weight[0] < weight[1], "export folded: less than of the whole", weight)


def windows(report, rows):
    middle = sorted(e["start_ns"] for e in rows)[len(rows) // 2]
    wanted = sorted(key(e) for e in rows if e["start_ns"] < middle + 100000 and (e["start_ns"] + e.get("duration_ns", 0) > middle or e["start_ns"] == middle))
    got = sorted(key(e) for e in report.events("--filter-time", f"{middle}/{middle + 100000}") if e["kind"] in EVENTS)
    tap.ok(got == wanted and 0 < len(wanted) < len(rows), f"--filter-time: {len(wanted)} events overlap the window", f"{len(got)} {len(wanted)}")
    both = sorted(key(e) for e in report.events("--filter-time", f"{middle}/{middle + 100000}", "--nvtx-include", "a/") if e["kind"] in EVENTS)
    alone = {key(e) for e in report.events("--nvtx-include", "a/")}
    tap.ok(both == [k for k in wanted if k in alone], "--filter-time and --nvtx-include together: both hold", f"{len(both)} {len(wanted)}")


def wrong_options():
    for options, words in ((("--nvtx-include", "a//b"), "name of a range is missing"), (("--nvtx-exclude", "D@a@b"), "one domain"),
                           (("--nvtx-include", "regex:("), "invalid regular expression"), (("--filter-time", "soon"), "invalid time window"),
                           (("--kind", "foo"), "osrt_call, ")):
        result = trace("dump", *options, "/nonexistent")
        tap.ok(result.returncode == 2 and words in result.stderr and "nonexistent" not in result.stderr, f"dump {' '.join(options)}: refused, and why", result.stderr)
    result = trace("dump", "--nvtx-include", "abc/d*/e", "/nonexistent")
    lines = result.stderr.splitlines()
    tap.ok(len(lines) == 2 and lines[0][lines[1].index("^")] == "*", "the place of the error is pointed at", result.stderr)


if __name__ == "__main__":
    main(against_the_oracle, wrong_options)
