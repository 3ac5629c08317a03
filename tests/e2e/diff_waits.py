#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the metrics of a comparison that tell the machine's part from the program's: waits for a CPU and for events, page faults, bytes of calls. The runs
are generated with fixed seeds; one is recorded.
"""
import math
import os
import sqlite3

import lib
import lib_compare as made
from lib import tap

made.enter_interpreter("waits in comparisons")
from trace_tools import compare, convert, functions, profile, samples, store  # noqa: E402

RUNS = 10
MS = 1_000_000


class Run(made.Run):
    """A run with the kernel's counters of its only thread, and calls that move bytes."""

    def __init__(self, seed, cpu_ms=20.0, delay_ms=1.0, blocked_ms=5.0, faults=1000, written=4096, system=0.2, has_counters=True, steal=None, instructions=None):
        super().__init__(seed)
        self.instructions = instructions and int(instructions * self.chance.lognormvariate(0, 0.0005))
        self.steal = steal  # part of the CPUs' time that the hypervisor took; None = no readings of the machine
        self.faults, self.system, self.has_counters = int(faults * self.chance.lognormvariate(0, 0.005)), system, has_counters
        self.spent, self.delay, self.blocked = (int(ms * MS * self.chance.lognormvariate(0, 0.01)) for ms in (cpu_ms, delay_ms, blocked_ms))
        self.calls = [(2000 + n, 2500 + n, 27, made.GLOBAL_TID, self.id("write"), written, 0) for n in range(50)]
        self.now = self.spent + self.delay + self.blocked + int((steal or 0) * self.spent)

    def write(self, path, of_libtrace=True):
        super().write(path, of_libtrace)
        c = sqlite3.connect(path)
        if self.has_counters:
            c.execute("CREATE TABLE LIBTRACE_THREAD_TIME (timestamp INTEGER, globalTid INTEGER, which INTEGER, cpuTime INTEGER, runDelay INTEGER, voluntary INTEGER, involuntary INTEGER, "
                      "minorFaults INTEGER, majorFaults INTEGER, systemTime INTEGER, instructions INTEGER, cycles INTEGER)")
            more = (0 if self.system is None else samples.SYSTEM_KNOWN) | (0 if self.instructions is None else samples.COUNTERS_KNOWN)
            count = self.instructions or 0
            c.executemany("INSERT INTO LIBTRACE_THREAD_TIME VALUES (?, ?, ?, ?, ?, 0, 0, ?, 0, ?, ?, ?)",
                          [(0, made.GLOBAL_TID, 13 | more, 0, 0, 0, 0, 0, 0),
                           (self.now, made.GLOBAL_TID, 14 | more, self.spent, self.delay, self.faults, int((self.system or 0) * self.spent), count, self.spent)])
        if self.steal is not None:
            c.execute("CREATE TABLE LIBTRACE_MACHINE_TIME (timestamp INTEGER, globalTid INTEGER, busy INTEGER, idle INTEGER, steal INTEGER)")
            busy, before = 1000 * MS, self.chance.randrange(1, 1 << 50)
            c.executemany("INSERT INTO LIBTRACE_MACHINE_TIME VALUES (?, ?, ?, 5, ?)",
                          [(0, made.GLOBAL_TID, 7, before), (self.now, made.GLOBAL_TID, 7 + busy, before + int(self.steal * busy))])
        c.commit()
        c.close()
        return path


def profiles(seed, **more):
    folder, found = lib.folder(), []
    for number in range(RUNS):
        path = Run(1000 * seed + number, **more).write(os.path.join(folder, f"{number}.sqlite"))
        found.append(profile.read(path, path))
        os.unlink(path)
    return found


def compared(base, other):
    """Return the comparison, and {metric: result} of what changed."""
    c = compare.compare(profiles(1, **base), profiles(2, **other), compare.Options())
    return c, {f.metric: f.result for f in c.findings if f.result in ("worse", "better", "changed")}


def the_machines_share_is_told_apart():
    c, changed = compared({}, {"delay_ms": 15})
    tap.ok(c.verdict == compare.OK and changed == {samples.DELAY: "changed"}, "a busier machine is no change of the program: waits for a CPU are named as such", f"{c.reason} {changed}")
    c, changed = compared({"has_counters": False}, {"delay_ms": 15, "has_counters": False})
    tap.ok(c.verdict == compare.WORSE and changed == {compare.TYPICAL: "worse"}, "without the kernel's counters the wall time is compared", f"{c.reason} {changed}")
    c, changed = compared({}, {"cpu_ms": 24, "delay_ms": 15})
    tap.ok(c.verdict == compare.WORSE and changed.get(samples.UNDISTURBED) == "worse" and changed.get(functions.CPU) == "worse",
           "a slower program is worse beside a busier machine", f"{c.reason} {changed}")
    c, changed = compared({}, {"blocked_ms": 10})
    tap.ok(c.verdict == compare.WORSE and changed == {samples.UNDISTURBED: "worse", samples.BLOCKED: "changed"}, "longer waits for events are named", f"{c.reason} {changed}")
    c, changed = compared({}, {"delay_ms": 15, "blocked_ms": 10})
    found = {f.metric: f.cause for f in c.of("worse")}
    tap.ok(found == {samples.UNDISTURBED: "more waiting for a CPU: the machine was busier"}, "a busier machine may be the cause of longer waits for other threads", found)
    c, changed = compared({"has_counters": False}, {})
    tap.ok(c.verdict == compare.OK and not changed, "runs with and without the counters are compared by what both have", f"{c.reason} {changed}")


