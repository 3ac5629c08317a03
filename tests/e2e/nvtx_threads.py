#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the events of sixteen threads that push, pop and mark as fast as possible: none is lost, or the report states the loss of each thread.

tests/apps/nvtx_threads.c numbers the events of each thread; it is not built without the headers of NVTX.
"""
import collections
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TORTURE, Report, app, folder, main, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

MARK, RANGE = 34, 59  # NVTX_EVENTS.eventType


class Recorded:
    """A run, read from its database: the numbers of each thread's events in order of time, and its gaps."""

    def __init__(self, rounds, recovered=False, **options):
        self.folder, spool = folder(), spool_folder()
        self.path = os.path.join(self.folder, "r.rep")
        self.rounds = rounds
        result = run([app("nvtx_threads"), str(rounds)], env=traced_env(self.path, spool, LIBTRACE_TRACE="nvtx", **options))
        said = re.search(rb"expect (\d+) (\d+)", result.out)
        self.threads = int(said.group(1)) if said else 0
        if recovered:
            made = trace("recover", *(os.path.join(spool, tree) for tree in os.listdir(spool)), env=dict(os.environ, LIBTRACE_SPOOL_DIR=spool))
            result = result if made.status == 0 else made
        finished = wait_spool_gone(spool)
        self.report = Report(self.path)
        self.wrong = result.status or not finished or not said or receipts_agree(self.report) or self.report.check().status
        self.note = f"status {result.status}, finished {finished}\n{result.out!r}\n{result.err!r}"
        if not self.wrong:
            self.read()

    def read(self):
        database = os.path.join(self.folder, "r.sqlite")
        trace("export", "-t", "sqlite", "-o", database, self.path)
        self.events, self.gaps, self.ended = collections.defaultdict(list), collections.defaultdict(list), set()
        with sqlite3.connect(database) as db:
            for thread, kind, number, start in db.execute("SELECT globalTid, eventType, uint64Value, start FROM NVTX_EVENTS WHERE eventType IN (?, ?) AND uint64Value IS NOT NULL ORDER BY globalTid, uint64Value",
                                                          (MARK, RANGE)):
                self.events[thread].append((number, kind, start))
            tables = {name for name, in db.execute("SELECT name FROM sqlite_master")}
            if "LIBTRACE_GAP" in tables:
                for thread, start, duration, count in db.execute("SELECT globalTid, start, duration, count FROM LIBTRACE_GAP ORDER BY globalTid, start"):
                    self.gaps[thread].append((start, start + duration, count))
            self.ended = {thread for thread, in db.execute("SELECT globalTid FROM LIBTRACE_THREAD_END")}
        os.unlink(database)

    def wrong_events(self):
        """Return the events with impossible numbers, repeated numbers, a wrong kind, or a time before that of the event before."""
        wrong = []
        for thread, events in self.events.items():
            numbers = [number for number, _, _ in events]
            if len(set(numbers)) != len(numbers) or not all(0 <= n < 2 * self.rounds for n in numbers):
                wrong.append((thread, "numbers"))
            if any(kind != (MARK if number % 2 else RANGE) for number, kind, _ in events):
                wrong.append((thread, "kinds"))
            starts = [start for _, _, start in events]
            if starts != sorted(starts):
                wrong.append((thread, "times"))
        return wrong

    def missing(self, thread):
        """Return the runs of missing numbers: (how many, time of the event before, of the event after)."""
        runs, last, before = [], -1, None
        for number, _, start in [*self.events[thread], (2 * self.rounds, None, None)]:
            if number > last + 1:
                runs.append((number - last - 1, before, start))
            last, before = number, start
        return runs

    def unreported(self):
        """Return the threads whose gaps do not match the missing events: each gap must be one run of missing numbers, between its neighbors, in order."""
        wrong = []
        for thread in self.events:
            runs, gaps = self.missing(thread), self.gaps[thread]
            at_end = thread not in self.ended  # the row of the thread's end is missing: it counts as a missing event, too
            counts = [count for count, _, _ in runs]
            if at_end and runs and runs[-1][2] is None:
                counts[-1] += 1
            placed = all((before is None or before <= first) and (behind is None or last <= behind + 1000) for (_, before, behind), (first, last, _) in zip(runs, gaps))
            if counts != [count for _, _, count in gaps] or not placed:
                wrong.append((thread, runs[:3], gaps[:3], at_end))
        return wrong


def recorded(name, *arguments, **options):
    if not os.path.exists(app("nvtx_threads")):
        tap.skip(name, "not built: no headers of NVTX")
        return None
    r = Recorded(*arguments, **options)
    tap.ok(not r.wrong, f"{name}: runs, and its report is sound", (r.wrong, r.note))
    if r.wrong:
        return None
    wrong = r.wrong_events()
    tap.ok(len(r.events) == r.threads == 16 and not wrong, f"{name}: events of 16 threads, each once, of its kind and in order", wrong or len(r.events))
    return r


def in_memory():
    """Check a run whose events all fit into the memory for events: none is lost, however slow the writer is."""
    r = recorded("nvtx_threads", 100000 if TORTURE else 60000)
    if r:
        lost = {thread: r.missing(thread) for thread in r.events if r.missing(thread)}
        tap.ok(not lost and not r.gaps, f"{16 * 2 * r.rounds} events, none lost", list(lost.items())[:2])


def without_writer():
    """Check a run with little memory and no writer to empty it: gaps count the events that did not fit."""
    r = recorded("little memory, no writer", 10000, recovered=True, LIBTRACE_MEMORY=8, LIBTRACE_HELPER="false")
    if r:
        lost = sum(count for thread in r.events for count, _, _ in r.missing(thread))
        tap.ok(lost > 100000 and not r.unreported(), f"{lost} events lost, and each gap says how many and when", r.unreported()[:2])


def with_writer():
    """Check a run with little memory and a writer that may be too slow."""
    r = recorded("little memory", 40000, LIBTRACE_MEMORY=8)
    if r:
        lost = sum(count for thread in r.events for count, _, _ in r.missing(thread))
        tap.ok(not r.unreported(), f"{lost} events lost, and each gap says how many and when", r.unreported()[:2])


main(in_memory, without_writer, with_writer)
