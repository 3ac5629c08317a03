#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# alone: it compares times of threads with their switches
"""Check context switches, recorded by the kernel, on programs that measure their own time, and where the kernel refuses to record them."""
import collections
import csv
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TORTURE, Report, app, clean_env, fixtures, folder, main, receipts_agree, run, spool_folder, stolen_ns, tap, trace, traced_env, wait_spool_gone, wait_until, writer_of  # noqa: E402

MS = "4000" if TORTURE else "1000"
SLACK_NS = 3e6  # what a thread does before the writer has found it, and before and after its own measurement


class Switched:
    """A run of tests/apps/accounted.c in one of its modes, with context switches recorded, but no times of threads."""

    def __init__(self, *mode, under=(), **options):
        self.folder, self.spool = folder(), spool_folder()
        self.path = os.path.join(self.folder, "r.rep")
        environment = {**traced_env(self.path, self.spool, **{"LIBTRACE_CPUCTXSW": "process-tree", **options}), "APP_FACTS": "1"}
        argv = [app("accounted"), *mode]
        if under:  # a program that is not traced itself
            added = [f"{name}={value}" for name, value in environment.items() if os.environ.get(name) != value]
            argv, environment = [*under, "env", *added, *argv], clean_env()
        stolen = stolen_ns()
        self.result = run(argv, env=environment, cwd=self.folder)
        self.stolen = stolen_ns() - stolen
        self.text = self.result.out.decode(errors="replace")
        wait_spool_gone(self.spool)
        self.report = Report(self.path)
        self.info = json.loads(trace("info", "--json", self.path).out or b"{}")
        self.facts = [(name, *map(int, numbers)) for name, *numbers in re.findall(r"facts: (\w+) (\d+) (\d+) (\d+) (\d+)", self.text)]

    def receipt(self):
        return ((self.info.get("processes") or [{}])[0].get("receipt") or {}).get("switches") or {}

    def wrong(self):
        if self.result.hung or self.result.status not in (0, 7):
            return f"status {self.result.status}\n{self.text}{self.result.err.decode(errors='replace')}"
        return self.text if "FAIL" in self.text else receipts_agree(self.report)

    def dump(self, kind):
        return [json.loads(line) for line in trace("dump", "--json", "--kind", kind, self.path).out.splitlines()]

    def rows(self):
        """Return the rows of each thread, in order of time."""
        threads = collections.defaultdict(list)
        for row in self.dump("sched_switch"):
            threads[row["tid"]].append(row)
        return dict(threads)

    def refusal(self, title):
        """Skip a test where this system refuses perf_event_open(), which needs the receipt to say so."""
        off = self.receipt().get("off")
        if off:
            tap.ok(not self.wrong() and not self.rows(), "context switches are refused: the report is sound", self.wrong())
            tap.skip(title, f"not run: {off}")
        return off


def running_ns(rows):
    """Return how long the thread was on a CPU between its switches."""
    return sum(after["time_ns"] - row["time_ns"] for row, after in zip(rows, rows[1:]) if row["is_in"])


