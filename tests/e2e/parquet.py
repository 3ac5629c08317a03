#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that `trace export -t parquet` exports every row of every table, and that `trace recipe` over many reports agrees with SQL over each
report.
"""
import csv
import io
import json
import os
import random
import sqlite3
import statistics

import _made_database
import lib
import lib_compare as made
import lib_merge
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
    missing = os.path.join(folder, "missing")
    said = made.command("recipe", "kernel_sum", *folders, TMPDIR=missing)
    tap.ok(said.status == 2 and said.err.decode() == f"trace: cannot create a folder in '{missing}': No such file or directory; set TMPDIR\n" and not said.out,
           "a folder of temporary files that does not exist is reported in one line", said.err)
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


def as_statistics(name, file, folders, recipes=("mpi_late_sum", "mpi_matrix", "mpi_range_sum")):
    """Check that recipes over folders have the rows of the statistics of the same names, but for rounding."""
    for recipe in recipes:
        result = made.command("recipe", recipe, "-f", "csv", "--memory", "512", *folders)
        ours, theirs = list(csv.DictReader(io.StringIO(result.out.decode()))), lib_merge.rows(recipe, file)
        same = bool(ours) and len(ours) == len(theirs) and all(list(a) == list(b) and all(equal(a[column], b[column]) for column in a) for a, b in zip(ours, theirs))
        tap.ok(same, f"{name}: recipe {recipe} has the rows of the statistic", (result.err, ours, theirs))


def equal(ours, theirs):
    """Compare two values, of which the second one is rounded to tenths."""
    try:
        return abs(float(ours) - float(theirs)) < 0.06
    except ValueError:
        return ours == theirs


def ranks_of_hosts():
    """Reports of ranks whose clocks differ, aligned by trace merge --separate: recipes say what the statistics say of the merged report."""
    for name, launcher, variable, end in lib_merge.launchers():
        if not launcher or not lib_merge.program("mpi_rounds" + end):
            tap.skip(name, "it is not installed, or what builds its programs is not")
            continue
        for sources in ("mpi,nvtx", "mpi,osrt"):
            place = lib.folder()
            paths = lib_merge.record(launcher, variable, [lib_merge.program("mpi_rounds" + end), "1", "12", "30000"], place, sources=sources)
            if not tap.ok(paths, f"{name}, {sources}: each rank has a report"):
                continue
            hosts, target, aligned = lib_merge.spread(paths, random.Random(5)), os.path.join(place, "job.rep"), os.path.join(place, "aligned")
            lib_merge.merged(hosts, target)
            result = made.command("merge", "--separate", "-o", aligned, *hosts)
            files = [os.path.join(aligned, os.path.basename(path)) for path in hosts]
            tap.ok(result.status == 0 and sorted(os.listdir(aligned)) == sorted(map(os.path.basename, hosts)), f"{name}, {sources}: a report for each", result.err)
            made.command("export", "-t", "parquet", "--tables", "mpi_late_sum,mpi_matrix,mpi_range_sum", *files)
            folders = [path[:-4] + ".pqtdir" for path in files]
            as_statistics(f"{name}, {sources}", target, folders, ("mpi_late_sum", "mpi_matrix") + (("mpi_range_sum", ) if "nvtx" in sources else ()))
            ranks = [parquet.read_table(os.path.join(f, "MPI_RANKS.parquet")).to_pylist()[0]["_rank"] for f in folders]
            tap.ok(ranks == [0, 1, 2] and not os.path.exists(os.path.join(folders[0], "LIBTRACE_PROCESS.parquet")), f"{name}, {sources}: the rank of MPI; no other tables", ranks)
            made.command("export", "-t", "parquet", *hosts)
            result = made.command("recipe", "mpi_late_sum", *(path[:-4] + ".pqtdir" for path in hosts))
            tap.ok(result.status == 2 and b"trace merge --separate" in result.err and result.err.count(b"\n") == 1, f"{name}, {sources}: clocks that are not aligned are refused", result.err)


def every_kind_of_instead():
    """What a late rank did instead: a range of a domain, a kernel, a call with its callchain; ranks of hosts in groups."""
    path = os.path.join(lib.folder(), "job.sqlite")
    d = _made_database.Made(path)
    d.db.execute("CREATE TABLE LIBTRACE_MERGED (globalVid INTEGER, number INTEGER, host INTEGER, clockGroup INTEGER, clock TEXT, error INTEGER, errorEnds INTEGER)")
    d.db.execute("CREATE TABLE LIBTRACE_MERGED_PAIR (host INTEGER, otherHost INTEGER, error INTEGER, errorEnds INTEGER)")
    d.db.execute("CREATE TABLE LIBTRACE_MPI_COMMUNICATOR (timestamp INTEGER, globalTid INTEGER, rank INTEGER, comm INTEGER, localRank INTEGER, size INTEGER, groupRoot INTEGER, "
                 "membersHash INTEGER, ordinal INTEGER)")
    d.db.execute("CREATE TABLE OSRT_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, stackDepth INTEGER)")
    for depth, (symbol, module) in enumerate((("usleep", "/lib/libc.so.6"), ("0x1234", "/opt/app/libslow.so"), *((f"f{n}", "/opt/app/app") for n in range(6)))):
        d.row("OSRT_CALLCHAINS", id=9, symbol=d.text(symbol), module=d.text(module), stackDepth=depth)
    tids = [(rank + 1) << 48 | 77 << 24 | 77 for rank in range(4)]
    for rank, tid in enumerate(tids):
        d.row("LIBTRACE_MERGED", globalVid=(rank + 1) << 48, number=rank + 1, host=rank + 1, clockGroup=1 + (rank == 3), clock="wall" if rank == 3 else "messages", error=5, errorEnds=50 + rank)
        d.row("MPI_RANKS", globalTid=tid, rank=rank)
        for comm, size in ((1, 3), (2, 4)):  # of the first three ranks, and of all
            if rank < size:
                d.row("LIBTRACE_MPI_COMMUNICATOR", timestamp=comm, globalTid=tid, rank=rank, comm=comm, localRank=rank, size=size, groupRoot=0, membersHash=5 + comm, ordinal=0)
                for n, late in enumerate((0, 1, 2, 1)):
                    start = 10000 * comm + 1000 * n + (500 if rank == late else 10 * rank)
                    d.row("MPI_COLLECTIVES_EVENTS", start=start, end=10000 * comm + 1000 * n + 600, globalTid=tid, textId=d.text("MPI_Barrier"), commHandle=comm, size=0, recvSize=0)
                d.row("MPI_P2P_EVENTS", start=10000 * comm + 700, end=10000 * comm + 710, globalTid=tid, textId=d.text("MPI_Isend"), commHandle=comm, tag=1, remoteRank=(rank + 1) % size, size=8)
                d.row("MPI_P2P_EVENTS", start=10000 * comm + 720, end=10000 * comm + 730, globalTid=tid, textId=d.text("MPI_Irecv"), commHandle=comm, tag=1, remoteRank=0, size=8)
    d.row("LIBTRACE_MERGED_PAIR", host=2, otherHost=1, error=5, errorEnds=40)
    d.nvtx(0, None, tids[0], "Solver", kind=75, domain=3)
    for start, end, text in ((10000, 10700, "outer"), (10020, 10490, "inner"), (10100, 10110, "short")):
        d.nvtx(start, end, tids[0], text, domain=3, registered=text == "inner")
    d.kernel(11030, 11400, tids[1] & ~0xffffff, 1, "void slow<int>(int*)", "slow")
    d.kernel(11010, 11030, tids[1] & ~0xffffff, 2, "void fast<int>(int*)", "fast")
    d.osrt(12050, 12450, tids[2], "usleep")
    d.db.execute("UPDATE OSRT_API SET callchainId = 9")
    d.osrt(12460, 12470, tids[2], "read")
    d.finish()
    folder = path[:-len(".sqlite")] + ".pqtdir"
    made.command("export", "-t", "parquet", path)
    as_statistics("made ranks", path, [folder])
    instead = sorted(r["Instead"] for r in lib_merge.rows("mpi_late_sum", path) if r["Instead"])
    tap.ok(len(instead) == 3 and instead[0].startswith("call usleep <- usleep <- 0x1234 in libslow.so <- f0") and instead[1:] == ["kernel slow", "range Solver:outer"],
           "made ranks: all kinds of what it did instead", instead)


assert duckdb
lib.main(every_row_arrives, recipes_say_what_sql_says, pace_follows_the_start, ranks_of_hosts, every_kind_of_instead)
