#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check CPU samples: shares of functions, uninterrupted calls, programs that behave as without them, and the receipt of what was not sampled."""
import collections
import csv
import io
import json
import math
import os
import re
import resource
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TORTURE, Report, app, clean_env, folder, main, receipts_agree, run, spool_folder, stolen_ns, tap, trace, traced_env, wait_spool_gone  # noqa: E402

CHANCE = 1e-6  # of a false alarm, in each check of shares
EINTR_CALLS = os.environ.get("EINTR_CALLS") or ("1000000" if TORTURE else "10000")  # by each trigger
NOBODY = 65534
NOT_PERMITTED = "the system does not permit perf_event_open()"


class Sampled:
    """Run a mode of tests/apps/sampled.c with samples."""

    def __init__(self, *mode, hz=1000, program="sampled", under=(), user=None, **options):
        self.folder, self.spool = folder(), spool_folder()
        self.path = os.path.join(self.folder, "r.rep")
        environment = traced_env(self.path, self.spool, LIBTRACE_SAMPLE="process-tree", LIBTRACE_SAMPLING_FREQUENCY=str(hz), **options)
        argv, environment["APP_FACTS"] = [program if os.path.isabs(program) else app(program), *mode], "1"
        if under:  # a program that is not traced itself
            added = [f"{name}={value}" for name, value in environment.items() if os.environ.get(name) != value]
            argv, environment = [*under, "env", *added, *argv], clean_env()
        as_user = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        for path in (self.folder, self.spool) if as_user else ():
            os.chown(path, user, user)
        self.result = run(argv, env=environment, cwd=self.folder, **as_user)
        self.text = self.result.out.decode(errors="replace")
        wait_spool_gone(self.spool)
        self.report = Report(self.path)
        self.info = json.loads(trace("info", "--json", self.path).out or b"{}")

    def processes(self):
        return [{**p, "cpu": (p.get("receipt") or {}).get("cpu") or {}} for p in self.info.get("processes", [])]

    def samples(self):
        lines = trace("dump", "--json", "--kind", "cpu_sample", self.path).out.splitlines()
        rows = [json.loads(line) for line in lines]
        return [{**r, "callchain": json.dumps(r.get("callchain"))} for r in rows]

    def wrong(self):
        if self.result.hung or self.result.status:
            return f"status {self.result.status}\n{self.text}{self.result.err.decode(errors='replace')}"
        return self.text if "FAIL" in self.text else receipts_agree(self.report)


def tail(count, n, share):
    """Return the chance of a count as far from n * share as this one, or farther, on its side; doubled."""
    def log_chance(k):
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(share) + (n - k) * math.log(1 - share)
    side = range(count, n + 1) if count >= n * share else range(count + 1)
    return min(1.0, 2 * sum(math.exp(log_chance(k)) for k in side))


def stats(path, name, *more):
    return list(csv.DictReader(io.StringIO(trace("stats", "-r", name, "-f", "csv", *more, path).out.decode())))


def shares():
    """Compare the shares of the samples with those that the program measured itself."""
    s = Sampled("split", "6000" if TORTURE else "3000", hz=200)
    fact = s.text.split("facts: seventy ")[-1].split()
    if s.wrong() or len(fact) < 3:
        tap.ok(False, "split runs, its report is sound", s.wrong() or s.text)
        return
    took = int(fact[0]), int(fact[2])
    share = took[0] / sum(took)
    rows = s.samples()
    names = ["seventy" if "seventy" in r["callchain"] else "thirty" if "thirty" in r["callchain"] else "" for r in rows]
    n, count = len([x for x in names if x]), names.count("seventy")
    tap.ok(n > 200 and tail(count, n, share) >= CHANCE, f"shares of two functions are true (binomial, {CHANCE:g})", f"{count} of {n}, {share:.4f}")
    tap.ok(tail(count, n, 1 - share) < CHANCE, "and the check would detect exchanged shares", f"{count} of {n}")
    cpu = s.processes()[0]["cpu"]
    tap.ok(cpu["samples"] == len(rows) and cpu["periods"] == sum(r["periods"] for r in rows) and cpu["sampled_ns"] == sum(r["cpu_time_ns"] for r in rows),
           "the receipt counts the samples", cpu)
    # A thread's first period has a random length and counts as a whole one, so that the sum is right on average: it may exceed the time by a
    # period for each thread.
    most = cpu["process_ns"] + cpu["threads"] * 1e9 / 200
    tap.ok(0.97 * cpu["process_ns"] <= cpu["sampled_ns"] <= most, "the samples stand for the processor time", cpu)
    due = cpu["process_ns"] * 200 / 1e9
    tap.ok(abs(cpu["periods"] - due) <= 2 + 0.02 * due, "as many periods as are due", f"{cpu['periods']}, {due:.1f}")
    chains = [r["callchain"] for r in rows]
    whole = [c for c in chains if "_start" in c and "main" in c]
    tap.ok(len(whole) >= 0.99 * len(chains), "callchains are whole", f"{len(whole)} of {len(chains)}")
    leaves(s)
    without_symbols(s)
    ways(s, rows, names)


