#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# alone: it compares times of threads with what the machine has left
"""Check the account of every thread's time on programs that measure their own."""
import collections
import csv
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TORTURE, Report, app, clean_env, folder, main, receipts_agree, run, spool_folder, stolen_ns, tap, trace, traced_env, wait_spool_gone  # noqa: E402

PARTS = ("Running", "Runnable", "Blocked", "Stopped", "Unknown")
SLACK_NS = 3e6  # what a thread does, or waits for a CPU, before and after its own measurement
MS = "4000" if TORTURE else "1500"


class Accounted:
    """A mode of tests/apps/accounted.c, run with CPU samples and, thereby, with readings of threads' counters."""

    def __init__(self, *mode, under=(), **options):
        self.folder, self.spool = folder(), spool_folder()
        self.path = os.path.join(self.folder, "r.rep")
        options = {"LIBTRACE_SAMPLE": "process-tree", **options}
        stolen = stolen_ns()
        self.result = run([*under, app("accounted"), *mode], env={**traced_env(self.path, self.spool, **options), "APP_FACTS": "1"}, cwd=self.folder)
        self.stolen = stolen_ns() - stolen
        self.text = self.result.out.decode(errors="replace")
        wait_spool_gone(self.spool)
        self.report = Report(self.path)
        self.info = json.loads(trace("info", "--json", self.path).out or b"{}")

    def receipts(self):
        return [(p.get("receipt") or {}).get("thread_time") for p in self.info.get("processes", [])]

    def wrong(self):
        if self.result.hung or self.result.status not in (0, 7):
            return f"status {self.result.status}\n{self.text}{self.result.err.decode(errors='replace')}"
        return self.text if "FAIL" in self.text else receipts_agree(self.report)

    def facts(self):
        """Return what each thread measured: (name, tid, wall, cpu, delay, slept, read_cpu)."""
        found = re.findall(r"facts: (\w+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)", self.text)
        return [(name, *map(int, numbers)) for name, *numbers in found]

    def rows(self, report="thread_time_sum"):
        text = trace("stats", "-r", report, "-f", "csv", self.path).out.decode()
        return list(csv.DictReader(io.StringIO(text)))

    def late_ns(self, tid):
        """Return by how much the writer's looks at a thread, ten times a second, were farther apart than that: it may get no CPU itself."""
        rows = [json.loads(line) for line in trace("dump", "--json", "--kind", "thread_time", self.path).out.splitlines()]
        mine = [r for r in rows if r["tid"] == tid]
        return max([b["time_ns"] - a["time_ns"] - 100e6 for a, b in zip(mine, mine[1:]) if not a["which"] & 16], default=0)

    def of(self, tid):
        """Return the row of a thread, its times as numbers."""
        rows = [r for r in self.rows() if int(r["TID"]) == tid]
        return {key: int(rows[0][f"{key} (ns)"]) for key in ("Life", *PARTS)} if len(rows) == 1 else {}


def near(got, wanted, life):
    return abs(got - wanted) <= 0.01 * life + SLACK_NS


def compare(run_of, kinds):
    """Compare each thread's row with what the thread measured itself."""
    facts = [f for f in run_of.facts() if f[0] in kinds]
    rows = {tid: run_of.of(tid) for _, tid, *_ in facts}
    bad = {"sum": [], "running": [], "runnable": [], "unknown": []}
    for name, tid, wall, cpu, delay, _, _ in facts:
        row = rows[tid]
        if not row:
            bad["sum"].append((name, tid))
            continue
        note = (name, tid, cpu, delay, row)
        if abs(sum(row[part] for part in PARTS) - row["Life"]) > 0.01 * row["Life"]:
            bad["sum"].append(note)
        if not near(row["Running"], cpu, row["Life"]):
            bad["running"].append(note)
        # The thread may also have waited for a CPU before and after its own measurement.
        # A short thread never waits for anything else, so that time a hypervisor took, which no counter has, is part of it.
        more = row["Life"] - (cpu + delay if name == "short" else wall)
        # Only a thread that lives for 100 ms has a last reading. Until then time off the CPUs is known if there are no waits.
        if name == "short" and row["Blocked"] > 0.001 * row["Life"]:
            continue
        if not -0.01 * row["Life"] - SLACK_NS <= row["Runnable"] - delay <= 0.01 * row["Life"] + SLACK_NS + more:
            bad["runnable"].append(note)
        # The writer looks for stopped processes ten times a second: as in stopped().
        if row["Unknown"] > 0.02 * row["Life"] + run_of.stolen + (220e6 + run_of.late_ns(tid) if name == "stopped" else 0):
            bad["unknown"].append(note)
    tap.ok(facts and not bad["sum"], "the parts add up to the life of each thread, within 1 %", bad["sum"] or run_of.text)
    tap.ok(facts and not bad["running"], "running is the thread's processor time, within 1 %", bad["running"])
    tap.ok(facts and not bad["runnable"], "runnable is the thread's time without a CPU, within 1 %", bad["runnable"])
    tap.ok(facts and not bad["unknown"], "at most 2 % are unknown", bad["unknown"])
    return facts