def threads():
    s = Switched("threads", MS, LIBTRACE_THREAD_TIME="process-tree")
    if s.refusal("context switches of threads"):
        return
    rows, receipt = s.rows(), s.receipt()
    tap.ok(not s.wrong() and s.report.check().status == 0, "the report is sound", s.wrong())
    tap.ok(receipt["threads"] == len(rows) == 38 - receipt.get("threads_missed", 0) >= 8 and receipt["switches"] == sum(map(len, rows.values())) and not receipt["lost"], "the receipt counts threads and switches", (receipt, len(rows)))
    text = trace("dump", "--kind", "sched_switch", s.path).out.decode()
    words = collections.Counter(re.findall(r'cpu=\d+ thread="(runs|waits|was preempted|ended)(?: \(assumed\))?"\n', text))
    every = [row for each in rows.values() for row in each]
    tap.ok(words["runs"] == sum(row["is_in"] for row in every) and sum(words.values()) == len(every), "dump says in words what each switch was", words)
    said = trace("export", "-t", "perfetto", "-o", os.path.join(s.folder, "s.pftrace"), s.path).err
    tap.ok(b"sched_switch" not in said and b"thread_time" not in said, "switches that the states of perfetto carry are not said to be left out", said)
    tap.ok(all(row["is_in"] == 1 - i % 2 for each in rows.values() for i, row in enumerate(each)), "the rows of a thread alternate between in and out")
    tap.ok(all(a["time_ns"] <= b["time_ns"] for each in rows.values() for a, b in zip(each, each[1:])), "the rows of a thread are in order of time")
    tap.ok(all([row["state"] for row in each] == [0] * (len(each) - 1) + [5] for each in rows.values()), "the last row of a thread is its end",
           [each[-3:] for each in rows.values() if not each or each[-1]["state"] != 5])
    # The writer may find a thread late, if it gets no CPU itself.
    # Between its switches, a thread also has the CPU while a hypervisor or an interrupt takes it; its processor time is without that.
    late = {row["tid"]: rows[row["tid"]][0]["time_ns"] - row["time_ns"] for row in s.dump("thread_start") if row["tid"] in rows}
    bad = [(name, tid, cpu, running_ns(rows[tid]), late.get(tid)) for name, tid, _, cpu, _ in s.facts
           if tid in rows and not -0.01 * cpu - SLACK_NS - late.get(tid, 0) <= running_ns(rows[tid]) - cpu <= 0.01 * cpu + 2 * SLACK_NS + s.stolen]
    missed = [name for name, tid, *_ in s.facts if tid not in rows]
    tap.ok(missed == ["short"] * receipt.get("threads_missed", 0), "only threads that end before the writer has found them have no switches, and the receipt counts them", (missed, receipt))
    tap.ok(len(s.facts) == 37 and not bad, "time on a CPU is the thread's processor time", bad or s.text)
    table = {int(r["TID"]): r for r in stats(s.path, "sched_sum") if r["Switches"]}
    outs = {tid: sum(not row["is_in"] for row in each) for tid, each in rows.items()}
    tap.ok({tid: int(r["Switches"]) for tid, r in table.items()} == outs, "stats -r sched_sum counts the switches", (table, outs))
    # Between two readings of a thread's counters. Whoever reads them may lose its CPU between a counter and its time, and the thread be switched meanwhile.
    bad, readings = [], [row for row in s.dump("thread_time") if row["which"] & 8]
    for tid, each in rows.items():
        counters = [row for row in readings if row["tid"] == tid]
        kernel = sum((counters[-1].get(key, 0) - counters[0].get(key, 0) for key in ("voluntary", "involuntary")))
        inside = sum(not row["is_in"] and counters[0]["time_ns"] <= row["time_ns"] <= counters[-1]["time_ns"] for row in each)
        near = sum(not row["is_in"] and any(abs(row["time_ns"] - counters[i]["time_ns"]) < 20e6 for i in (0, -1)) for row in each)
        bad += [(tid, kernel, inside, near)] if not (inside <= kernel + 2 + near and (late.get(tid, 0) > SLACK_NS or inside >= kernel - 3 - near)) else []
    tap.ok(not bad, "there are as many switches as the kernel counts", bad)
    cpus = {tid: len({row["cpu"] for row in each if row["is_in"]}) for tid, each in rows.items()}
    tap.ok({tid: int(r["CPUs Seen"]) for tid, r in table.items()} == cpus, "stats -r sched_sum counts the CPUs of each thread", (table, cpus))
    tables(s, rows)