def leaves(s):
    """Check that text and JSON have the addresses of the interrupted instructions, as the export to SQLite has."""
    base = os.path.join(folder(), "leaves.sqlite")
    trace("export", "-t", "sqlite", "-o", base, s.path)
    query = "SELECT printf('0x%x', originalIP) FROM SAMPLING_CALLCHAINS WHERE originalIP NOT NULL GROUP BY id HAVING min(stackDepth) = stackDepth"
    wanted = collections.Counter(row[0] for row in sqlite3.connect(base).execute(query))
    chains = [json.loads(r["callchain"]) for r in s.samples()]
    have = collections.Counter(c[0]["address"] for c in chains if c)
    lines = trace("dump", "--no-symbols", "--kind", "cpu_sample", s.path).out.decode()
    shown = collections.Counter(re.findall(r'callchain="(0x[0-9a-f]+)', lines))
    tap.ok(wanted and have == wanted == shown, "the innermost address of a sample is that of the interrupted instruction", (wanted - have, have - wanted, shown - wanted))


def without_symbols(s):
    """Check that functions without symbols are one row for each module, since their addresses differ between instructions and processes."""
    base = os.path.join(folder(), "stripped.sqlite")
    trace("export", "-t", "sqlite", "--no-symbols", "-o", base, s.path)
    rows = stats(base, "cpu_by_function")
    modules = [row["Module"] for row in rows]
    tap.ok({row["Name"] for row in rows} == {"[no symbol]"} and len(modules) == len(set(modules)) > 1 and abs(sum(float(row["Self (%)"]) for row in rows) - 100) < 0.5,
           "functions without symbols are one row for each module", rows[:4])


def ways(s, rows, names):
    """Check that all statistics and exports of the samples agree."""
    wanted = sum(r["periods"] for r, name in zip(rows, names) if name == "seventy")
    by = {row["Name"]: row for row in stats(s.path, "cpu_by_function")}
    tap.ok(by and int(by["seventy"]["Total Samples"]) == wanted, "stats -r cpu_by_function", (by.get("seventy"), wanted))
    sums = stats(s.path, "cpu_sum")
    tap.ok(len(sums) == 1 and int(sums[0]["Samples"]) == sum(r["periods"] for r in rows), "stats -r cpu_sum", sums)
    spent = sum(r["cpu_time_ns"] for r, name in zip(rows, names) if name == "seventy")
    folded = trace("export", "-t", "folded", "--source", "cpu", "-o", "-", s.path).out.decode().splitlines()
    tap.ok(sum(int(line.rsplit(" ", 1)[1]) for line in folded if ";seventy" in line) == spent, "export -t folded --source cpu", folded)
    flat = {row["Name"]: row for row in stats(s.path, "callchain_flat", "--source", "cpu")}
    tap.ok(flat and int(flat["seventy"]["Total Time (ns)"]) == spent, "stats -r callchain_flat --source cpu", flat.get("seventy"))
    database = os.path.join(s.folder, "r.sqlite")
    done = trace("export", "-t", "sqlite", "-o", database, s.path)
    if done.status:
        tap.ok(False, "export -t sqlite", done.err.decode())
        return
    db = sqlite3.connect(database)
    got = db.execute("SELECT start, cpu, threadState, cpuCycles FROM COMPOSITE_EVENTS ORDER BY id").fetchall()
    tap.ok(got == [(r["time_ns"], r["cpu"], 1, r["periods"]) for r in rows], "COMPOSITE_EVENTS has the samples", (got[:3], rows[:3]))
    leaves = db.execute("SELECT count(DISTINCT c.id) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol "
                        "JOIN COMPOSITE_EVENTS e ON e.id = c.id WHERE s.value = 'seventy'").fetchone()[0]
    tap.ok(leaves == names.count("seventy"), "SAMPLING_CALLCHAINS has their frames", (leaves, names.count("seventy")))
    again = {row["Name"]: row for row in stats(database, "cpu_by_function")}
    tap.ok(again == by, "the same report of the database")