def threads():
    a = Accounted("threads", MS)
    tap.ok(not a.wrong(), "more threads than CPUs: the report is sound", a.wrong())
    facts = compare(a, ("computes", "sleeps", "mixes", "reads", "locks", "short"))
    tap.ok(len(facts) == 37 and len([f for f in facts if f[0] == "short"]) == 30, "of all threads", len(facts))
    sleeper = next(tid for name, tid, *_ in facts if name == "sleeps")
    slept = next(slept for name, _, _, _, _, slept, _ in facts if name == "sleeps")
    row = a.of(sleeper)
    tap.ok(row and row["Blocked"] + row["Runnable"] >= 0.98 * slept and row["Blocked"] > 0, "a sleeper is blocked, or waits for a CPU", (row, slept))
    waits = a.rows("offcpu_sum")
    tap.ok(all(int(r["Max (ns)"] or 0) <= int(r["Total Time (ns)"]) for r in waits), "no call waited longer than all calls of its function", waits)
    names = {r["Name"]: int(r["Total Time (ns)"]) for r in waits}
    whole = sum(int(r["Life (ns)"]) - int(r["Running (ns)"]) for r in a.rows())
    tap.ok(abs(sum(names.values()) - whole) <= 0.001 * whole and {"nanosleep", "pthread_mutex_lock", "pthread_join"} <= set(names),
           "stats -r offcpu_sum names all the time off the CPUs", (names, whole))
    chains = [r["Callchain"] for r in waits]
    tap.ok(any(chain.split(" < ")[1:2] == ["sleeps"] or " < main" in chain for chain in chains), "callchains have names of functions", chains[:5])
    sched = {int(r["TID"]): r for r in a.rows("sched_sum")}
    tap.ok(sleeper in sched and int(sched[sleeper]["Voluntary Switches"]) >= 20 and int(sched[sleeper]["Minor Faults"]) < 200, "stats -r sched_sum counts switches", sched.get(sleeper))
    receipt = a.receipts()[0]
    tap.ok(receipt and receipt["threads"] == 38 and receipt["readings"] >= 1 and receipt["off"] is None, "the receipt counts threads and readings", receipt)


def folded(a, source):
    """Return the weights of the folded lines by thread, and all frames below threads."""
    weights, frames = collections.Counter(), set()
    for line in trace("export", "-t", "folded", "--source", source, "-o", "-", a.path).out.decode().splitlines():
        path, _, ns = line.rpartition(" ")
        _, thread, *rest = path.split(";")
        weights[int(re.search(r"\((\d+)\)$", thread).group(1))] += int(ns)
        frames.update(rest)
    return weights, frames


