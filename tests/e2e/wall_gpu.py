#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check flame graphs of wall time of CUDA programs: the time that a thread waited for the GPU is drawn below the launches of the operations that ran
meanwhile, and all weights of a thread add up to its life.

The share of each operation is computed a second time here, interval by interval. CUDA programs run on the simulated device: this test has not run on a GPU.
"""
import collections
import csv
import io
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

WAITS = re.compile(r"Synchronize|^(?!.*(Async|Graph)).*Memcpy")
CHAINS = "kernel:0,memory:0,sync:0"


class Waited:
    """A program on the simulated device, with samples, and its report as database and as folded flame graph."""

    def __init__(self, program, *arguments, options, **more):
        place, spool = folder(), spool_folder()
        self.path, database = os.path.join(place, "r.rep"), os.path.join(place, "r.sqlite")
        environment = traced_env(self.path, spool, LIBTRACE_SAMPLE="process-tree", LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0, **more)
        self.result = run([device.app(program), *arguments], env=device.env(base=environment, device=options))
        wait_spool_gone(spool)
        trace("export", "-t", "sqlite", "-o", database, self.path)
        self.db = sqlite3.connect(database)
        self.wall, self.off = self.folded("wall"), self.folded("offcpu")
        rows = csv.DictReader(io.StringIO(trace("stats", "-r", "thread_time_sum", "-f", "csv", self.path).out.decode()))
        self.rows = {int(r["TID"]): r for r in rows}

    def folded(self, source):
        """Return [(tid, frames, ns)]."""
        found = []
        for line in trace("export", "-t", "folded", "--source", source, "-o", "-", self.path).out.decode().splitlines():
            path, _, ns = line.rpartition(" ")
            _, thread, *frames = path.split(";")
            found.append((int(re.search(r"\((\d+)\)$", thread).group(1)), frames, int(ns)))
        return found

    def sums(self, leaves):
        found = collections.Counter()
        for tid, _, ns in leaves:
            found[tid] += ns
        return found

    def add_up(self, what):
        lives = {tid: int(r["Life (ns)"]) for tid, r in self.rows.items()}
        rests = {tid: life - int(self.rows[tid]["Running (ns)"]) for tid, life in lives.items()}
        wall, off = self.sums(self.wall), self.sums(self.off)
        tap.ok(lives and set(wall) == set(lives) and all(abs(wall[tid] - ns) <= 1000 for tid, ns in lives.items()), f"{what}: the weights of each thread add up to its life", (wall, lives))
        tap.ok(all(abs(off[tid] - ns) <= 1000 for tid, ns in rests.items()), f"{what}: the off-CPU weights of each thread add up to the time that it did not run", (off, rests))

    def operations(self):
        """Return [(start, end, context, stream, correlation, name)] of the GPU."""
        kernels = self.db.execute('SELECT start, "end", contextId, streamId, correlationId, \'[GPU] \' || s.value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds s ON s.id = shortName')
        copies = self.db.execute('SELECT start, "end", contextId, streamId, correlationId, \'[CUDA memcpy \' || l.label || \']\' FROM CUPTI_ACTIVITY_KIND_MEMCPY '
                                 "JOIN ENUM_CUDA_MEMCPY_OPER l ON l.id = copyKind")
        return [*kernels, *copies]

    def waits(self):
        """Return [(tid, start, end, context, stream)] of the outermost calls that wait; None = for all contexts, for all streams."""
        has = self.db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION'").fetchone()[0]
        syncs = self.db.execute("SELECT correlationId, contextId, CASE syncType WHEN 3 THEN streamId END FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE syncType IN (3, 4)") if has else ()
        scope = {correlation: (context, stream) for correlation, context, stream in syncs}
        scope.update({o[4]: (o[2], o[3]) for o in self.operations() if "memcpy" in o[5]})
        found = []
        for tid, start, end, correlation, name in self.db.execute('SELECT globalTid & 16777215, start, "end", correlationId, s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME '
                                                                  'JOIN StringIds s ON s.id = nameId ORDER BY 1, start, "end" DESC'):
            if WAITS.search(name) and not (found and found[-1][0] == tid and start < found[-1][2]):
                found.append((tid, start, end, *scope.get(correlation, (None, None))))
        return found

    def parts(self):
        """Return {(tid, name): ns} of the operations that ran while threads were blocked in waits, computed interval by interval."""
        found, work = collections.Counter(), self.operations()
        calls = self.db.execute('SELECT globalTid & 16777215, start, "end" FROM OSRT_API WHERE eventClass = 27').fetchall()
        for tid, begin, end, context, stream in self.waits():
            mine = [o for o in work if context in (None, o[2]) and stream in (None, o[3])]
            for start, until in ((start, min(until, end)) for thread, start, until in calls if thread == tid and begin <= start < end):
                times = sorted({start, until, *(t for o in mine for t in o[:2] if start < t < until)})
                for a, b in zip(times, times[1:]):
                    running = [o for o in mine if o[0] <= a and o[1] >= b and o[1] > o[0]]
                    for o in running:
                        found[tid, o[5]] += (b - a) / len(running)
        return found

    def is_as_computed(self, what, function):
        """Compare the weights of GPU operations with the parts: a thread's account scales all calls of a function alike."""
        parts, leaves = self.parts(), collections.Counter()
        for tid, frames, ns in self.off:
            if frames[-1].startswith(("[GPU]", "[CUDA")):
                leaves[tid, frames[-1]] += ns
        raw = dict(self.db.execute('SELECT globalTid & 16777215, sum("end" - start) FROM OSRT_API JOIN StringIds s ON s.id = nameId WHERE s.value = ? GROUP BY 1', (function,)))
        counted = dict(self.db.execute("SELECT globalTid & 16777215, sum(total) FROM LIBTRACE_OSRT_SUMMARY JOIN StringIds s ON s.id = nameId WHERE s.value = ? GROUP BY 1", (function,)))
        blocked = collections.Counter()
        for tid, frames, ns in self.off:
            if frames[-1] == function or (tid, frames[-1]) in leaves:
                blocked[tid] += ns
        wrong = {}
        for (tid, name), ns in parts.items():
            wanted = ns * blocked[tid] / (raw[tid] + counted.get(tid, 0))
            if abs(leaves[tid, name] - wanted) > 2000 + 0.001 * wanted:
                wrong[tid, name] = (leaves[tid, name], wanted)
        tap.ok(parts and not wrong and set(leaves) <= set(parts), f"{what}: each operation has its part of the waits", wrong or (parts, leaves))