def notices_nothing():
    """Check that calls, SIGURG, masks and processes behave as without the tracer."""
    modes = (("eintr", EINTR_CALLS), ("signals",), ("urgent",), ("urgent_fd",), ("processes",))
    untraced = [(mode, run([app("sampled"), *mode], env=clean_env())) for mode in modes]
    for trigger in ("timer", "perf"):
        as_untraced(trigger, untraced)


def as_untraced(trigger, untraced):
    for mode, plain in untraced:
        s = Sampled(*mode, hz=1000, LIBTRACE_SAMPLING_TRIGGER=trigger)
        if trigger == "perf" and s.processes()[0]["cpu"].get("off") == NOT_PERMITTED:
            tap.skip(f"{mode[0]} by perf's clock", NOT_PERMITTED)
            continue
        same = plain.out == "\n".join(line for line in s.text.split("\n") if not line.startswith("facts:")).encode()
        tap.ok(same and not s.wrong(), f"{mode[0]} by {trigger}: as without the tracer", s.wrong() or s.text)
        cpus = [p["cpu"] for p in s.processes()]
        if mode[0] == "urgent":
            tap.ok(cpus[0]["samples"] and "SIGURG" in (cpus[0]["off"] or ""), "the receipt says why samples ended", cpus)
        elif mode[0] == "urgent_fd":
            tap.ok("signalfd" in (cpus[0]["off"] or ""), "the receipt names signalfd()", cpus)
        elif mode[0] == "signals":
            tap.ok(cpus[0]["off"] is None and cpus[0]["blocked"] >= 2 and cpus[0]["samples"] and cpus[0]["periods"] > 20, "the receipt says that SIGURG was blocked", cpus)
            left = cpus[0]["process_ns"] - cpus[0]["sampled_ns"]
            tap.ok(left > 90e6, "and the processor time of that is in no sample", cpus)
        elif mode[0] == "processes":
            tap.ok(len(cpus) >= 5 and all(c["samples"] for c in cpus if c.get("process_ns", 0) > 50e6), "forked, executed and spawned processes are sampled", cpus)
        else:
            tap.ok(cpus[0]["samples"] > 100, "there were many samples", cpus)


def by_perf():
    """Check samples by perf's clock at a rate that the kernel's tick cannot reach: shares, and as many samples as periods."""
    s = Sampled("split", "2000", hz=2000, LIBTRACE_SAMPLING_TRIGGER="perf")
    cpu = s.processes()[0]["cpu"]
    if cpu.get("off") == NOT_PERMITTED:
        tap.skip("samples by perf's clock", NOT_PERMITTED)
        return
    fact = s.text.split("facts: seventy ")[-1].split()
    if s.wrong() or len(fact) < 3:
        tap.ok(False, "split by perf's clock runs, its report is sound", s.wrong() or s.text)
        return
    share, due = int(fact[0]) / (int(fact[0]) + int(fact[2])), cpu["process_ns"] * 2000 / 1e9
    chains = [r["callchain"] for r in s.samples()]
    names = ["seventy" if "seventy" in c else "thirty" if "thirty" in c else "" for c in chains]
    n, count = len([x for x in names if x]), names.count("seventy")
    tap.ok(cpu["trigger"] == "perf" and abs(cpu["periods"] - due) <= 3 + 0.02 * due, "perf's clock: as many periods as are due", (cpu, due))
    # A period that ends in kernel mode has no sample: interrupts, page faults.
    tap.ok(n > 0.75 * due, "and nearly each has a sample of its own", (n, due))
    tap.ok(tail(count, n, share) >= CHANCE and tail(count, n, 1 - share) < CHANCE, "with true shares", (count, n, share))
    whole = [c for c in chains if "_start" in c and "main" in c]
    tap.ok(len(whole) >= 0.99 * len(chains), "and whole callchains", (len(whole), len(chains)))
    tap.ok("sampling_trigger=perf" in str(s.info.get("session", {}).get("options")), "the report has the option", s.info.get("session"))


