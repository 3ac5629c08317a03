#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure what a CPU sample costs beside `perf record` and gperftools: processor time, bytes, and lost samples, at three rates and numbers of threads.

    tests/bench/samplers.py [--rounds N] [--threads 1,8,64] [--rates 100,1000,4000] [TOOL...]

The program (gaps.c) computes 32 calls deep and measures its own interruptions. Processor time of a sample in the program is the sum of its gaps of 3 to 100 us
minus that of the run without samples of the same round, divided by the samples; the helper's (writer, perf) is its processor time minus that of the same tool
around a program that ends at once, divided likewise. Medians over the rounds; "in program" also has the quartiles. Bytes: the size of the file minus that of
a run of 1 ms, divided likewise. Due: processor time times rate; taken: the samples in the file, of it; of a timer that the kernel's tick limits to HZ samples
per second, the rest are periods that a sample stands for ("stands for", in percent of what was due), not lost ones.

Tools: timer (--sample=process-tree), event (the same with --sampling-trigger=perf), perf-fp and perf-dwarf (perf record -e cpu-clock:u --call-graph),
gperftools (libprofiler.so, CPUPROFILE_FREQUENCY, its default timer). A tool that is not installed is left out.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from figures import Runner, note, program, trace  # noqa: E402

SECONDS = {1: 0.4, 8: 0.8, 64: 1.6}  # processor time of all threads of a run
PROFILER = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"


class Measured:
    """A run: ns of its gaps, processor time of its threads and of the tool's helpers, samples, periods, and bytes of the file."""

    def __init__(self, gaps_ns, cpu_ns, helper_ns, samples=0, periods=0, size=0):
        self.gaps_ns, self.cpu_ns, self.helper_ns, self.samples, self.periods, self.size = gaps_ns, cpu_ns, helper_ns, samples, periods, size


def cpu_samples(path):
    """Return (samples, periods) of a report of libtrace."""
    receipts = [(p.get("receipt") or {}).get("cpu") or {} for p in json.loads(trace("info", "--json", path).stdout)["processes"]]
    return sum(r.get("samples", 0) for r in receipts), sum(r.get("periods", 0) for r in receipts)


def perf_samples(path):
    """Return (samples, samples) of a file of perf; lost records are neither."""
    text = subprocess.run(["perf", "report", "--stats", "-i", path], capture_output=True, text=True, check=False).stdout
    found = re.search(r"SAMPLE events:\s+(\d+)", text)
    return (int(found.group(1)),) * 2 if found else (0, 0)


def gperftools_samples(path):
    """Return (samples, samples) of a profile: words of 8 bytes, a header of 5, then count, depth and that many addresses, to a count of 0."""
    words = memoryview(open(path, "rb").read())
    at, total = 5 * 8, 0
    while at + 16 <= len(words):
        count, depth = struct.unpack_from("<QQ", words, at)
        if count == 0:
            break
        total += count
        at += 16 + 8 * depth
    return total, total


def command(tool, rate, argv, path):
    """Return (argv, environment of the program) of a run by a tool; None as tool: the program alone."""
    if tool == "timer" or tool == "event":
        options = {"LD_PRELOAD": os.path.join(os.path.dirname(program("")), "../../lib/libtrace/libtrace.so"), "LIBTRACE_OUTPUT": path,
                   "LIBTRACE_TRACE": "none", "LIBTRACE_SAMPLE": "process-tree", "LIBTRACE_SAMPLING_FREQUENCY": str(rate), "LIBTRACE_FORCE_OVERWRITE": "true"}
        return argv, {**options, "LIBTRACE_SAMPLING_TRIGGER": "perf"} if tool == "event" else options
    if tool and tool.startswith("perf-"):
        return ["perf", "record", "-q", "-F", str(rate), "-e", "cpu-clock:u", "--call-graph", tool[5:], "-o", path, "--", *argv], {}
    if tool:
        return argv, {"LD_PRELOAD": PROFILER, "CPUPROFILE": path, "CPUPROFILE_FREQUENCY": str(rate)}
    return argv, {}


SAMPLES = {"timer": cpu_samples, "event": cpu_samples, "perf-fp": perf_samples, "perf-dwarf": perf_samples, "gperftools": gperftools_samples}


def once(runner, tool, rate, threads, milliseconds):
    path = os.path.join(runner.scratch, "samples.rep")
    argv, options = command(tool, rate, [program("gaps"), "-t", str(threads), "-d", "28", str(milliseconds)], path)
    run = runner.run(argv, **options)
    line = next(line for line in run.lines if line[0] == "gaps")
    cpu = int(line[4])
    measured = Measured(float(line[3]), cpu, run.cpu + run.left - cpu)
    if tool:
        measured.samples, measured.periods = SAMPLES[tool](path)
        measured.size = os.path.getsize(path)
        os.unlink(path)
    return measured


def measure(runner, tool, rate, threads, rounds):
    milliseconds = int(1000 * SECONDS.get(threads, 1.6) / threads)
    program_us, helper_us, size, taken, covered, share = [], [], [], [], [], []
    for number in range(rounds):
        order = (None, tool) if number % 2 else (tool, None)
        got = {which: once(runner, which, rate, threads, milliseconds) for which in order}
        short, base, full = once(runner, tool, rate, threads, 1), got[None], got[tool]
        count, due = max(full.samples - short.samples, 1), full.cpu_ns * rate / 1e9
        program_us.append((full.gaps_ns / full.cpu_ns - base.gaps_ns / base.cpu_ns) * full.cpu_ns / count / 1e3)
        helper_us.append((full.helper_ns - short.helper_ns) / count / 1e3)
        size.append((full.size - short.size) / count)
        taken.append(100 * full.samples / due)
        covered.append(100 * full.periods / due)
        share.append((program_us[-1] + helper_us[-1]) * 1e3 * count / full.cpu_ns * 100)
    low, middle, high = statistics.quantiles(program_us, n=4) if rounds > 1 else program_us * 3
    print(f"| {tool} | {rate:,} | {threads} | {middle:.1f} ({low:.1f} .. {high:.1f}) | {statistics.median(helper_us):.1f} | {statistics.median(share):.2f} % | "
          f"{statistics.median(size):.0f} | {statistics.median(taken):.0f} % | {statistics.median(covered):.0f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=", ".join(SAMPLES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="1,8,64")
    parser.add_argument("--rates", default="100,1000,4000")
    given = parser.parse_args()
    if set(given.tools) - set(SAMPLES):
        parser.error(f"unknown tool; expected some of {', '.join(SAMPLES)}")
    missing = {tool for tool in SAMPLES if (tool.startswith("perf-") and not shutil.which("perf")) or (tool == "gperftools" and not os.path.exists(PROFILER))}
    for tool in sorted(missing):
        note(f"{tool} is not installed")
    runner = Runner(set())
    try:
        print("| tool | rate (Hz) | threads | in program (us a sample) | helper (us a sample) | of processor time | bytes a sample | taken of due | stands for |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
        for tool in given.tools or SAMPLES:
            for rate in map(int, given.rates.split(",")) if tool not in missing else ():
                for threads in map(int, given.threads.split(",")):
                    measure(runner, tool, rate, threads, given.rounds)
    finally:
        runner.close()


if __name__ == "__main__":
    main()