def tables(s, rows):
    """Check SCHED_EVENTS, and the statistics of a database that has nothing else of the scheduler."""
    database = os.path.join(s.folder, "r.sqlite")
    trace("export", "-t", "sqlite", "-o", database, s.path)
    with sqlite3.connect(database) as sql:
        got = sql.execute("SELECT globalTid & 0xffffff, isSchedIn, cpu, threadState, threadBlock FROM SCHED_EVENTS ORDER BY globalTid, start, rowid").fetchall()
        labels = dict(sql.execute("SELECT id, label FROM ENUM_SAMPLING_THREAD_STATE"))
        spans = dict(sql.execute(
            "SELECT tid, sum(CASE WHEN isSchedIn THEN following - start END) FROM (SELECT globalTid & 0xffffff AS tid, start, isSchedIn, "
            "lead(start) OVER (PARTITION BY globalTid ORDER BY start, rowid) AS following FROM SCHED_EVENTS) GROUP BY tid").fetchall())
    wanted = [(tid, row["is_in"], row["cpu"], row["state"], None) for tid in sorted(rows) for row in rows[tid]]
    tap.ok(got == wanted and labels[5] == "Terminated", "SCHED_EVENTS has the switches", (len(got), len(wanted)))
    tap.ok(spans == {tid: running_ns(each) for tid, each in rows.items()}, "SCHED_EVENTS gives the times on CPUs")
    older = os.path.join(s.folder, "older.sqlite")
    trace("export", "-t", "sqlite", "--compat", "3.4", "-o", older, s.path)
    with sqlite3.connect(older) as sql:
        names = [row[1] for row in sql.execute("PRAGMA table_info(SCHED_EVENTS)")]
    tap.ok(names == ["start", "cpu", "isSchedIn", "globalTid"], "--compat 3.4: SCHED_EVENTS has the columns of older exports", names)


def stats(path, name):
    return list(csv.DictReader(io.StringIO(trace("stats", "-r", name, "-f", "csv", path).out.decode())))


def alone():
    """Check switches without any other source, and a forked child."""
    s = Switched("processes", MS, LIBTRACE_TRACE="none")
    if s.refusal("context switches alone"):
        return
    rows = s.rows()
    tap.ok(not s.wrong() and len(rows) == 3, "without other sources, with a forked child and an executed program", s.wrong() or list(rows))
    table = {int(r["TID"]): r for r in stats(s.path, "sched_sum")}
    tap.ok(rows and {tid: (int(r["Running (ns)"]), r["Runnable (ns)"]) for tid, r in table.items()} == {tid: (running_ns(each), "") for tid, each in rows.items()},
           "stats -r sched_sum has the time between switches", table)
    lost = {tid: sum(not row["is_in"] and row.get("how", 0) & 1 for row in each) for tid, each in rows.items()}
    tap.ok({tid: (int(r["Voluntary Switches"]) + int(r["Involuntary Switches"]), int(r["Involuntary Switches"])) for tid, r in table.items()} ==
           {tid: (sum(not row["is_in"] for row in each), lost[tid]) for tid, each in rows.items()}, "and how many of them were preemptions", (table, lost))


def killed():
    """Check that switches up to the kill are in the report."""
    s = Switched("killed", "300")
    if s.refusal("switches of a killed program"):
        return
    rows = s.rows()
    last = [each[-1] for each in rows.values()]
    tap.ok(s.result.status == 0 and len(last) == 2 and all(row["state"] == 5 for row in last), "a killed program's switches are recorded up to its end", (s.result.status, last))


def refused():
    """Check that only the switches are missing where perf_event_open() fails with EPERM, and that the receipt says so."""
    s = Switched("alone", "200", under=[app("refuse"), "perf"], LIBTRACE_SECCOMP="trace", LIBTRACE_THREAD_TIME="process-tree")
    receipt = s.receipt()
    tap.ok(not s.wrong() and not s.rows() and "perf_event_open" in (receipt.get("off") or ""), "refused: none are recorded, and the receipt says why", s.wrong() or receipt)
    tap.ok(b"perf_event_open" in trace("info", s.path).out, "so does trace info")
    tap.ok(len(stats(s.path, "thread_time_sum")) == 1, "the times of threads are known")
    plain = Switched("alone", "20", LIBTRACE_CPUCTXSW="none")
    tap.ok(not plain.wrong() and not plain.receipt() and not plain.rows(), "off by option", plain.wrong() or plain.receipt())


