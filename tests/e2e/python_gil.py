#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
"""Waits for Python's GIL: those of programs that know when they wait, in each interpreter that is installed, and those of programs that lie.

tests/apps/python_gil.py waits for the GIL; tests/apps/python_lies.c says that it is CPython. PYTHONS=PATH:PATH names more interpreters.
"""
import collections
import csv
import io
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import SRC, Report, app, folder, main, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from python_chains import Traced, interpreters, is_known, minor_of  # noqa: E402

PROGRAM = os.path.join(SRC, "tests/apps/python_gil.py")
ROUNDS = 20


def line_of(mark):
    """Return the number of the program's line that ends with a comment."""
    with open(PROGRAM, encoding="utf-8") as source:
        return next(n for n, line in enumerate(source, 1) if line.rstrip().endswith("# " + mark))


HELD, WAITED = line_of("the holder's line"), line_of("the waiter's line")


class Waits:
    """A traced run of the program, its log, and its waits for the GIL."""

    def __init__(self, python, mode, rounds=ROUNDS, **options):
        self.log = os.path.join(folder(), "log")
        self.traced = Traced(python, [PROGRAM, self.log, str(rounds), mode], **options)
        self.wrong, self.told, self.waits = self.traced.wrong(), {}, []
        if not self.wrong:
            self.told = self.read(self.log)
            self.waits = self.traced.report.events("--kind", "gil_wait")

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def at_line(self, pair, pid=None):
        """Return the waits of the pair's waiter where it waits for the GIL after its read."""
        mark = f"python_gil.py:{WAITED})"
        return [w for w in self.waits if w["tid"] == pair["waiter"] and pid in (None, w["pid"]) and w["callchain"] and
                any(str(f["function"]).endswith(mark) for f in w["callchain"])]

    def pairs(self):
        """Return (pair, pid) of each pair of threads; pid: that of a child."""
        child = self.read(self.log + ".child") if os.path.exists(self.log + ".child") else {}
        return [(pair, None) for name, pair in self.told.items() if name in ("before", "pair")] + ([(child["pair"], child["pid"])] if child else [])

    def is_calm(self):
        """Return whether the machine let the holders see nearly every wait. A thread that gets no CPU for 5 ms loses the GIL before that, or at another line."""
        return all(pair["seen"] >= ROUNDS - 4 and len(self.at_line(pair, pid)) <= ROUNDS + 2 for pair, pid in self.pairs())

    def pair_is_wrong(self, pair, pid=None):
        """Return what is wrong with the waits of a pair of threads, or None: each wait that the holder has seen is there, and no other thread than the
        holder holds the GIL but, in a few waits, the main one, which may get it just before the waiter does.
        """
        waits = self.at_line(pair, pid)
        holders = collections.Counter(w["holder_tid"] for w in waits)
        by_others = collections.Counter(w["holder_tid"] for w in waits if w["holder_tid"] not in (pair["holder"], w["pid"]))
        return None if pair["seen"] <= len(waits) and holders[pair["holder"]] >= pair["seen"] - 4 and not by_others else (pair, holders)


RECORDINGS = 5


def recorded_calmly(title, python, mode):
    """Record the program until its threads were not disturbed. Return the last run, and what is wrong with one; skip the test `title` if all were disturbed."""
    for _ in range(RECORDINGS):
        waited = Waits(python, mode)
        wrong = waited.wrong or waited.traced.diagnostics or next(filter(None, (waited.pair_is_wrong(*pair) for pair in waited.pairs())), None)
        if wrong or waited.is_calm():
            tap.ok(not wrong, title, wrong)
            return waited, wrong
    seen = [(pair["seen"], len(waited.at_line(pair, pid))) for pair, pid in waited.pairs()]
    tap.skip(title, f"the threads lost the GIL early in {RECORDINGS} recordings: at last {seen} waits of {ROUNDS}")
    return waited, None


def known():
    return {v: p for v, p in interpreters().items() if is_known(v)}


def calls_of_waits(waited):
    """Return what is wrong with the calls of waits: each call at the condition variable of the GIL is in one wait of its thread."""
    calls = [c for c in waited.traced.report.events("--kind", "osrt_call") if c["function"] in ("pthread_cond_timedwait", "pthread_cond_clockwait")]
    counts = collections.Counter(c["object"] for c in calls)
    if not counts:
        return "no calls"
    gil = counts.most_common(1)[0][0]
    spans = collections.defaultdict(list)
    for w in waited.waits:
        spans[w["tid"]].append((w["start_ns"], w["start_ns"] + w["duration_ns"]))
    for tid, own in spans.items():
        own.sort()
        if any(a[1] > b[0] for a, b in zip(own, own[1:])):
            return f"waits of thread {tid} overlap: {own}"
    for c in calls:
        inside = [s for s in spans[c["tid"]] if s[0] <= c["start_ns"] + 2 and c["start_ns"] + c["duration_ns"] <= s[1] + 2]
        if (len(inside) == 1) != (c["object"] == gil):
            return f"{c} is in {len(inside)} waits"
    parts = sum(c["duration_ns"] for c in calls if c["object"] == gil)
    whole = sum(w["duration_ns"] for w in waited.waits)
    return None if parts <= whole + 2 * len(calls) else f"{parts} ns of calls in {whole} ns of waits"