def short_threads():
    """Check that threads shorter than a period have samples. A sample needs a tick of the kernel: 80 threads of 3 ms are some 60 chances if ticks are 4 ms
    apart, and few if a machine without free CPUs starts each thread at a tick. So programs are recorded until there are more than 20, at most five.
    """
    found = []
    while len(found) < 5 and sum(found) <= 20:
        s = Sampled("processes", hz=1000)
        root = s.processes()[0]["pid"]
        found.append(len({r["tid"] for r in s.samples() if r["pid"] == root} - {root}))
    tap.ok(sum(found) > 20, f"short threads are sampled, too, {len(found)} recordings", found)


def in_step():
    """Check a thread in step with the kernel's tick: its time is between named marks, and each caller has its share."""
    s = Sampled("step", "3000" if TORTURE else "1500", hz=97)
    fact = s.text.split("facts: often ")[-1].split()
    cpu = s.processes()[0]["cpu"]
    if s.wrong() or len(fact) < 3:
        tap.ok(False, "step runs, its report is sound", s.wrong() or s.text)
        return
    often, rarely = int(fact[0]), int(fact[2])
    rows = s.samples()
    by = {name: sum(r["cpu_time_ns"] for r in rows if name in r["callchain"]) for name in ("step_often", "step_rarely")}
    tap.ok(sum(by.values()) >= 0.99 * (often + rarely) - 45e6, "99 % of its processor time, but for the last mark, is between named marks", (by, often + rarely, cpu))
    # Each mark stands for the time since the mark before it, up to 41 ms; the thread changes its function every 30 to 120 ms. At a change,
    # a mark assigns a part of that time to the wrong function. The errors are taken as independent, as those of random samples.
    share, got = often / (often + rarely), by["step_often"] / sum(by.values())
    sigma = (len(rows) * share * (1 - share)) ** 0.5 / len(rows)
    tap.ok(abs(got - share) <= 4.9 * sigma, f"each caller has its share (normal, {CHANCE:g})", (got, share, sigma, len(rows)))
    due = cpu["sampled_ns"] * 97 / 1e9  # the time after the last mark is checked above
    tap.ok(cpu["samples"] == len(rows) and abs(cpu["periods"] - due) <= 5 + 0.02 * due, "as many periods as are due", (cpu, due))
    chains = [r for r in rows if "in_step" in str(r.get("flags"))]
    tap.ok(len(chains) == cpu["in_step"] and all("step_" in r["callchain"] for r in chains), "marks at ends of calls are counted, and have the call's chain", (len(chains), cpu))
    database = os.path.join(s.folder, "step.sqlite")
    trace("export", "-t", "sqlite", "-o", database, s.path)
    db = sqlite3.connect(database)
    marked = db.execute("SELECT count(*) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol WHERE c.stackDepth = 0 AND c.specialEntry = 1 "
                        "AND s.value LIKE '[In step%'").fetchone()[0]
    tap.ok(marked == len(chains), "their leaf in SAMPLING_CALLCHAINS says that what ran is not known", (marked, len(chains)))


def not_in_step():
    """Check that a thread that sleeps and computes at random is sampled at ticks: marks at ends of calls would take time from what ran."""
    s = Sampled("naps", "3000" if TORTURE else "1500", hz=97)
    cpu = s.processes()[0]["cpu"]
    tap.ok(not s.wrong() and cpu["in_step"] <= 1 and cpu["samples"] > 50, "random naps: no marks at ends of calls", s.wrong() or cpu)


PYTHON = """import random, threading, time
took = {}
def compute(rounds):
    x = 1.0
    for _ in range(rounds): x = x * 1.0000001 + 0.5
def seventy(rounds): compute(rounds)
def thirty(rounds): compute(rounds)
def main():
    now = time.thread_time()
    end = now + %s
    while now < end:
        unit = random.randrange(500, 5000)
        for function, rounds in ((seventy, 7 * unit), (thirty, 3 * unit)):
            function(rounds)
            before, now = now, time.thread_time()
            took[function.__name__] = took.get(function.__name__, 0) + now - before
thread = threading.Thread(target=main)
thread.start()
thread.join()
print("facts: seventy", took["seventy"], "thirty", took["thirty"])
"""


