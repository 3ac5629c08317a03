#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure what the account of threads' times costs: the creation and end of a thread, and the writer's processor time.

    tests/bench/thread_time.py [ROUNDS [SECONDS]]

Each round runs `accounted crowd` with 1, 64 and 512 threads that wake every 10 ms, without and with --thread-time. Prints the shortest time, over
all rounds, that the creation and end of a thread took; the writer's processor time as a share of the elapsed time (median); and the bytes of the
report.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from lib import app, traced_env, writer_of  # noqa: E402

THREADS = (1, 64, 512)
WAYS = ("none", "process-tree")


def ticks_of(pid):
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, IndexError):
        return None


def once(way, threads, seconds, folder):
    """Return the time of a thread in ns, the writer's share of the time, and the bytes of the report."""
    report = os.path.join(folder, "r.rep")
    environment = traced_env(report, folder, LIBTRACE_FORCE_OVERWRITE="true", LIBTRACE_TRACE="nvtx", LIBTRACE_THREAD_TIME=way, APP_FACTS="1")
    with subprocess.Popen([app("accounted"), "crowd", str(seconds * 1000), str(threads)], env=environment, stdout=subprocess.PIPE) as child:
        time.sleep(seconds / 4)
        pid, begin = writer_of(folder), time.monotonic()
        before = ticks_of(pid)
        time.sleep(seconds / 2)
        after, took = ticks_of(pid), time.monotonic() - begin
        text = child.communicate()[0].decode()
    if child.returncode or before is None or after is None:
        sys.exit(f"accounted: status {child.returncode}, writer {pid}")
    return int(re.search(r"facts: thread (\d+)", text).group(1)), (after - before) / 1e9 / took, os.path.getsize(report)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    print(f"{'threads':>7} {'thread-time':12} {'thread (us)':>11} {'writer (%)':>10} {'report (bytes)':>14}")
    for threads in THREADS:
        results = {way: [] for way in WAYS}
        for number in range(rounds):
            for way in WAYS if number % 2 else reversed(WAYS):
                with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
                    results[way].append(once(way, threads, seconds, folder))
        for way in WAYS:
            thread, share, size = zip(*results[way])
            print(f"{threads:7} {way:12} {min(thread) / 1e3:11.2f} {100 * statistics.median(share):10.4f} {int(statistics.median(size)):14,}")


main()