def truth():
    """Compare the waits with those that the program has seen."""
    for version, python in interpreters().items():
        if not is_known(version):
            continue
        if version.split()[-1] == "3.6":
            waited = Waits(python, "pair")
            tap.ok(not waited.wrong and not waited.waits, f"{version}: the GIL is not known", waited.wrong or waited.waits)
            continue
        waited, _ = recorded_calmly(f"{version}: {ROUNDS} waits, and who held the GIL", python, "pair")
        tap.ok(not waited.wrong and not calls_of_waits(waited), f"{version}: each call of a wait is in one wait", waited.wrong or calls_of_waits(waited))
        waited, _ = recorded_calmly(f"{version}: a forked child, and its parent", python, "fork")
        tap.ok(waited.wrong or len(waited.pairs()) == 3, f"{version}: of the parent, before and after, and of the child", waited.told)
        waited = Waits(python, "ends")
        wrong = waited.wrong or waited.traced.diagnostics
        for pair in waited.told.get("pairs", []):
            wrong = wrong or (None if len(waited.at_line(pair)) >= 1 else pair)
        tap.ok(not wrong and len(waited.told["pairs"]) == ROUNDS, f"{version}: threads that end", wrong)
        waited = Waits(python, "conditions")
        timed = [] if waited.wrong else [c for c in waited.traced.report.events("--kind", "osrt_call") if c["function"] == "pthread_cond_timedwait"]
        tap.ok(not waited.wrong and not waited.waits and len(timed) >= 6, f"{version}: a program's own condition variables are not the GIL",
               waited.wrong or (waited.waits, len(timed)))


def own_locks():
    """Check that a wait for the lock of a sub-interpreter (3.12 and later) is one for that lock, which a thread of that interpreter has."""
    for version, python in known().items():
        if minor_of(version) < 12:
            continue
        log = os.path.join(folder(), "log")
        traced = Traced(python, [os.path.join(SRC, "tests/apps/python_own_gil.py"), log])
        wrong = traced.wrong() or traced.diagnostics
        if not wrong:
            told = Waits.read(log)
            waits = traced.report.events("--kind", "gil_wait")
            own = [w for w in waits if w["interpreter"]]
            others = [w for w in own if w["interpreter"] != told["interpreter"] or w["tid"] not in told["sub"] or w["holder_tid"] not in told["sub"] + [0]]
            mixed = [w for w in waits if not w["interpreter"] and w["tid"] in told["main"] and w["holder_tid"] not in told["main"] + [0]]
            wrong = None if len(own) >= 3 and len(waits) - len(own) >= 3 and not others and not mixed else (told, len(own), len(waits), others[:3], mixed[:3])
        tap.ok(not wrong, f"{version}: waits for the lock of a sub-interpreter", wrong)


def table(*arguments):
    result = trace("stats", "-r", "python_gil_sum", "-f", "csv", *arguments)
    lines = result.out.decode().split("\n")
    first = next((i for i, line in enumerate(lines) if line.startswith("Time (%)")), None)
    return [] if first is None else list(csv.DictReader(io.StringIO("\n".join(lines[first:]))))