def python_frames():
    """Check that samples of Python programs have Python's functions where the program runs them."""
    s = Sampled("-c", PYTHON % ("4" if TORTURE else "2"), hz=200, program=sys.executable)
    fact = s.text.split("facts: seventy ")[-1].split()
    if s.wrong() or len(fact) < 3:
        tap.ok(False, "the Python program runs, its report is sound", s.wrong() or s.text)
        return
    share = float(fact[0]) / (float(fact[0]) + float(fact[2]))
    samples = [r for r in s.samples() if json.loads(r["callchain"])]
    rows = [r["callchain"] for r in samples]
    names = ["seventy" if "seventy" in c else "thirty" if "thirty" in c else "" for c in rows if "compute" in c]
    n, count = len([x for x in names if x]), names.count("seventy")
    tap.ok(n > 100 and tail(count, n, share) >= CHANCE, "shares of two Python functions are true", (count, n, share))
    # How much the interpreter computes before and after the thread depends on the machine.
    within = [r for r in samples if '"main (<string>:' in r["callchain"]]
    spent, wanted = sum(r["cpu_time_ns"] for r in within), 1e9 * (float(fact[0]) + float(fact[2]))
    tap.ok(n >= 0.9 * len(within) and 0.9 * wanted <= spent <= 1.1 * wanted, "nine of ten samples of their thread are within them, with their callers", (n, len(within), spent, wanted, rows[:2]))
    by = {row["Name"]: row for row in stats(s.path, "cpu_by_function")}
    self_of = sum(float(row["Self (%)"]) for name, row in by.items() if name.startswith("compute (<string>:"))
    of_leaves = sum(r["periods"] for r in samples if json.loads(r["callchain"])[0]["function"].startswith("compute (<string>:"))
    share = 100 * of_leaves / sum(r["periods"] for r in samples)
    tap.ok(share > 0 and abs(self_of - share) < 0.1 * len(by), "stats -r cpu_by_function names Python's functions", (self_of, share, list(by)[:5]))


def executed_again():
    """Check a process that executes a program again and again: each program's processor time is its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    s = Sampled("exec", program="sample_hard")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = 1e9 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    parts = [p["cpu"].get("process_ns", 0) for p in s.processes()]
    tap.ok(not s.wrong() and len(parts) == 51 and 51 * 3e6 <= sum(parts) <= spent, "the processor time of 51 programs in one process adds up", s.wrong() or (sum(parts), spent))


def few_signals():
    """Check that timers leave the program half of the signals that may be pending."""
    s = Sampled("limit", program="sample_hard")
    cpu = s.processes()[-1]["cpu"]
    tap.ok(not s.wrong() and cpu["threads_refused"] + cpu["threads"] == 41, "a program with few signals left can create its own timer", s.wrong() or cpu)


def refused():
    """Check that there are no samples, but the times of threads, where perf_event_open() and timer_create() are refused."""
    s = Sampled("split", "300", under=[app("refuse"), "perf"], LIBTRACE_SECCOMP="trace", LIBTRACE_CPUCTXSW="process-tree")
    cpu = s.processes()[0]["cpu"]
    tap.ok(not s.wrong() and cpu["samples"] > 30 and cpu["sampled_ns"] >= 0.9 * cpu["process_ns"], "without perf_event_open() the program is sampled", s.wrong() or cpu)
    s = Sampled("split", "300", under=[app("refuse"), "perf"], LIBTRACE_SECCOMP="trace", LIBTRACE_SAMPLING_TRIGGER="perf")
    cpu = s.processes()[0]["cpu"]
    tap.ok(not s.wrong() and cpu["off"] == NOT_PERMITTED and not s.samples(), "but not by perf's clock, and the receipt says why", s.wrong() or cpu)
    stolen = stolen_ns()
    s = Sampled("split", "600", under=[app("refuse"), "all"], LIBTRACE_SECCOMP="trace")
    stolen = stolen_ns() - stolen
    receipt = s.processes()[0].get("receipt") or {}
    cpu, times = receipt.get("cpu") or {}, receipt.get("thread_time") or {}
    tap.ok(not s.wrong() and cpu.get("threads_refused") == 1 and not s.samples(), "timers are refused: no samples, and the receipt says so", s.wrong() or receipt)
    rows = stats(s.path, "thread_time_sum")
    running, life = (sum(int(row[f"{name} (ns)"]) for row in rows) for name in ("Running", "Life"))
    tap.ok(len(rows) == 1 and times.get("threads") == 1 and 600e6 <= running <= life and int(rows[0]["Unknown (ns)"]) <= 0.02 * life + stolen, "the times of threads are known", rows)


def other_users():
    if os.geteuid():
        tap.skip("a process that drops its user", "needs root")
        return
    for mode in ("user", "root"):
        s = Sampled(mode)
        cpu = s.processes()[0]["cpu"]
        tap.ok(not s.wrong() and cpu["sampled_ns"] > 0.9 * cpu["process_ns"], f"a process that changes its {mode} is sampled on", s.wrong() or cpu)


def unprivileged():
    """Check a user without rights: samples of threads and processes, also behind a filter as that of containers, and times of threads where even timers are
    refused. What the samples change of the program's behavior is checked, too."""
    if os.geteuid():
        tap.skip("a user without rights", "all tests run as one")
        return
    try:
        run(["true"], user=NOBODY, group=NOBODY, extra_groups=[])
        reachable = run([app("sampled"), "work", "1"], user=NOBODY, group=NOBODY, extra_groups=[]).status == 0
    except OSError:
        reachable = False
    if not reachable:
        tap.skip("a user without rights", "the build's folder is closed to others")
        return
    for name, mode, under in (("alone", ("split", "300"), ()), ("behind a filter as in containers", ("split", "300"), [app("refuse"), "perf"]), ("with children and threads", ("processes",), ()),
                              ("that blocks SIGURG", ("signals",), ())):
        s = Sampled(*mode, user=NOBODY, under=under, LIBTRACE_SECCOMP="trace")
        cpus = [p["cpu"] for p in s.processes()]
        # Threads of 3 ms have few samples by a timer (short_threads()).
        least = 0 if mode[0] == "processes" else 0.4 if mode[0] == "signals" else 0.8
        sampled = all(c["samples"] and c["sampled_ns"] > least * c["process_ns"] for c in cpus if c.get("process_ns", 0) > 50e6)
        tap.ok(not s.wrong() and cpus[0]["off"] is None and cpus[0]["samples"] and sampled, f"a user without rights {name}: the program is sampled", s.wrong() or cpus)
    stolen = stolen_ns()
    s = Sampled("split", "300", user=NOBODY, under=[app("refuse"), "all"], LIBTRACE_SECCOMP="trace", LIBTRACE_CPUCTXSW="process-tree")
    stolen = stolen_ns() - stolen
    rows = stats(s.path, "thread_time_sum")
    tap.ok(not s.wrong() and not s.samples() and len(rows) == 1 and int(rows[0]["Running (ns)"]) >= 300e6 and int(rows[0]["Unknown (ns)"]) <= 0.02 * int(rows[0]["Life (ns)"]) + stolen,
           "a user without rights whose timers are refused: the times of threads are known", s.wrong() or rows)


