#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trace programs under real MPI launchers: each rank has a report, named by the launcher's variable of the rank.

With and without the tracer, the launcher returns one of STATUSES, even if a rank aborts or is killed. If all ranks end
normally, its output is the same, too.
"""
import collections
import os
import re
import shutil
import sqlite3

import lib
import lib_compare
from lib import TRACE, Report, app, clean_env, folder, run, tap

RANKS = 3
Launcher = collections.namedtuple("Launcher", "name command library variable environment")
# HOW of mpi_ranks: exit statuses that a launcher may return. Hydra returns that of a rank, also of one that it killed.
STATUSES = {"plain": {0}, "abort": {7}, "exit": {5, 9}, "kill": {9, 137}}


def launchers():
    """Return a Launcher each for Open MPI and MPICH; command is None if it is not installed.

    Debian's names are tried, because Debian can have both installed.
    """
    def first(*names):
        return next((found for name in names if (found := shutil.which(name))), None)

    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    open_mpi = first("mpirun.openmpi", "orterun")
    return [Launcher("Open MPI", open_mpi and [open_mpi, "--oversubscribe", "-n", str(RANKS)], "libmpi.so.40", "OMPI_COMM_WORLD_RANK", root),
            Launcher("MPICH", (hydra := first("mpiexec.hydra")) and [hydra, "-n", str(RANKS)], "libmpich.so.12", "PMI_RANK", {})]


def launch(launcher, program, place, **env):
    return run([*launcher.command, *program], cwd=place, env=clean_env(HOME=place, **launcher.environment, **env))


def ranks_said(result):
    return sorted(re.findall(rb"rank \d of \d: \d+", result.out))


def is_whole(path):
    return Report(path).check().status == 0


def each_rank_has_a_report(launcher):
    for how, allowed in STATUSES.items():
        place = folder()
        program = [app("mpi_ranks"), launcher.library, how]
        plain = launch(launcher, program, place)
        traced = launch(launcher, [TRACE, "run", "-o", "rank-%q{" + launcher.variable + "}", "--", *program], place)
        names = [f"rank-{rank}.rep" for rank in range(RANKS)]
        tap.ok(plain.status in allowed and traced.status in allowed and not traced.hung, f"{launcher.name}, {how}: the launcher's status", f"{plain.status} {traced.status} {traced.err}")
        if how == "plain":  # otherwise the output of other ranks may be lost with them
            tap.ok(ranks_said(plain) == ranks_said(traced) and len(ranks_said(plain)) == RANKS, "the launcher's output is as without the tracer", f"{plain.out} {traced.out}")
        # a launcher that kills the ranks does not wait for the writers
        complete = lib.wait_until(lambda where=place, wanted=names: sorted(n for n in os.listdir(where) if n.endswith(".rep")) == wanted and all(is_whole(f"{where}/{n}") for n in wanted))
        tap.ok(complete, "each rank has a whole report", os.listdir(place))
        if how == "kill" and complete:
            ends = [Report(f"{place}/{name}").processes()[0]["end"] for name in names]
            tap.ok(ends[1] == "killed", "the report says how the rank ended", ends)


def all_ranks_have_one_report(launcher):
    place = folder()
    program = [app("mpi_ranks"), launcher.library, "status"]
    result = run([TRACE, "run", "-o", "all", "--", *launcher.command, *program], cwd=place, env=clean_env(HOME=place, **launcher.environment))
    ours = [p for p in Report(f"{place}/all.rep").processes() if lib.program_of(p) == "mpi_ranks"]
    tap.ok(result.status == 3 and len(ours) == RANKS and is_whole(f"{place}/all.rep"), f"{launcher.name}: the tracer around the launcher: one report of all", f"{result} {len(ours)}")
    if launcher.name == "MPICH":
        options = ["-genv", "LD_PRELOAD", lib.LIBRARY, "-genv", "LIBTRACE_OUTPUT", "pre-%q{PMI_RANK}"]
    else:
        options = ["-x", f"LD_PRELOAD={lib.LIBRARY}", "-x", "LIBTRACE_OUTPUT=pre-%q{OMPI_COMM_WORLD_RANK}"]
    result = run([*launcher.command, *options, *program], cwd=place, env=clean_env(HOME=place, **launcher.environment))
    names = [f"pre-{rank}.rep" for rank in range(RANKS)]
    complete = lib.wait_until(lambda: all(os.path.exists(f"{place}/{n}") and is_whole(f"{place}/{n}") for n in names))
    tap.ok(result.status == 3 and complete, f"{launcher.name}: the preload alone, given by the launcher: one for each rank", f"{result} {os.listdir(place)}")


def nights_choose_ranks(launcher):
    python = lib_compare.interpreter()
    if not python:
        tap.skip(f"{launcher.name}: trace nightly", "no python3 with numpy and scipy (scripts/setup --python)")
        return
    place = folder()
    for how, status in (("plain", {2}), ("abort", {7})):
        result = run([TRACE, "nightly", "run", "--name", how, "--folder", place, "--host", "h", "--runs=1", "--ranks=0,2", "--", *launcher.command, "{trace}",
                      app("mpi_ranks"), launcher.library, how], cwd=place, env=clean_env(HOME=place, LIBTRACE_PYTHON=python, **launcher.environment))
        night = next(os.path.join(base) for base, _, files in os.walk(os.path.join(place, how)) if "verdict.json" in files)
        tap.ok(result.status in status and {"run-01-rank-0.rep", "run-01-rank-2.rep"} == {n for n in os.listdir(night) if n.endswith(".rep")},
               f"{launcher.name}: nightly, {how}: the ranks that were chosen", f"{result} {os.listdir(night)}")
    store = sqlite3.connect(os.path.join(place, "nightly.sqlite"))
    rows = store.execute("SELECT benchmark, rank, outcome, exit_status FROM run JOIN night ON night.id = night_id ORDER BY run.id").fetchall()
    store.close()
    tap.ok(rows == [("plain", "0", "ok", 0), ("plain", "2", "ok", 0), ("abort", "0", "failed", 7), ("abort", "2", "failed", 7)], "the store has the runs of the recorded ranks", rows)


def launchers_notice_nothing():
    for launcher in launchers():
        if not launcher.command:
            tap.skip(launcher.name, "its launcher is not installed")
            continue
        first = launch(launcher, [app("mpi_ranks"), launcher.library, "plain"], folder())
        if first.status:
            tap.skip(launcher.name, f"it does not run here: {(first.err or first.out).strip().splitlines()[-1:]}")
            continue
        each_rank_has_a_report(launcher)
        all_ranks_have_one_report(launcher)
        nights_choose_ranks(launcher)


lib.main(launchers_notice_nothing)