def serial():
    """Check a program that launches two kernels and waits in a copy."""
    w = Waited("regressed_launch", "none", "20", options="kernel_ns=3000000", LIBTRACE_CUDA_BACKTRACE=CHAINS)
    tap.ok(w.result.status == 0, "the program runs", w.result)
    w.add_up("kernels")
    w.is_as_computed("kernels", "clock_nanosleep")
    launched = {frames[-1]: frames for _, frames, _ in w.wall if frames[-1].startswith("[GPU]")}
    tap.ok(set(launched) == {"[GPU] scale", "[GPU] solve"} and all("launch" in frames and "cuLaunchKernel" in frames and "cuMemcpyDtoH_v2" not in frames for frames in launched.values()),
           "a kernel is below the callchain of its launch, not of the call that waited", launched)
    doubled = [frames for _, frames, _ in w.wall if len(frames) > 1 and frames[-1] == frames[-2]]
    tap.ok(not doubled, "a call that waits is not drawn below itself", doubled)


def without_chains():
    w = Waited("regressed_launch", "none", "5", options="kernel_ns=3000000")
    w.add_up("no callchains of launches")
    launched = {tuple(frames) for _, frames, _ in w.wall if frames[-1].startswith("[GPU]")}
    tap.ok(launched == {("cuLaunchKernel", "[GPU] scale"), ("cuLaunchKernel", "[GPU] solve")}, "a launch without a callchain has the name of its function", launched)


def streams():
    """Check threads that wait for streams of their own while kernels of other streams run."""
    reason = device.missing("pipeline")
    if reason:
        tap.skip("threads with streams", reason)
        return
    w = Waited("pipeline", "2", "6", options="kernel_ns=4000000")
    tap.ok(w.result.status == 0, "the program of several streams runs", w.result)
    w.add_up("streams")
    w.is_as_computed("streams", "clock_nanosleep")
    tap.ok({stream for *_, stream in w.waits()} - {None}, "waits for streams were among them", w.waits())


def polling():
    """Check that a thread whose driver polls instead of sleeping gets the same kind of graph."""
    w = Waited("regressed_launch", "none", "100", options="kernel_ns=3000000,spin=1", LIBTRACE_CUDA_BACKTRACE=CHAINS, LIBTRACE_SAMPLING_FREQUENCY=250)
    w.add_up("polling")
    polled, work = collections.Counter(), w.operations()
    samples = w.db.execute("SELECT c.globalTid & 16777215, c.start FROM COMPOSITE_EVENTS c").fetchall()
    weights = dict(w.db.execute("SELECT c.start, l.cpuTime FROM COMPOSITE_EVENTS c JOIN LIBTRACE_CPU_SAMPLE l ON l.id = c.id"))
    whole = sum(weights.values())
    for tid, time in samples:
        wait = next((each for each in w.waits() if each[0] == tid and each[1] <= time < each[2]), None)
        running = [o for o in work if wait and o[0] <= time < o[1]]
        for o in running:
            polled[o[5]] += weights[time] / len(running)
    ran = sum(int(r["Running (ns)"]) for tid, r in w.rows.items() if any(tid == t for t, _ in samples))
    leaves = collections.Counter()
    for _, frames, ns in w.wall:
        if frames[-1].startswith(("[GPU]", "[CUDA")):
            leaves[frames[-1]] += ns
    off = sum(ns for _, frames, ns in w.off if frames[-1].startswith("[GPU]"))
    wrong = {name: (leaves[name], ns * ran / whole) for name, ns in polled.items() if abs(leaves[name] - ns * ran / whole) > 2000 + 0.01 * ns + off}
    tap.ok(polled and not wrong, "samples of a thread that polls belong to the kernels that ran", (wrong, polled, leaves))


REASON = device.missing("regressed_launch")
if REASON:
    tap.skip("wall time of CUDA programs", REASON)
    tap.finish()
else:
    main(serial, without_chains, streams, polling)
