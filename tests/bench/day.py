#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure how memory and the report grow with CPU samples, and what that is in a day.

    tests/bench/day.py [SECONDS [RATE]]          default: 20 s of processor time, 4,000 samples a second by perf's clock

That is as many samples as one thread takes in 14 minutes at the default of 97 a second. The program (tests/apps/sampled.c, split) allocates nothing while it
runs. Every quarter of a second the resident memory of the program and the writer and the size of the report are read; a line is fitted to the second half of
the readings. Prints its slope per million samples, and per day of a thread that always runs at 97 a second.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from lib import app, trace, traced_env, wait_spool_gone, writer_of  # noqa: E402

A_DAY = 97 * 86400


def resident(pid):
    """Return the resident memory of a process in KiB; None if it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("VmRSS")), None)
    except OSError:
        return None


def slope(rows, column):
    """Return the growth of a column over the second half of the rows, per unit of their first column."""
    half = [(r[0], r[column]) for r in rows[len(rows) // 2:] if r[column] is not None]
    x, y = (sum(v) / len(half) for v in zip(*half))
    return sum((a - x) * (b - y) for a, b in half) / sum((a - x) ** 2 for a, _ in half)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    rate = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    rows = []
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory(dir="/dev/shm") as spool:
        report = os.path.join(place, "r.rep")
        options = traced_env(report, spool, LIBTRACE_TRACE="none", LIBTRACE_SAMPLE="process-tree", LIBTRACE_SAMPLING_FREQUENCY=str(rate), LIBTRACE_SAMPLING_TRIGGER="perf")
        with subprocess.Popen([app("sampled"), "split", str(int(seconds * 1000))], env=options, stdout=subprocess.DEVNULL) as child:
            time.sleep(0.2)
            writer = writer_of(spool)
            while child.poll() is None:
                with open(f"/proc/{child.pid}/schedstat", encoding="ascii") as file:
                    ran = int(file.read().split()[0] or 0)
                rows.append((ran * rate / 1e9, resident(child.pid), resident(writer), os.path.getsize(report) if os.path.exists(report) else None))
                time.sleep(0.25)
        wait_spool_gone(spool)
        cpu = json.loads(trace("info", "--json", report).out)["processes"][0]["receipt"]["cpu"]
        size = os.path.getsize(report)
    rows = [row for row in rows if None not in row]
    if len(rows) < 8 or not cpu["samples"]:
        sys.exit(f"too few readings: {len(rows)}, {cpu}")
    print(f"{cpu['samples']:,} samples of {cpu['process_ns'] / 1e9:.1f} s; the report has {size:,} bytes, {size / cpu['samples']:.1f} a sample")
    for name, column, unit in (("memory of the program", 1, "KiB"), ("memory of the writer", 2, "KiB"), ("report", 3, "bytes")):
        per = slope(rows, column)
        print(f"{name:22} {rows[len(rows) // 2][column]:,} to {rows[-1][column]:,} {unit}; {per * 1e6:+,.0f} {unit} per million samples, {per * A_DAY:+,.0f} {unit} per day")


main()