def views():
    """Check that statistics, rules, database and comparison have the waits."""
    version = sorted(known())[-1]
    waited, wrong = recorded_calmly("views: a recording", known()[version], "pair")
    if wrong:
        return
    path, pair = waited.traced.path, waited.told.get("pair")
    rows = table(path)
    mine = [r for r in rows if int(r["TID"]) == pair["waiter"] and r["Holder TID"] == str(pair["holder"]) and r["Holder At"] == f"python_gil.py:{HELD}"]
    of_holder = sum(int(r["Num Waits"]) for r in rows if int(r["TID"]) == pair["waiter"] and r["Holder TID"] == str(pair["holder"]))
    tap.ok(of_holder >= pair["seen"], "python_gil_sum: the holder's waits", (pair, rows))
    if waited.is_calm():
        tap.ok(len(mine) == 1 and int(mine[0]["Num Waits"]) >= ROUNDS - 4 and mine[0] == rows[0], "and its line", rows)
    else:
        tap.skip("and its line", "the threads lost the GIL early")
    tap.ok(sum(int(r["Num Waits"]) for r in rows) == len(waited.waits) and sum(int(r["Total Time (ns)"]) for r in rows) == sum(w["duration_ns"] for w in waited.waits),
           "and all waits", rows)
    rule = json.loads(trace("analyze", "-r", "gil", "-f", "json", path).out)[0]
    tap.ok(rule["rows"] and rule["rows"][0]["Holder At"] == f"python_gil.py:{HELD}" and rule["rows"][0]["Waiter At"] == f"python_gil.py:{WAITED}",
           "trace analyze: threads that the GIL serializes", rule)
    quiet = Waits(known()[version], "conditions")
    rule = json.loads(trace("analyze", "-r", "gil", "-f", "json", quiet.traced.path).out)[0]
    tap.ok(not rule["rows"], "and nothing in a program without such threads", rule)
    database = os.path.join(waited.traced.folder, "r.sqlite")
    made = trace("export", "-t", "sqlite", "-o", database, path)
    with sqlite3.connect(database) as connection:
        count = connection.execute("SELECT count(*), sum(duration) FROM LIBTRACE_GIL_WAIT").fetchone()
        calls = connection.execute("SELECT count(*) FROM OSRT_API").fetchone()[0]
    tap.ok(made.status == 0 and count == (len(waited.waits), sum(w["duration_ns"] for w in waited.waits)), "the database has the waits", (made.err, count))
    tap.ok(calls == len(waited.traced.report.events("--kind", "osrt_call")), "and no more calls than were made", calls)
    off = Waits(known()[version], "pair", LIBTRACE_PYTHON_BACKTRACE="off")
    tap.ok(not off.wrong and not off.waits, "--python-backtrace off: no waits", off.wrong or off.waits)
    tap.ok(b"No " in trace("stats", "-r", "python_gil_sum", off.traced.path).out or not table(off.traced.path), "and no rows")


def comparison():
    """Check that `trace diff` compares the time lost to the GIL: medians of two runs a side are the mean of what the reports have."""
    version = sorted(known())[-1]
    sides = [[Waits(known()[version], "pair", rounds) for _ in range(2)] for rounds in (3, 9)]
    made = trace("diff", "-f", "json", "--force", *(each.traced.path for each in sides[0]), "--", *(each.traced.path for each in sides[1]), limit=300)
    if made.status == 2 and b"numpy" in made.err:
        tap.skip("trace diff", made.err.decode())
        return
    found = {f["metric"]: (f["base"], f["other"]) for f in json.loads(made.out)["findings"] if f["kind"] == "gil"}
    wanted = {"count": tuple(sum(len(each.waits) for each in side) / 2 for side in sides),
              "total (ns)": tuple(sum(w["duration_ns"] for each in side for w in each.waits) / 2 for side in sides)}
    tap.ok(all(found.get(metric) == values for metric, values in wanted.items()) and min(wanted["count"]) >= 2, "trace diff: waits for the GIL, and their time", (found, wanted))


class Lies:
    def __init__(self, *arguments, **options):
        self.path, spool = os.path.join(folder(), "r.rep"), spool_folder()
        self.result = run([app("python_lies"), *arguments], env=traced_env(self.path, spool, **dict({"threshold": 0}, **options)))
        finished = wait_spool_gone(spool)
        self.report = Report(self.path)
        self.wrong = None if finished and self.result.status == 0 else f"status {self.result.status}: {self.result.err!r}"
        if not self.wrong:
            self.wrong = receipts_agree(self.report)
        self.holders = [w["holder_tid"] for w in self.report.events("--kind", "gil_wait")]
        self.off = [d["text"] for d in self.report.info()["diagnostics"] if "GIL are not recognized" in d["text"]]


def lies():
    """Give the tracer memory that is a GIL, or nearly one."""
    wanted = {"true": ([4242] * 2, 0), "freed": ([0] * 2, 0), "interval": ([], 1), "thread": ([], 1), "mutex": ([], 1), "edge": ([], 1), "changes": ([4242], 1)}
    for mode, (holders, off) in wanted.items():
        lie = Lies(mode)
        tap.ok(not lie.wrong and lie.holders == holders and len(lie.off) == off, f"a GIL that is '{mode}'", lie.wrong or (lie.holders, lie.off))
    lie = Lies("parts", threshold=1_000_000)
    lengths = [w["duration_ns"] // 1_000_000 for w in lie.report.events("--kind", "gil_wait")]
    tap.ok(not lie.wrong and len(lengths) == 4 and lengths[1] >= 12 and lengths[2] >= 5, "calls that time out are one wait", lie.wrong or lengths)
    for seed in range(10):
        lie = Lies("random", str(seed))
        tap.ok(not lie.wrong, f"a random GIL, seed {seed}", lie.wrong)


if __name__ == "__main__":
    if os.uname().machine != "x86_64" or os.environ.get("SAN"):
        tap.skip("waits for the GIL", "another machine, or a library with sanitizers, which Python cannot load")
        tap.finish()
    main(truth, own_locks, views, comparison, lies)
