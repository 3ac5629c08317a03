#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure what CPU samples at the default rate cost each benchmark program: the processor time of all its processes and of the writer.

    tests/bench/sample_cost.py [--rounds N] [WORD...]        only programs whose name has one of the words

Each round runs a program traced with and without --sample=process-tree, in an order that changes from round to round. Prints the median over the rounds of
the ratio of their processor times with its 95 % interval (by the order of the rounds: no assumption about the noise), the samples and threads of a run, and
whether samples cost less than 0.5 %: yes or no if the whole interval is on one side of it, else "not resolved", with the cost by counts: samples and threads
of a run times what each costs (--sample-us, --thread-us), which other work on the machine does not blur.

The programs are those of tests/bench and, where SHARED has a folder `bench` that builds, of that suite. The exit status is 1 if one costs more.
"""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from figures import SRC, BUILD, Runner, note, program, trace  # noqa: E402

LIMIT = 0.5  # percent of processor time
SPAWNS = "for i in $(seq 40); do /bin/true; done"


def own_programs():
    """Return {name: argv} of the programs of tests/bench, each about half a second of processor time."""
    found = {"compute": [os.path.join(BUILD, "tests/apps/sampled"), "work", "150000000"]}
    for kind, count in (("read", 80000), ("write", 90000), ("yield", 50000), ("mutex", 600000), ("mixed", 50000)):
        found[f"calls {kind}"] = [program("calls"), "-r", "9", "-n", str(count), kind]
        found[f"calls {kind}, 4 threads"] = [program("calls"), "-t", "4", "-r", "9", "-n", str(count // 4), kind]
    python = os.path.join(SRC, "tests/bench/deep.py")
    found.update({"deep (C++)": [program("deep"), "2000000"], "deep (Python)": [sys.executable, python, "100000"], "nvtx_calls": [program("nvtx_calls"), "-p", "0"]})
    for what, count in (("fork", 1000), ("thread", 10000), ("throw", 3000)):
        found[f"life {what}"] = [program("life"), "-n", str(count), what]
    found["spawn"] = ["sh", "-c", SPAWNS]
    return {name: argv for name, argv in found.items() if shutil.which(argv[0])}


def shared_programs(folder):
    """Return {name: argv} of the programs of the shared suite, built in `folder`."""
    source = os.path.join(os.environ.get("SHARED", ""), "bench")
    if not os.environ.get("SHARED") or not os.path.isdir(source):
        return {}
    work = os.path.join(folder, "shared-bench")
    shutil.copytree(source, work)
    subprocess.run(["chmod", "-R", "u+w", work], check=True)
    names = ("workload", "lifecycle", "libtarget.so")
    subprocess.run(["make", "-C", work, *(f"build/{name}" for name in names)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    built = os.path.join(work, "build")
    found = {f"shared workload {op}": [os.path.join(built, "workload"), "-o", op, "-n", str(count), "-r", "9"]
             for op, count in (("nop", 20000000), ("mutex", 1000000), ("read", 80000), ("write", 90000), ("yield", 50000))}
    found["shared lifecycle"] = [os.path.join(built, "lifecycle"), "-r", "301"]
    return {name: argv for name, argv in found.items() if os.path.exists(argv[0])}


def once(runner, argv, word):
    """Return the processor time of a run and its writer in s, its samples and sampled threads."""
    report = os.path.join(runner.scratch, "kept.rep")
    run = runner.run(argv, "default", keep=report, LIBTRACE_FORCE_OVERWRITE="true", LIBTRACE_SAMPLE=word)
    receipts = [(p.get("receipt") or {}).get("cpu") or {} for p in json.loads(trace("info", "--json", report).stdout).get("processes", [])]
    os.unlink(report)
    return (run.cpu + run.left) / 1e9, sum(r.get("samples", 0) for r in receipts), sum(r.get("threads", 0) for r in receipts)


def interval(values):
    """Return (low, high) that contain the median with a chance of 95 % or more, of sorted values; the extremes if there are too few."""
    n, below, k = len(values), 0.0, 0
    while k < n // 2 and below + math.comb(n, k) / 2 ** n <= 0.025:
        below += math.comb(n, k) / 2 ** n
        k += 1
    k = max(k - 1, 0)
    return values[k], values[n - 1 - k]


def measure(runner, name, argv, given):
    """Print the line of a program; return True if it costs more than the limit."""
    ratios, seconds, samples, threads = [], [], [], []
    for number in range(given.rounds):
        words = ("none", "process-tree") if number % 2 else ("process-tree", "none")
        got = {word: once(runner, argv, word) for word in words}
        ratios.append((got["process-tree"][0] / got["none"][0] - 1) * 100)
        seconds.append(got["none"][0])
        samples.append(got["process-tree"][1])
        threads.append(got["process-tree"][2])
    ratios.sort()
    low, high = interval(ratios)
    took, count, begun = (statistics.median(values) for values in (seconds, samples, threads))
    counted = 100 * (count * given.sample_us + begun * given.thread_us) / 1e6 / took
    verdict = "yes" if high < LIMIT else "no" if low > LIMIT else f"not resolved; by counts {'yes' if counted < LIMIT else 'no'}"
    print(f"{name:26} {took:7.3f} {count:7.0f} {begun:7.0f} {statistics.median(ratios):+8.2f} % {low:+8.2f} .. {high:+7.2f} % {counted:8.2f} %  {verdict}", flush=True)
    return verdict.endswith("no")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sample-us", type=float, default=20.0, help="cost of a sample: tests/bench/samplers.py measures it")
    parser.add_argument("--thread-us", type=float, default=3.3, help="cost of a thread: the difference of `life thread`")
    given = parser.parse_args()
    runner, over = Runner(set()), 0
    try:
        programs = {**own_programs(), **shared_programs(runner.scratch)}
        print(f"{'program':26} {'s':>7} {'samples':>7} {'threads':>7} {'median':>10} {'95 % interval':>22} {'by counts':>10}  below {LIMIT} %")
        for name, argv in programs.items():
            if not given.words or any(word in name for word in given.words):
                note(name)
                over += measure(runner, name, argv, given)
    finally:
        runner.close()
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