def flame_graphs():
    """Check the time of each thread as a flame graph."""
    a = Accounted("threads", MS)
    rows = {int(r["TID"]): r for r in a.rows()}
    wall, frames = folded(a, "wall")
    lives = {tid: int(r["Life (ns)"]) for tid, r in rows.items()}
    tap.ok(set(wall) == set(lives) and all(abs(wall[tid] - life) <= 1000 for tid, life in lives.items()),
           "--source wall: the weights of each thread add up to its life", (wall, lives))
    tap.ok({"nanosleep", "pthread_mutex_lock", "sleeps", "computes", "[runnable, no CPU]"} <= frames, "functions, calls and waits for CPUs", frames)
    off, frames = folded(a, "offcpu")
    waits = {tid: life - int(rows[tid]["Running (ns)"]) for tid, life in lives.items()}
    tap.ok(all(abs(off[tid] - ns) <= 1000 for tid, ns in waits.items()) and set(off) <= set(waits) and "nanosleep" in frames,
           "--source offcpu: all but the time that it ran", (off, waits))
    text = trace("stats", "-r", "callchain_flat", "--source", "wall", "-f", "csv", a.path).out.decode()
    whole = sum(int(r["Self Time (ns)"]) for r in csv.DictReader(io.StringIO(text)))
    tap.ok(abs(whole - sum(lives.values())) <= 1000 * len(lives), "stats --source wall: the same time", (whole, lives))
    page = json.loads(trace("export", "-t", "speedscope", "--source", "wall", "-o", "-", a.path).out or b"{}")
    sampled = sum(sum(p["weights"]) for p in page.get("profiles", ()) if p["type"] == "sampled")
    tap.ok(abs(sampled - sum(lives.values())) <= 1000 * len(lives), "speedscope: the same time", (sampled, lives))
    plain = os.path.join(a.folder, "plain.rep")
    trace("run", "-o", plain, "--", app("accounted"), "raw", "50")
    none = trace("export", "-t", "folded", "--source", "wall", "-o", "-", plain)
    tap.ok(none.status == 2 and not none.out and none.err.decode() == f"trace: '{plain}': nothing to export as folded: record with --thread-time process-tree\n",
           "a report without the account: nothing to export, and the option that records it", none)
    left = trace("export", "-t", "folded", "-o", "-", a.path).err.decode()
    never = re.search("cannot store them: (.*)", left)
    tap.ok(not never and re.search(r"left out: .*\b\d+ cpu_sample \(--source cpu\)", left), "neither events of another source nor details, such as paths of files, are called impossible to store", left)
    usual = trace("stats", a.path).out.decode()
    tap.ok("(offcpu_sum):" in usual, "stats runs offcpu_sum where threads' counters were recorded", usual[-2000:])


def functions_without_names():
    """Check that the frames of a program without symbols have the names that they have in profiles of calls."""
    place = folder()
    program, report = os.path.join(place, "bare"), os.path.join(place, "bare.rep")
    run(["strip", "--strip-all", "-o", program, app("accounted")])
    trace("run", "-o", report, "--thread-time", "process-tree", "--osrt-backtrace-threshold", "0", "--", program, "threads", "50")
    found = {}
    for source in ("osrt", "wall"):
        text = trace("export", "-t", "folded", "--source", source, "-o", "-", report).out.decode()
        found[source] = {frame for line in text.splitlines() for frame in line.rpartition(" ")[0].split(";")[2:]}
    bare = {frame for frame in found["osrt"] if frame.startswith("bare+0x")}
    tap.ok(bare and {frame for frame in found["wall"] if "0x" in frame} <= found["osrt"] and bare & found["wall"], "--source wall names them by module and offset, as osrt does", found)
    chains = trace("stats", "-r", "offcpu_sum", "-f", "csv", report).out.decode()
    tap.ok(re.search(r"\bbare\+0x[0-9a-f]+", chains) and not re.search(r"\b0x[0-9a-f]+ in bare", chains), "so does offcpu_sum", chains)


def processes():
    a = Accounted("processes", MS)
    tap.ok(not a.wrong(), "forked and executed programs: the report is sound", a.wrong())
    facts = [f for f in a.facts() if f[0] == "mixes"]
    rows = [a.of(tid) for _, tid, *_ in facts]
    # The second one computed for 50 ms before its exec, and is the same thread of the kernel.
    before = (0, 50e6)
    tap.ok(len(rows) == 2 and all(r and near(r["Running"], f[3] + extra, r["Life"]) for r, f, extra in zip(rows, facts, before)), "running", (rows, facts))
    tap.ok(all(r and r["Unknown"] <= 0.02 * r["Life"] + a.stolen and abs(sum(r[part] for part in PARTS) - r["Life"]) <= 0.01 * r["Life"] for r in rows), "sum and unknown", rows)
    tap.ok(rows and -0.01 * rows[0]["Life"] <= rows[0]["Runnable"] - facts[0][4] <= 0.01 * rows[0]["Life"] + rows[0]["Life"] - facts[0][2], "runnable", (rows[:1], facts[:1]))


