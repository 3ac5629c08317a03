#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compare statistics of MPI, OpenMP and OpenACC: `nsys stats`, with its own scripts, with `trace stats`, over our SQLite exports and over databases of
what nsys itself recorded; nsys's recipe of MPI over our Parquet files. Skipped if nsys is not installed. VIEWERS names a virtual environment with
tests/peers/viewers.txt, for the recipe.
"""
import csv
import io
import json
import os
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_nsys  # noqa: E402
import viewers  # noqa: E402
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


def compare(database, report, name):
    mine = ordered(csv.DictReader(io.StringIO(trace("stats", "-r", report, "-f", "csv", database).out.decode())))
    theirs = ordered({("Count" if column == "Num Calls" else column): row[column] for column in row} for row in lib_nsys.stats(database, (report,))[report])
    differences = [f"row {n}, {column}: nsys {row[column]!r}, ours {mine[n].get(column)!r}" for n, row in enumerate(theirs[:len(mine)])
                   for column in row if not is_same(row[column], mine[n].get(column) or "")]
    tap.ok(theirs and len(theirs) == len(mine) and not differences, f"{name}: {report}: {len(theirs)} rows of nsys, {len(mine)} of ours", "\n".join(differences[:10]))


def same(source, report, command):
    path = os.path.join(folder(), "r.rep")
    traced = trace("run", "-t", source, "-o", path, "--", *command, env=clean_env(**ROOT))
    trace("export", "-t", "sqlite", "--compat", "3.4", "-o", path + ".sqlite", path)
    tap.ok(traced.status == 0, f"{source}: recorded", traced)
    compare(path + ".sqlite", report, source)


def shapes(theirs, ours, name):
    """Each table of OpenMP or MPI that both databases have has the same columns, and the tables of enumerations the same rows."""
    wrong, both = [], []
    with sqlite3.connect(theirs) as a, sqlite3.connect(ours) as b:
        tables = [{each for each, in db.execute("SELECT name FROM sqlite_master WHERE name GLOB '*OPENMP_*' OR name GLOB 'MPI_*'")} for db in (a, b)]
        for table in sorted(tables[0] & tables[1]):
            what = f"SELECT * FROM {table} ORDER BY id" if table.startswith("ENUM_") else f"SELECT name, type, \"notnull\" FROM pragma_table_info('{table}')"
            both.append(table)
            if a.execute(what).fetchall() != b.execute(what).fetchall():
                wrong.append(table)
    tap.ok(both and not wrong, f"{name}: {len(both)} tables have the columns of nsys, or its enumerations", (wrong, tables))


def captures():
    """What nsys itself records of the programs: `trace stats` says of its database what its own script says, and the rules read it."""
    if not lib_nsys.root():
        tap.skip("captures of nsys", "nsys is not installed")
        return
    found = [("openmp", "openmp_sum", [app("openmp_regions"), what], ()) for what in ("constructs", "tasks", "nested", "imbalance")]
    if launcher() and os.path.exists(app("mpi_messages")):
        found.append(("mpi", "mpi_event_trace", [*launcher(), app("mpi_messages"), os.path.join(folder(), "log")], ("--mpi-impl=mpich",)))
    for source, report, command, options in found:
        name = f"captured by nsys, {source} {command[-1] if source == 'openmp' else ''}"
        made = lib_nsys.profile(command, source, options, OMP_CANCELLATION="true")[0] if os.path.exists(command[0]) else None
        database = made and lib_nsys.export(made, "sqlite")
        if not database:
            tap.skip(name, "the program is not built, or nsys wrote no report")
            continue
        compare(database, report, name)
        path = os.path.join(folder(), "r.rep")
        trace("run", "-t", source, "-o", path, "--", *command, env=clean_env(OMP_CANCELLATION="true"))
        trace("export", "-t", "sqlite", "--compat", "3.4", "-o", path + ".sqlite", path)
        shapes(database, path + ".sqlite", name)
        if command[-1] == "imbalance":
            rules = json.loads(trace("analyze", "-r", "openmp_imbalance", "-f", "json", database).out)
            tap.ok([row["Regions"] for row in rules[0]["rows"]] == [20], f"{name}: the rule finds the uneven regions", rules)


def recipes():
    """nsys's recipe mpi_sum reads the Parquet files of `trace export`, and has the counts and times of our tables."""
    if not lib_nsys.root() or not launcher() or not os.path.exists(app("mpi_messages")) or not viewers.has("psutil, pyarrow, pandas"):
        tap.skip("the recipe of nsys about MPI", "nsys, MPICH or what recipes import is not installed: see tests/peers/viewers.txt")
        return
    place = folder()
    base = os.path.join(place, "r")
    trace("run", "-t", "mpi", "-o", base + ".nsys-rep", "--", *launcher(), app("mpi_messages"), os.path.join(place, "log"), env=clean_env())
    trace("export", "-t", "parquet", "-o", base + "_pqtdir", base + ".nsys-rep")
    files, result = lib_nsys.recipe("mpi_sum", base + ".nsys-rep", viewers.PYTHON)
    theirs = {row["Text"]: tuple(int(row[column]) for column in ("Count", "Min", "Max", "Sum")) for row in files.get("all_stats.csv", [])}
    tables = " UNION ALL ".join(f"SELECT textId, \"end\" - start AS ns FROM MPI_{each}_EVENTS" for each in ("P2P", "START_WAIT", "OTHER", "COLLECTIVES"))
    said = trace("query", "-f", "csv", base + ".nsys-rep", f"SELECT value, count(*), min(ns), max(ns), sum(ns) FROM ({tables}) JOIN StringIds ON id = textId WHERE ns > 0 GROUP BY 1")
    ours = {name: tuple(map(int, rest)) for name, *rest in list(csv.reader(io.StringIO(said.out.decode())))[1:]}
    tap.ok(theirs and theirs == ours, f"recipe mpi_sum: {len(theirs)} functions", (result, {n for n in {*theirs, *ours} if theirs.get(n) != ours.get(n)}, said.err))


def all_of_them():
    if not lib_nsys.root():
        tap.skip("the scripts of nsys", "nsys is not installed; NSIGHT_SYSTEMS names its folder")
        return
    for source, report, command in programs():
        if command:
            same(source, report, command)
        else:
            tap.skip(report, "its program is not built, or its launcher is not installed")


main(all_of_them, captures, recipes)
