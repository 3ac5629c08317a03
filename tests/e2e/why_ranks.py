#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Check `trace why` on merged reports of MPI programs whose critical path is known: the stages on the path, which rank each was in, and how sure the waits are."""
import csv
import io
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_merge  # noqa: E402
from _paths import STAGE_NS, gapless, path_of  # noqa: E402
from lib import Report, folder, main, tap, trace  # noqa: E402

TRIES = 4  # a rank may begin late
# Mode of mpi_waited.c: stages with their ranks, and how sure it is what ended the waits.
MODES = {
    "message": ([("third", 0), ("second", 1), ("first", 2)], {"MPI_Recv": "exact", "MPI_Wait": "exact"}),
    "collective": ([("third", 1), ("second", 2), ("first", 0)], {"MPI_Barrier": "exact", "MPI_Allreduce": "exact"}),
    "root": ([("third", 0), ("second", 2), ("first", 1)], {"MPI_Bcast": "exact", "MPI_Reduce": "exact"}),
    "other": ([("third", 1), ("second", 0), ("first", 1)], {"MPI_Ssend": "exact", "MPI_Sendrecv": "likely"}),
    "persistent": ([("third", 1), ("first", 0)], {"MPI_Wait": "exact"}),
}


def staged(segments):
    """Return the stages on the path with their ranks, in order."""
    slept = [s for s in segments if s["Cause"] == "usleep" and s["Duration (ns)"] >= STAGE_NS]
    found = [((s["At"] or "?").split(" ")[0], s["Rank"]) for s in slept]
    return [one for n, one in enumerate(found) if not n or found[n - 1] != one]


def known_path(name, launcher, variable, program, mode, expected, sure):
    for _ in range(TRIES):
        place = folder()
        paths = lib_merge.record(launcher, variable, [program, mode], place, sources="mpi,osrt")
        target = os.path.join(place, "all.rep")
        if not paths or lib_merge.merged(paths, target).status:
            tap.ok(False, f"{name}, {mode}: the ranks are recorded and merged")
            return
        segments = path_of(Report(target))
        if staged(segments) == expected:
            break
    tap.ok(segments and not gapless(segments), f"{name}, {mode}: the segments follow each other", gapless(segments))
    tap.ok(segments and not [s for s in segments if s["Cause"].startswith("waking up from MPI_Init")], f"{name}, {mode}: MPI_Init takes its own time", segments)
    tap.ok(staged(segments) == expected, f"{name}, {mode}: the stages on the path are {' '.join(f'{stage} of rank {rank}' for stage, rank in expected)}", segments)
    wakes = {s["Cause"].rpartition(" ")[2]: s["Sure"] for s in segments if s["Cause"].startswith("waking up from MPI")}
    tap.ok({wait: wakes.get(wait) for wait in sure} == sure, f"{name}, {mode}: what ended the waits is as sure as it can be", wakes)
    blamed = list(csv.DictReader(io.StringIO(trace("stats", "-r", "blame_sum", "-f", "csv", target).out.decode())))
    waited = {(r["Wait"], r["Rank"]) for r in blamed if int(r["Total Time (ns)"]) >= STAGE_NS and r["Cause"] == "usleep"}
    tap.ok({wait for wait, _ in waited} >= set(sure) and {rank for _, rank in waited} >= {str(rank) for _, rank in expected[:-1]}, f"{name}, {mode}: blame_sum says which rank each wait was for", blamed)
    if mode == "message":
        alone = path_of(Report(paths[1]))
        found = [s["Sure"] for s in alone if s["Cause"] == "MPI_Recv" and s["Duration (ns)"] >= STAGE_NS]
        tap.ok(found == ["unknown"], f"{name}, {mode}: in the report of one rank, who sent to it is unknown", alone)


def hosts(name, launcher, variable, program):
    """A rank that is late in each round, on hosts whose clocks differ: the path leads through what it did instead."""
    rounds, late, us = 10, 1, 20000
    place = folder()
    paths = lib_merge.record(launcher, variable, [program, str(late), str(rounds), str(us)], place, sources="mpi,osrt")
    target = os.path.join(place, "hosts.rep")
    if not paths or lib_merge.merged(lib_merge.spread(paths, random.Random(5)), target).status:
        tap.ok(False, f"{name}, hosts: the ranks are recorded and merged")
        return
    segments = path_of(Report(target))
    slept = sum(s["Duration (ns)"] for s in segments if s["Cause"] == "usleep" and s["Rank"] == late)
    tap.ok(not gapless(segments) and slept >= 0.95 * 1000 * us * (rounds - 1), f"{name}, hosts: the sleeps of the late rank are on the path", (slept, segments))
    sure = {s["Sure"] for s in segments if s["Cause"].startswith("waking up from MPI_")}
    tap.ok(sure and sure <= {"exact", "likely"}, f"{name}, hosts: what ended the waits is known", sure)


def each():
    for name, launcher, variable, end in lib_merge.launchers():
        program, rounds = lib_merge.program("mpi_waited" + end), lib_merge.program("mpi_rounds" + end)
        if not launcher or not program:
            tap.skip(name, "it is not installed, or what builds its programs is not")
            continue
        for mode, (expected, sure) in MODES.items():
            known_path(name, launcher, variable, program, mode, expected, sure)
        if rounds:
            hosts(name, launcher, variable, rounds)


main(each)
