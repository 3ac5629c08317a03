#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compare CPU samples of the same program with those of NVIDIA's nsys, where it is installed (lib_nsys.py) and may sample (perf_event_open).

The program measures the processor time of its functions itself (tests/apps/sampled.c, mode split), since no two runs have the same. For each
function, the errors of both tools, its share of the samples less its share of the time of that run, must differ by less than chance allows: a
two-sided test of two proportions with known expectations, normal, 1e-6. Exchanged shares must fail the same test.
"""
import csv
import io
import math
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import lib_nsys as nsys  # noqa: E402
from lib import app, clean_env, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

MS = "2500"
SIGMAS = 4.89  # two-sided, 1e-6
FUNCTIONS = ("seventy", "thirty")


def split_of(text):
    """Return the share of the processor time that the program says each function took; None if it says nothing."""
    words = text.split("facts: seventy ")[-1].split()
    if len(words) < 3 or words[1] != "thirty":
        return None
    took = int(words[0]), int(words[2])
    return [each / sum(took) for each in took]


def by_nsys():
    """Profile the program by nsys. Return (its result, path of the database or None)."""
    place = folder()
    base = os.path.join(place, "r")
    result = run([nsys.program("nsys"), "profile", "-t", "none", "--sample=process-tree", "--backtrace=dwarf", "--cpuctxsw=process-tree", "-o", base, app("sampled"), "split", MS],
                 env=clean_env(APP_FACTS="1"), cwd=place, limit=120)
    if not os.path.exists(base + ".nsys-rep") and os.path.exists(base + ".qdstrm"):
        run([nsys.program("QdstrmImporter"), "-i", base + ".qdstrm", "-o", base + ".nsys-rep"], env=clean_env(), cwd=place, limit=120)
    return result, nsys.export(base + ".nsys-rep", "sqlite") if os.path.exists(base + ".nsys-rep") else None


def by_us():
    place, spool = folder(), spool_folder()
    path = os.path.join(place, "r.rep")
    result = run([app("sampled"), "split", MS], env={**traced_env(path, spool, LIBTRACE_SAMPLE="process-tree", LIBTRACE_SAMPLING_FREQUENCY=250), "APP_FACTS": "1"}, cwd=place)
    wait_spool_gone(spool)
    return result, path


def counted(path):
    """Return {function: number of samples in it or in what it calls} of a report or database, by our statistics, and the function with most samples itself."""
    rows = list(csv.DictReader(io.StringIO(trace("stats", "-r", "cpu_by_function", "-f", "csv", path).out.decode())))
    return {row["Name"]: int(row["Total Samples"]) for row in rows}, max(rows, key=lambda row: int(row["Self Samples"]), default={"Name": None})["Name"]


def by_scripts(path):
    """Return the same of a database by SQL alone, as public scripts compute it: samples weigh cpuCycles, which is 1 in those of nsys."""
    db = sqlite3.connect(path)
    found = dict(db.execute("SELECT s.value, sum(e.cpuCycles) FROM (SELECT DISTINCT id, symbol FROM SAMPLING_CALLCHAINS) AS c JOIN StringIds AS s ON s.id = c.symbol "
                            "JOIN COMPOSITE_EVENTS AS e ON e.id = c.id GROUP BY s.value"))
    db.close()
    return found


def sigmas(ours, theirs, our_split, their_split):
    """Return by how many standard deviations the errors of the first function's share differ."""
    errors, variance = [], 0
    for counts, split in ((ours, our_split), (theirs, their_split)):
        n = sum(counts)
        errors.append(counts[0] / n - split[0])
        variance += split[0] * split[1] / n
    return (errors[0] - errors[1]) / math.sqrt(variance)


def hot_functions():
    result, database = by_nsys()
    split = split_of(result.out.decode(errors="replace"))
    theirs, their_top = counted(database) if database else ({}, None)
    if not database or not split or not theirs:
        tap.skip("samples of nsys", f"nsys {nsys.version()} took none: perf_event_open may be refused here: {result.err[-200:]!r}")
        return
    ours_result, report = by_us()
    (ours, our_top), our_split = counted(report), split_of(ours_result.out.decode(errors="replace"))
    counts = [[found.get(name, 0) for name in FUNCTIONS] for found in (ours, theirs)]
    if not tap.ok(our_split and min(map(sum, counts)) > 100, "both have samples of both functions", (ours, theirs)):
        return
    off = sigmas(*counts, our_split, split)
    tap.ok(abs(off) < SIGMAS, f"the errors of the shares differ by {off:.2f} standard deviations, of {SIGMAS} allowed", (counts, our_split, split))
    tap.ok(abs(sigmas(counts[0], counts[1][::-1], our_split, split)) >= SIGMAS, "and exchanged shares would be found", counts)
    tap.ok(our_top == their_top == "work", "the same function is the hottest", (our_top, their_top))
    scripts = by_scripts(database)
    tap.ok(all(scripts.get(name) == theirs.get(name) for name in FUNCTIONS), "our statistics count nsys's samples as scripts do", (scripts, theirs))
    flat = {row["Name"]: int(row["Calls"]) for row in csv.DictReader(io.StringIO(trace("stats", "-r", "callchain_flat", "--source", "cpu", "-f", "csv", database).out.decode()))}
    tap.ok(all(flat.get(name) == theirs.get(name) for name in FUNCTIONS), "callchain_flat as well", flat)
    export = os.path.join(folder(), "r.sqlite")
    trace("export", "-t", "sqlite", "-o", export, report)
    scripts = by_scripts(export)
    tap.ok(all(scripts.get(name) == ours.get(name) for name in FUNCTIONS), "the same SQL finds our samples in our database", (scripts, ours))


if nsys.root():
    main(hot_functions)
else:
    tap.skip("samples beside those of nsys", "no nsys: NSIGHT_SYSTEMS names its folder")
    tap.finish()