def many_threads():
    """Check 10,000 threads one after another, and 1,024 at once, the first one included, which is as many as have lanes: each is counted, and the memory
    for them is bounded."""
    for _ in range(3):  # where the writer is late, a thread finds no lane
        s = Sampled("crowd", program="sample_hard", hz=97)
        process = s.processes()[0]
        cpu, rows = process["cpu"], stats(s.path, "thread_time_sum")
        missing = 11024 - cpu["threads"] - cpu["threads_refused"]
        running = sum(int(row["Running (ns)"]) for row in rows)
        is_told, is_known = 0 <= missing <= process["dropped"], len(rows) == 11024 and 0.7 * cpu["process_ns"] <= running <= 1.01 * cpu["process_ns"]
        if s.wrong() or not is_told or (not missing and is_known):
            break
    tap.ok(not s.wrong() and is_told, "11,024 threads: each was sampled, or counted as not sampled, or has events that the report counts as dropped", s.wrong() or process)
    tap.ok(not missing and is_known, "where all have lanes, the time of each is known, but for its start and end", (len(rows), running, cpu))
    size = os.path.getsize(s.path)
    tap.ok(size < 11024 * 1000, "the report has less than 1,000 bytes a thread", size)


def off():
    s = Sampled("split", "60", LIBTRACE_TRACE="none")
    tap.ok(s.samples() and not s.wrong(), "without other sources", s.wrong())
    s.result = run([app("sampled"), "split", "60"], env=traced_env(os.path.join(s.folder, "off.rep"), s.spool))
    info = json.loads(trace("info", "--json", os.path.join(s.folder, "off.rep")).out)
    tap.ok("cpu" not in info["processes"][0]["receipt"], "no samples unless they are asked for", info["processes"])
    refused = trace("run", "--sample=system-wide", "true")
    tap.ok(refused.status and b"process-tree" in refused.err, "an unknown word is refused", refused.err)


main(shares, by_perf, notices_nothing, many_threads, unprivileged, short_threads, in_step, not_in_step, python_frames, executed_again, few_signals, refused, other_users, off)