def time_that_a_hypervisor_takes_is_told_apart():
    c, changed = compared({"steal": 0.02}, {"steal": 0.3})
    tap.ok(c.verdict == compare.OK and changed == {samples.STEAL: "changed"} and not c.findings[0].cause, "time that a hypervisor takes is no change of the program", f"{c.reason} {changed}")
    tap.ok(c.machine == ["the hypervisor took 1.0 % -> 29.0 % of the processor time"], "the verdict says how much it was at least", c.machine)
    c, changed = compared({"steal": 0.06}, {"steal": 0.3, "cpu_ms": 24})
    tap.ok(c.verdict == compare.WORSE and changed.get(samples.UNDISTURBED) == "worse" and changed.get(functions.CPU) == "worse", "a slower program is worse beside it", changed)
    c, changed = compared({}, {"steal": 0.0})
    tap.ok(c.verdict == compare.OK and not changed and not c.machine, "runs without readings of the machine are compared by what both have", f"{c.reason} {changed} {c.machine}")
    c, changed = compared({"steal": 0.0}, {"steal": 0.0})
    tap.ok(all(f.metric != samples.STEAL for f in c.findings), "a machine without a hypervisor has no such metric")


def page_faults_and_bytes_are_compared():
    c, changed = compared({}, {"faults": 1300})
    tap.ok(c.verdict == compare.WORSE and changed == {samples.FAULTS: "worse"}, "more page faults are worse", changed)
    c, changed = compared({}, {"faults": 1050})
    tap.ok(c.verdict == compare.OK and not changed, "a few more are not", changed)
    c, changed = compared({}, {"written": 8192})
    tap.ok(c.verdict == compare.WORSE and changed == {compare.BYTES: "worse"}, "the same number of writes of twice the size is worse", changed)
    old = profiles(1)
    for item in (i for p in old for i in p.items.values()):
        item.bytes = 0
    c = compare.compare(old, profiles(2), compare.Options())
    tap.ok(c.verdict == compare.OK, "nights of older versions, which have no bytes of calls, are no reason for a verdict", c.reason)


def causes_do_not_make_the_test_stricter():
    """Check that metrics which decide nothing leave the corrected p-values of the others as they are."""
    def without_causes(sides):
        for item in (i for side in sides for p in side for i in p.items.values()):
            for metric in (samples.DELAY, samples.BLOCKED, samples.LOADS, samples.STEAL):
                item.more.pop(metric, None)
        return sides

    with_all = compare.compare(profiles(1), profiles(2), compare.Options())
    fewer = compare.compare(*without_causes((profiles(1), profiles(2))), compare.Options())
    causes = [f for f in with_all.findings if f.metric in (samples.DELAY, samples.BLOCKED) and not math.isnan(f.p)]
    p = [{(f.key, f.metric): f.p for f in c.findings if compare.direction(f) != compare.NO_DIRECTION and not math.isnan(f.p)} for c in (with_all, fewer)]
    tap.ok(len(causes) == 2 and p[0] and p[0] == p[1] and with_all.tested == fewer.tested, "what only names causes is tested apart, and does not make the test of the rest stricter",
           (len(causes), p, with_all.tested, fewer.tested))


def user_and_system_time_are_apart():
    c, changed = compared({}, {"system": 0.5})
    tap.ok(c.verdict == compare.WORSE and changed == {samples.SYSTEM: "worse", samples.USER: "better"}, "time in the kernel instead of the program", f"{c.reason} {changed}")
    c, changed = compared({"system": 0.01}, {"system": 0.02})
    tap.ok(c.verdict == compare.OK and not changed, "a small part of the processor time, which the kernel's tick samples, is not compared", changed)
    c, changed = compared({"system": None}, {"system": 0.5})
    tap.ok(c.verdict == compare.OK and not changed, "nor is it with runs of an older version, which have none", changed)


