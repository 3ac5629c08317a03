#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compare the NVTX statistics of `trace stats` with those of `nsys stats`, over the same data: a database that nsys wrote, and a report of
ours and its SQLite export. Skipped if nsys is not installed.
"""
import csv
import io
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_nsys  # noqa: E402
from lib import app, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

REPORTS = ("nvtx_sum", "nvtx_pushpop_sum", "nvtx_startend_sum", "nvtx_pushpop_trace")
IDS = ("RangeId", "ParentId", "RangeStack")  # any numbers that identify the containing ranges


def ours(source):
    found = {}
    for name in REPORTS:
        result = trace("stats", "-r", name, "-f", "csv", source)
        found[name] = list(csv.DictReader(io.StringIO(result.out.decode())))
    return found


def text_of(name, value):
    """Return the text without the colon of the default domain, which nsys before 2024 leaves out."""
    dashes = len(value) - len(value.lstrip("-")) if name == "NameTree" else 0
    body = value[dashes:]
    return value[:dashes] + body.removeprefix(":")


def renumbered(rows):
    """Sort rows so that equal start times in different threads do not change the order; replace RangeId, ParentId and RangeStack by
    indexes of rows in that order.
    """
    rows = sorted(rows, key=lambda row: (int(row["Start (ns)"]), int(row["TID"]), int(row["Lvl"]), -int(row["Duration (ns)"])))
    places = {row["RangeId"]: str(n) for n, row in enumerate(rows)}
    for row in rows:
        row["RangeId"], row["ParentId"] = places[row["RangeId"]], places.get(row["ParentId"], "")
        row["RangeStack"] = ":".join(places.get(n, n) for n in row["RangeStack"].split(":"))
    return rows


def is_same(name, left, right):
    if name == "NameTree" and not left:
        return not right.strip("-:")  # nsys prints no tree for a range without a text
    if name in ("Range", "Name", "NameTree"):
        return text_of(name, left) == text_of(name, right)
    try:
        return abs(float(left) - float(right)) <= 0.1000001 if "." in left or "." in right else left == right
    except ValueError:
        return left == right


def compare(title, left, right, shift=False):
    for name in REPORTS:
        theirs, mine = left[name], right[name]
        if name == "nvtx_pushpop_trace":
            theirs, mine = renumbered(theirs), renumbered(mine)
            if shift and theirs and mine:  # times of an export begin at the earliest start
                ns = int(theirs[0]["Start (ns)"]) - int(mine[0]["Start (ns)"])
                for row in mine:
                    row["Start (ns)"], row["End (ns)"] = str(int(row["Start (ns)"]) + ns), str(int(row["End (ns)"]) + ns)
        differences = [f"row {n}, {column}: nsys {row[column]!r}, ours {mine[n].get(column)!r}" for n, row in enumerate(theirs[:len(mine)])
                       for column in row if not is_same(column, row[column], mine[n].get(column) or "")]
        tap.ok(theirs and len(theirs) == len(mine) and list(theirs[0]) == list(mine[0]) and not differences,
               f"{title}: {name}: {len(theirs)} rows of nsys, {len(mine)} of ours", "\n".join(differences[:10]))


def is_missing(name):
    if not lib_nsys.root():
        tap.skip(name, "nsys is not installed; NSIGHT_SYSTEMS names its folder")
    return not lib_nsys.root()


def random_ranges(seed, least_ns):
    """Return ranges of four threads, up to seven levels deep, as text for `trace import`. With least_ns = 0, some start or end at the same time."""
    chosen = random.Random(seed)
    lines = ["TimeBase = Relative", "ProcessId = 50", "@RangePush, Time, ThreadId, Message", "@RangePop, Time, ThreadId", "@RangeStartEnd, Start, End, ThreadId, Message"]
    for thread in range(60, 64):
        ns, depth = 1000, 0
        for _ in range(400):
            ns += chosen.randint(least_ns, 50)
            pops = depth and (depth > 6 or chosen.random() < 0.5)
            lines.append(f"RangePop, {ns}, {thread}" if pops else f"RangePush, {ns}, {thread}, \"r{chosen.randint(0, 9)}\"")
            depth += -1 if pops else 1
        lines += [f"RangePop, {ns + 5 * n}, {thread}" for n in range(1, depth + 1)]
    starts = [chosen.randint(0, 9999) for _ in range(200)]
    return "\n".join(lines + [f"RangeStartEnd, {ns}, {ns + chosen.randint(1, 500)}, 61, \"s{ns % 5}\"" for ns in starts])


def same_statistics_of_random_ranges():
    if is_missing("the same statistics of random ranges"):
        return
    for seed, least_ns in ((1, 1), (2, 1), (3, 0), (4, 0)):
        place, spool = folder(), spool_folder()
        path, notes = os.path.join(place, "r.rep"), os.path.join(place, "n.nvtxt")
        run(["/bin/true"], env=traced_env(path, spool, LIBTRACE_TRACE="nvtx"), cwd=place)
        wait_spool_gone(spool, 30)
        with open(notes, "w", encoding="utf-8") as out:
            out.write(random_ranges(seed, least_ns))
        trace("import", notes, "--into", path)
        trace("export", "-t", "sqlite", "--compat", "3.4", "-o", path + ".sqlite", path)
        compare(f"random ranges, seed {seed}", lib_nsys.stats(path + ".sqlite", REPORTS), ours(path), shift=True)


def same_statistics():
    if is_missing("the same statistics as nsys"):
        return
    if not os.path.exists(app("nvtx_peer")):
        tap.skip("the same statistics as nsys", "the programs are not built: no headers of NVTX")
        return
    report, _ = lib_nsys.profile([app("nvtx_peer")])
    database = report and lib_nsys.export(report, "sqlite")
    tap.ok(database, "nsys makes a database")
    compare("a database of nsys", lib_nsys.stats(database, REPORTS), ours(database))
    place, spool = folder(), spool_folder()
    path = os.path.join(place, "r.rep")
    run([app("nvtx_peer")], env=traced_env(path, spool, LIBTRACE_TRACE="nvtx"), cwd=place)
    wait_spool_gone(spool, 30)
    trace("export", "-t", "sqlite", "--compat", "3.4", "-o", path + ".sqlite", path)
    compare("a report of ours, and its export", lib_nsys.stats(path + ".sqlite", REPORTS), ours(path), shift=True)


main(same_statistics, same_statistics_of_random_ranges)