def sums_of_processes():
    """Check the account of processes against that of their threads, and the machine's time."""
    a = Accounted("processes", MS)
    threads, sums = collections.defaultdict(collections.Counter), a.rows("process_time_sum")
    for row in a.rows():
        threads[int(row["PID"])].update({part: int(row[f"{part} (ns)"]) for part in PARTS})
        threads[int(row["PID"])]["threads"] += 1
    got = {int(r["PID"]): {**{part: int(r[f"{part} (ns)"]) for part in PARTS}, "threads": int(r["Threads"])} for r in sums}
    tap.ok(len(got) == 3 and set(got) == set(threads) and all(abs(got[pid][key] - threads[pid][key]) <= 5 for pid in got for key in (*PARTS, "threads")),
           "process_time_sum has the sums of the threads", (got, threads))
    tap.ok(all(abs(sum(int(r[f"{part} (ns)"]) for part in PARTS) - int(r["Threads' Time (ns)"])) <= 10 for r in sums), "which add up", sums)
    machine = [json.loads(line) for line in trace("dump", "--json", "--kind", "machine_time", a.path).out.splitlines()]
    steals = [row.get("steal_ns", 0) for row in machine]
    sched = {r["Name"]: r for r in a.rows("sched_sum") if r["TID"] == "0"}
    stolen = max(steals, default=0) - min(steals, default=0)
    tap.ok(len(machine) >= 4 and all(row["busy_ns"] + row["idle_ns"] > 0 for row in machine), "the machine was read while each process lived", machine)
    tap.ok(sum(int(r["Runnable (ns)"]) for r in sched.values()) == stolen and set(sched) <= {"[steal, all CPUs]"}, "stats -r sched_sum has what a hypervisor took", (sched, stolen))
    of_process = collections.defaultdict(list)
    for row in machine:
        of_process[row["process"] if "process" in row else row["pid"]].append(row.get("steal_ns", 0))
    tap.ok(max((r or {}).get("steal_ns", 0) for r in a.receipts()) == max(max(each) - min(each) for each in of_process.values()), "so has the receipt", (a.receipts(), machine))


def stopped():
    a = Accounted("stopped", MS)
    facts = compare(a, ("stopped",))
    row = a.of(facts[0][1]) if facts else {}
    least, most = map(int, re.search(r"facts: stop (\d+) (\d+)", a.text).groups())
    # The writer looks ten times a second.
    slack = 220e6 + (a.late_ns(facts[0][1]) if facts else 0)
    tap.ok(row and least - slack <= row["Stopped"] <= most + slack and least > slack, "a stopped process is neither blocked nor unknown", (row, least, most, slack))


def looks():
    """Check that the writer's looks name a wait in no recorded call."""
    for options in ({}, {"LIBTRACE_TRACE": "none", "LIBTRACE_SAMPLE": "none", "LIBTRACE_THREAD_TIME": "process-tree"}):
        a = Accounted("raw", MS, **options)
        name, tid, wall, cpu, delay, *_ = a.facts()[0]
        row, looks = a.of(tid), (a.receipts()[0] or {}).get("looks", 0)
        tap.ok(not a.wrong(), "the report is sound", a.wrong())
        tap.ok(row and near(row["Blocked"], wall - cpu - delay, row["Life"] + 100 * a.stolen) and row["Blocked"] > 0.5 * row["Life"] and row["Unknown"] <= 0.02 * row["Life"] + a.stolen,
               f"{name}: a wait in no recorded call is blocked", (row, a.facts(), looks))
        waits = {r["Name"]: int(r["Total Time (ns)"]) for r in a.rows("offcpu_sum")}
        wanted = "[asleep in futex]"
        tap.ok(looks and waits.get(wanted, 0) > 0.5 * (wall - cpu - delay), "and has the name of its system call", (waits, looks))
        tap.ok(not options or waits.get(wanted, 0) > 1.4 * (wall - cpu - delay), "without osrt, also that of pthread_join()", waits)
        tap.ok(looks <= 2 * (wall / 90e6 + 3), "with at most some twenty looks a second", looks)


