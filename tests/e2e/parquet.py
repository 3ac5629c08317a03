#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that `trace export -t parquet` exports every row of every table, and that `trace recipe` over many reports agrees with SQL over each
report.
"""
import json
import os
import sqlite3
import statistics

import lib
import lib_compare as made
from lib import tap

made.enter_interpreter("trace export -t parquet")
try:
    import duckdb
    import pyarrow.parquet as parquet
except ImportError as error:
    tap.skip("trace export -t parquet", f"{error} (scripts/setup --python)")
    tap.finish()


def rank_runs(folder):
    """Write the runs of three ranks; the last one has a slower kernel and range."""
    return [made.program(made.Run(rank), items=8, kernel_ns=9000 * (3 if rank == 2 else 1), solve_ns=50000 * (4 if rank == 2 else 1)).write(os.path.join(folder, f"run-rank-{rank}.sqlite"))
            for rank in range(3)]


def every_row_arrives():
    folder = lib.folder()
    report = os.path.join(folder, "real.rep")
    lib.trace("run", "-o", report, "--", "/bin/sh", "-c", "ls / >/dev/null; cat /dev/null")
    database = os.path.join(folder, "real.sqlite")
    lib.trace("export", "-t", "sqlite", "-o", database, report)
    result = made.command("export", "-t", "parquet", report)
    place = os.path.join(folder, "real.pqtdir")
    tap.ok(result.status == 0 and not result.out and not result.err, "a report becomes a folder", result.err)
    c = sqlite3.connect(database)
    tables = [row[0] for row in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    tap.ok(sorted(f"{t}.parquet" for t in tables) == sorted(os.listdir(place)), "the folder has a file for each table")
    differing = []
    for table in tables:
        if table in ("META_DATA_EXPORT",):  # when and where it was exported
            continue
        rows = parquet.read_table(os.path.join(place, f"{table}.parquet")).to_pylist()
        mine = sorted(repr([v for k, v in r.items() if k not in ("_report", "_host", "_rank")]) for r in rows)
        if mine != sorted(repr(list(r)) for r in c.execute(f"SELECT * FROM {table}")):
            differing.append(table)
        if any(r["_report"] != "real" or r["_rank"] is not None for r in rows):
            differing.append(f"{table}: _report, _rank")
    c.close()
    tap.ok(not differing, "each file has every row of its table", differing)
    result = made.command("export", "-t", "parquet", report)
    tap.ok(result.status == 2 and b"exists" in result.err and result.err.count(b"\n") == 1, "an existing folder is not overwritten", result.err)
    result = made.command("export", "-t", "parquet", "-f", "true", report)
    tap.ok(result.status == 0, "an existing folder is replaced if that was asked for", result.err)
    result = made.command("export", "-t", "parquet", "-f", "true", "-o", folder, report)
    tap.ok(result.status == 2 and os.path.exists(report), "a folder of other things is never replaced", result.err)
    result = made.command("export", "-t", "parquet", "/none.rep")
    tap.ok(result.status == 2 and result.err.count(b"\n") == 1 and b"/none.rep" in result.err, "a missing report is reported in one line", result.err)


def recipes_say_what_sql_says():
    folder = lib.folder()
    databases = rank_runs(folder)
    result = made.command("export", "-t", "parquet", *databases)
    folders = [d[:-len(".sqlite")] + ".pqtdir" for d in databases]
    tap.ok(result.status == 0 and all(map(os.path.isdir, folders)), "databases become folders", result.err)

    def recipe(name):
        made_it = made.command("recipe", name, "-f", "json", *folders)
        return json.loads(made_it.out) if made_it.status == 0 else made_it.err

    connections = [sqlite3.connect(d) for d in databases]
    kernels = [[r[0] for r in c.execute('SELECT "end" - start FROM CUPTI_ACTIVITY_KIND_KERNEL')] for c in connections]
    said = recipe("kernel_sum")
    every = sum(kernels, [])
    tap.ok(len(said) == 1 and said[0]["instances"] == len(every) and said[0]["total_ns"] == sum(every) and said[0]["median_ns"] == statistics.median(every) and said[0]["reports"] == 3,
           "kernel_sum: kernels over all ranks", said)
    tap.ok(abs(said[0]["slowest_to_fastest"] - max(map(sum, kernels)) / min(map(sum, kernels))) < 1e-9, "kernel_sum has the ratio of the slowest to the fastest rank", said)
    sums = [c.execute("SELECT sum(\"end\" - start) FROM NVTX_EVENTS WHERE text = 'solve'").fetchone()[0] for c in connections]
    said = next(r for r in recipe("slowest_rank") if r["range"] == "solve")
    tap.ok((said["slowest_rank"], said["slowest_ns"], said["median_ns"]) == (2, sums[2], sorted(sums)[1]), "slowest_rank names the rank and its time", said)
    for c in connections:
        c.close()
    said = made.command("recipe", "range_pace", *folders)
    tap.ok(said.status == 2 and b"TARGET_INFO_SESSION_START_TIME" in said.err and said.err.count(b"\n") == 1, "a table that was not recorded is reported in one line", said.err)


def pace_follows_the_start():
    program = lib.app("regressed")
    if not os.path.exists(program):
        tap.skip("range_pace", "no headers of NVTX")
        return
    folder = lib.folder()
    reports = [os.path.join(folder, f"{name}.rep") for name in ("z", "a")]  # in this order
    for report in reports:
        lib.trace("run", "-t", "nvtx", "-o", report, "--", program, "none", "6")
    made.command("export", "-t", "parquet", *reports)
    said = made.command("recipe", "range_pace", "-f", "json", *(r[:-4] + ".pqtdir" for r in reports))
    rows = [(r["report"], r["instances"]) for r in json.loads(said.out) if r["range"] == "parse"]
    tap.ok(rows == [("z", 6), ("a", 6)], "range_pace: report by report, in the order of their start", rows)


assert duckdb
lib.main(every_row_arrives, recipes_say_what_sql_says, pace_follows_the_start)