def of_gpu():
    """Check that the report says why context switches of the GPU are not in it, if they were asked for."""
    for value, expected in (("true", 1), ("false", 0)):
        path = os.path.join(folder(), "r.rep")
        ran = trace("run", f"--gpuctxsw={value}", "-o", path, "--", "sh", "-c", "true; true & wait")
        said = [d for d in trace("info", path).out.decode().splitlines() if "context switches of the GPU are not recorded" in d]
        tap.ok(ran.status == 0 and len(said) == expected == ran.err.count(b"context switches of the GPU"), f"--gpuctxsw={value}: a diagnostic of the report, once", (said, ran))


def stopped_writer():
    """Stop the writer until the kernel's buffer of a thread is full: what is lost is counted, and the report is not complete."""
    spool, path = spool_folder(), os.path.join(folder(), "r.rep")
    program = ("import sys, threading, time; sys.stdin.readline(); [time.sleep(0.00002) for _ in range(5000)]\n"
               "for _ in range(5): t = threading.Thread(target=time.sleep, args=[0.001]); t.start(); t.join()")
    env = traced_env(path, spool, LIBTRACE_CPUCTXSW="process-tree", LIBTRACE_EXIT_WAIT="10ms")
    with subprocess.Popen([sys.executable, "-c", program], env=env, stdin=subprocess.PIPE, bufsize=0) as process:
        def is_watched():
            writer = writer_of(spool)
            if not writer:
                return False
            with open(f"/proc/{writer}/maps", encoding="utf-8") as maps:
                return "perf_event" in maps.read()
        if not wait_until(is_watched, 20):
            process.kill()
            tap.skip("a stopped writer", "the kernel records no context switches here")
            return
        writer = writer_of(spool)
        os.kill(writer, signal.SIGSTOP)
        process.stdin.write(b"go\n")
        process.wait()
        os.kill(writer, signal.SIGCONT)
    report, gone = Report(path), wait_spool_gone(spool)
    receipt = json.loads(trace("info", "--json", path).out)["processes"][0]["receipt"]
    lost, drops = receipt["switches"]["lost"], {d["reason"]: d["count"] for d in receipt["drops"]}
    tap.ok(gone and process.returncode == 0 and not receipts_agree(report), "a stopped writer: the report is sound", receipts_agree(report))
    tap.ok(receipt["switches"].get("threads_missed") == 5, "threads that end meanwhile are counted as missed, one after another in the same lane", receipt)
    tap.ok(lost > 0 and drops == {"by the kernel": lost}, "lost switches are dropped events", receipt)
    said = trace("info", path).out.decode()
    tap.ok("complete" not in said.replace("incomplete", "") and f"{lost:,}" in said, "the report is not complete", said)


def nsys():
    """Compare the statistics of a database of nsys with sums computed by plain SQL."""
    path = os.path.join(fixtures("nsys"), "nvtx_sampling-2023.3.1.sqlite")
    if not os.path.exists(path):
        tap.skip("a database of nsys with SCHED_EVENTS", "the fixture is missing")
        return
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as sql:
        events = sql.execute("SELECT globalTid, start, isSchedIn, cpu FROM SCHED_EVENTS ORDER BY globalTid, start").fetchall()
    wanted = {}
    for tid in {event[0] for event in events}:
        own = [event for event in events if event[0] == tid]
        wanted[tid & 0xffffff] = (sum(b[1] - a[1] for a, b in zip(own, own[1:]) if a[2]), sum(not event[2] for event in own), len({event[3] for event in own if event[2]}))
    rows = stats(path, "sched_sum")
    got = {int(r["TID"]): (int(r["Running (ns)"]), int(r["Switches"]), int(r["CPUs Seen"])) for r in rows}
    tap.ok(got == wanted and len(got) == 8, "stats -r sched_sum of a database of nsys", (got, wanted))
    tap.ok(all(not r[title] for r in rows for title in ("Runnable (ns)", "Voluntary Switches", "Involuntary Switches", "Minor Faults")), "what nsys does not record is empty", rows[:1])


main(threads, alone, killed, refused, of_gpu, stopped_writer, nsys)