def instructions_are_compared_where_they_are_counted():
    c, changed = compared({"instructions": 50_000_000}, {"instructions": 51_000_000})
    tap.ok(c.verdict == compare.WORSE and changed == {samples.INSTRUCTIONS: "worse"}, "2 % more instructions are worse, where the time cannot show it", f"{c.reason} {changed}")
    c, changed = compared({"instructions": 50_000_000}, {"instructions": 60_000_000, "cpu_ms": 24})
    found = {f.metric: f.cause for f in c.of("worse")}
    tap.ok(found[functions.CPU].startswith("instructions +20"), "they are the cause of a longer processor time", found)
    c, changed = compared({"instructions": 50_000_000}, {"instructions": 50_000_000, "cpu_ms": 24})
    found = {f.metric: f.cause for f in c.of("worse")}
    tap.ok(found.get(functions.CPU) == "the same number of instructions" and samples.INSTRUCTIONS not in changed, "or not", found)
    c, changed = compared({}, {"instructions": 60_000_000})
    tap.ok(c.verdict == compare.OK and not changed, "runs on a machine without counters are compared by what both have", f"{c.reason} {changed}")


def a_store_keeps_the_metrics():
    path = os.path.join(lib.folder(), "nights.sqlite")
    kept = store.Store(path)
    night = kept.night_begin("b", "h", "2026-03-01T00:00:00", None, "/none")
    before = profiles(3)[0]
    kept.run_add(night, 1, None, True, "ok", 0, None, 5, "x", 1, before)
    kept.close()
    again = store.Store(path)
    after = again.profiles(night)[0]
    process = profile.Key("process", "app", "", "app")
    tap.ok(after.items[process].more == before.items[process].more and len(after.items[process].more) == 7, "the store returns what was read", after.items[process].more)
    again.close()


def older_stores_are_extended_and_newer_ones_refused():
    folder = lib.folder()
    path = os.path.join(folder, "old.sqlite")
    store.Store(path).close()

    def change(*statements):
        c = sqlite3.connect(path)
        for statement in statements:
            c.execute(statement)
        c.commit()
        c.close()

    def said(name=path):
        try:
            store.Store(name).close()
        except store.Failure as failure:
            return str(failure)
        return ""

    change("DROP TABLE store", "ALTER TABLE item DROP COLUMN more", "ALTER TABLE item DROP COLUMN cpu_ns", "ALTER TABLE run DROP COLUMN samples")
    kept = store.Store(path)
    tap.ok({"more", "cpu_ns"} <= kept.columns("item") and "samples" in kept.columns("run") and kept.version() == store.VERSION, "a store of the first version is extended")
    kept.close()
    change("UPDATE store SET version = 99")
    tap.ok("old.sqlite" in said() and "schema 99; this one knows up to" in said() and "\n" not in said(), "a newer one is refused by name", said())
    change("DELETE FROM store", "ALTER TABLE night DROP COLUMN verdict")
    tap.ok("no column 'verdict'" in said(), "another table of this name is refused", said())
    other = os.path.join(folder, "other.sqlite")
    c = sqlite3.connect(other)
    c.execute("CREATE TABLE recipes (id INTEGER)")
    c.commit()
    c.close()
    with open(other, "rb") as file:
        before = file.read()
    tap.ok("it is a database of something else" in said(other), "a database of another program is refused", said(other))
    with open(other, "rb") as file:
        tap.ok(file.read() == before, "and not changed")
    text = os.path.join(folder, "text.sqlite")
    with open(text, "w", encoding="ascii") as file:
        file.write("no database, but a text of some length\n" * 100)
    tap.ok("file is not a database" in said(text), "a file that is no database is refused", said(text))


def a_recorded_run_has_them():
    folder = lib.folder()
    report, database = os.path.join(folder, "x.rep"), os.path.join(folder, "x.sqlite")
    result = lib.trace("run", "-t", "osrt", "--osrt-threshold", "0", "--thread-time=process-tree", "-o", report, "--", "/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo x")
    convert.export(report, database)
    if not sqlite3.connect(database).execute("SELECT 1 FROM sqlite_master WHERE name = 'LIBTRACE_THREAD_TIME'").fetchone():
        tap.skip("a recorded run", "the kernel shows no times of threads")
        return
    found = profile.read(database, report)
    item = next(i for k, i in found.items.items() if k.kind == "process")
    tap.ok({samples.DELAY, samples.BLOCKED, samples.FAULTS, samples.UNDISTURBED} <= set(item.more) and 0 < item.more[samples.UNDISTURBED] <= item.total_ns and item.more[samples.FAULTS] > 0,
           "a recorded process has waits and page faults", f"{item} {result.err}")
    tap.ok(sum(i.bytes for k, i in found.items.items() if k.name == "write") == 2, "and the bytes that it wrote", [(k, i) for k, i in found.items.items() if k.kind == "call"])


lib.main(the_machines_share_is_told_apart, time_that_a_hypervisor_takes_is_told_apart, page_faults_and_bytes_are_compared, causes_do_not_make_the_test_stricter, user_and_system_time_are_apart, instructions_are_compared_where_they_are_counted, a_store_keeps_the_metrics, older_stores_are_extended_and_newer_ones_refused, a_recorded_run_has_them)
