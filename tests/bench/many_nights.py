#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure how long `trace nightly` takes with a history of many nights.

Usage: tests/bench/many_nights.py [--nights 2000] [--runs 5] [--items 30]

Creates a store of nights with drawn times, one of which changes half way, and prints the time of `list`, of the history (`report`), and of the comparison
of a new night with its baseline.
"""
import argparse
import contextlib
import datetime
import io
import os
import random
import sqlite3
import sys
import tempfile
import time

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SRC, "reader/python"))

from trace_tools import night, nightly, store  # noqa: E402


def fill(path, nights, runs, items):
    """Write the store directly, in one transaction."""
    chance, first = random.Random(1), datetime.datetime(2020, 1, 1)
    store.Store(path).close()
    with contextlib.closing(sqlite3.connect(path)) as c, c:
        for number in range(1, nights + 1):
            begun = (first + datetime.timedelta(days=number)).isoformat()
            c.execute("INSERT INTO night VALUES (?, 'many', 'here', ?, ?, ?, 'done', 'ok', 'nothing is worse', 1, NULL, '')", (number, begun, f"{number:040x}", f"{path}.nights/{number}"))
            for run in range(runs):
                row = c.execute("INSERT INTO run (night_id, number, is_traced, outcome, wall_ns, report, facts, problems, summed) VALUES (?, ?, 1, 'ok', 1, 'x', '{}', '[]', '[]') RETURNING id",
                                (number, run)).fetchone()[0]
                rows = [(row, "range", "app", "", f":stage{i}", 10, 10 * ns, ns, 0, 0) for i in range(items)
                        for ns in [int(1e6 * (1 + i) * chance.lognormvariate(0, 0.02) * (1.2 if not i and 2 * number > nights else 1))]]
                c.executemany("INSERT INTO item (run_id, kind, program, path, name, count, total_ns, typical_ns, bytes, cpu_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def timed(what, action):
    begun, spent = time.monotonic(), time.process_time()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        action()
    print(f"{what}: {time.monotonic() - begun:.2f} s, of processor time {time.process_time() - spent:.2f} s", flush=True)
    return out.getvalue()


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name, usual in (("nights", 2000), ("runs", 5), ("items", 30)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="many-nights-") as folder:
        path = os.path.join(folder, "nightly.sqlite")
        fill(path, given.nights, given.runs, given.items)
        print(f"{given.nights} nights of {given.runs} runs with {given.items} items: {os.path.getsize(path) / 2**20:.0f} MiB")
        common = ["--name=many", "--host=here", f"--folder={folder}"]
        timed("list", lambda: nightly.main(["list", *common]))
        timed("report", lambda: nightly.main(["report", *common, "-o", os.path.join(folder, "history.html")]))
        timed("import of scipy, which only comparisons need", lambda: __import__("scipy.stats"))
        options, _ = nightly.parse(["page", *common])
        kept = store.Store(path)
        nights = kept.nights("many", "here")
        timed("comparison of a night", lambda: night.compare_night(options, kept, nights[-1]["id"], night.baseline_of(nights[:-1], 5)))
        kept.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
