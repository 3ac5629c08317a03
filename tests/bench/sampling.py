#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure what CPU samples cost a program that only computes: its processor time, in alternating runs.

    tests/bench/sampling.py [ROUNDS [ROUNDS_OF_WORK]]

Each round runs the same work without the tracer, with it but without samples, and with samples at 97 Hz and at 1 kHz, in an order that
changes from round to round. Prints the ratio of the processor time to that of the traced run without samples in the same round, its
median and quartiles over the rounds, and the least processor time of each way. Other work on the machine makes the quartiles wide.
"""
import os
import statistics
import sys
import tempfile

SRC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
BUILD = os.environ.get("BUILD") or os.path.join(SRC, "build")
WAYS = {"untraced": None, "traced": {}, "97 Hz": {"LIBTRACE_SAMPLE": "process-tree"},
        "1 kHz": {"LIBTRACE_SAMPLE": "process-tree", "LIBTRACE_SAMPLING_FREQUENCY": "1000"}}


def once(options, work, folder):
    """Return the processor time of the program, in seconds; the writer is no part of it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIBTRACE_") and name != "LD_PRELOAD"}
    if options is not None:
        environment.update(options, LD_PRELOAD=os.path.join(BUILD, "lib/libtrace/libtrace.so"), LIBTRACE_OUTPUT=os.path.join(folder, "r.rep"),
                           LIBTRACE_FORCE_OVERWRITE="true")
    program = os.path.join(BUILD, "tests/apps/sampled")
    pid = os.posix_spawn(program, [program, "work", str(work)], environment)
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"{program}: status {status}")
    return used.ru_utime + used.ru_stime


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    work = int(sys.argv[2]) if len(sys.argv) > 2 else 300000000
    times = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            names = list(WAYS)
            for name in names[number % len(names):] + names[:number % len(names)]:
                times[name].append(once(WAYS[name], work, folder))
    print(f"{'way':10} {'median':>8} {'quartiles':>17} {'least (s)':>10}")
    for name, values in times.items():
        ratios = [(value / base - 1) * 100 for value, base in zip(values, times["traced"])]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"{name:10} {middle:+7.2f}% {low:+7.2f}..{high:+6.2f}% {min(values):10.3f}")


main()
