#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compare statistics of MPI, OpenMP and OpenACC: `nsys stats`, with its own scripts, over our SQLite exports, with `trace stats`. Skipped if nsys
is not installed.
"""
import csv
import io
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_nsys  # noqa: E402
from lib import app, clean_env, folder, main, tap, trace  # noqa: E402

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def launcher():
    hydra = shutil.which("mpiexec.hydra")
    return [hydra, "-n", "3"] if hydra else None


def programs():
    """Return source, report of statistics, and command (None: not installed) of each."""
    messages, openmp, openacc = app("mpi_messages"), app("openmp_gomp"), app("openacc_constructs")
    mpi = launcher()
    return [("mpi", "mpi_event_trace", [*mpi, messages, os.path.join(folder(), "log")] if mpi and os.path.exists(messages) else None),
            ("openmp", "openmp_sum", [openmp, "constructs"] if os.path.exists(openmp) else None),
            ("openacc", "openacc_sum", [openacc, "threads"] if os.path.exists(openacc) else None)]


def is_same(theirs, mine):
    try:
        return abs(float(theirs) - float(mine)) <= 0.1000001 if theirs and mine else theirs == mine
    except ValueError:
        return theirs == mine


def ordered(rows):
    """Rows of equal times may be in any order."""
    return sorted(rows, key=lambda row: [value or "" for value in row.values()])


def same(source, report, command):
    path = os.path.join(folder(), "r.rep")
    traced = trace("run", "-t", source, "-o", path, "--", *command, env=clean_env(**ROOT))
    trace("export", "-t", "sqlite", "--compat", "3.4", "-o", path + ".sqlite", path)
    mine = ordered(csv.DictReader(io.StringIO(trace("stats", "-r", report, "-f", "csv", path + ".sqlite").out.decode())))
    theirs = ordered({("Count" if column == "Num Calls" else column): row[column] for column in row} for row in lib_nsys.stats(path + ".sqlite", (report,))[report])
    differences = [f"row {n}, {column}: nsys {row[column]!r}, ours {mine[n].get(column)!r}" for n, row in enumerate(theirs[:len(mine)])
                   for column in row if not is_same(row[column], mine[n].get(column) or "")]
    tap.ok(traced.status == 0 and theirs and len(theirs) == len(mine) and not differences, f"{report}: {len(theirs)} rows of nsys, {len(mine)} of ours",
           "\n".join(differences[:10]) or str(traced))


def all_of_them():
    if not lib_nsys.root():
        tap.skip("the scripts of nsys", "nsys is not installed; NSIGHT_SYSTEMS names its folder")
        return
    for source, report, command in programs():
        if command:
            same(source, report, command)
        else:
            tap.skip(report, "its program is not built, or its launcher is not installed")


main(all_of_them)