def descriptors():
    """Check that a child which shares its parent's descriptor table opens nothing in it."""
    if os.uname().machine != "x86_64":
        return tap.skip("children that share descriptors", "clone() has other arguments on this machine")
    spool, path = spool_folder(), os.path.join(folder(), "r.rep")
    result = run([app("shared_fds")], env=traced_env(path, spool, LIBTRACE_THREAD_TIME="process-tree"))
    wait_spool_gone(spool)
    tap.ok(result.status == 0 and b"FAIL" not in result.out, "children that share descriptors: the parent sees none of the tracer's", result.out)
    readings = [(p.get("receipt") or {}).get("thread_time") for p in json.loads(trace("info", "--json", path).out)["processes"]]
    tap.ok(len(readings) == 201 and all(r and r["threads"] == 1 for r in readings), "each of them was read", readings[:3])


def options():
    plain = run([app("accounted"), "threads", "200"], env=clean_env())
    a = Accounted("threads", "200", LIBTRACE_THREAD_TIME="process-tree", LIBTRACE_SAMPLE="none")
    same = plain.out == "\n".join(line for line in a.text.split("\n") if not line.startswith("facts:")).encode()
    tap.ok(same and not a.wrong() and a.receipts()[0] and "cpu" not in a.info["processes"][0]["receipt"], "--thread-time alone", a.wrong() or a.receipts())
    rows = a.rows()
    tap.ok(rows and all(abs(sum(int(r[f"{part} (ns)"]) for part in PARTS) - int(r["Life (ns)"])) <= 0.01 * int(r["Life (ns)"]) for r in rows), "adds up without samples, too", rows)
    tap.ok(rows and all(r["In Calls (ns)"] == "" for r in rows), "the processor time in calls, which samples measure, is empty", rows)
    a = Accounted("threads", "200", LIBTRACE_THREAD_TIME="none")
    tap.ok(a.receipts() == [None] and not a.wrong(), "--thread-time=none", a.receipts())
    told = trace("stats", "-r", "thread_time_sum", a.path)
    tap.ok(b"--thread-time" in told.out + told.err, "stats says what is missing", told.out + told.err)
    text = trace("info", "-v", Accounted("alone", "100").path).out.decode()
    tap.ok(re.search(r"thread times: 1 thread", text), "trace info prints the receipt", text)


def counters():
    """Check that instructions and cycles are counted, or that the receipt says why not; and that nothing is said unless they are asked for."""
    a = Accounted("threads", "200", LIBTRACE_CPU_COUNTERS="process-tree")
    receipt, rows = a.receipts()[0], [json.loads(line) for line in trace("dump", "--json", "--kind", "thread_time", a.path).out.splitlines() ]
    counted = [row for row in rows if int(row["which"]) & 64]
    if receipt.get("counted"):
        tids = {row["tid"] for row in counted if int(row["which"]) & 1}
        ends = [row for row in counted if int(row["which"]) & 2]
        tap.ok(len(tids) == receipt["counted"] and ends and all(int(row["instructions"]) > 1000 and int(row["cycles"]) > 100 for row in ends), "instructions and cycles are counted", counted)
    else:
        tap.ok(re.search("counters|perf_event_open", receipt.get("counters_off") or "") and not counted, "no instructions are counted, and the receipt says why", receipt)
        tap.ok(b"no instructions and cycles: " in trace("info", a.path).out, "so does trace info")
    refused = Accounted("alone", "50", under=[app("refuse"), "perf"], LIBTRACE_SECCOMP="trace", LIBTRACE_CPU_COUNTERS="process-tree")
    tap.ok(not refused.wrong() and any("does not permit perf_event_open" in (r.get("counters_off") or "") for r in refused.receipts()), "where perf_event_open() is refused, the receipt says so", refused.receipts())
    plain = Accounted("alone", "50", LIBTRACE_THREAD_TIME="process-tree")
    tap.ok(not any(r.get("counted") or r.get("counters_off") for r in plain.receipts()), "nothing is said of them by default", plain.receipts())


main(counters, threads, flame_graphs, functions_without_names, processes, sums_of_processes, stopped, looks, descriptors, options)
