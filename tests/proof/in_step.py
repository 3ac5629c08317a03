#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prove that the marks at ends of calls, which take the place of samples in threads in step with the kernel's tick, give each caller its share.

Usage: tests/proof/in_step.py [--rounds 20] [--marks 200000] [--seed 1]

1. By count, of simulated threads with fixed seeds: a thread runs pieces of processor time that end with long calls; a piece belongs to one of two callers with
   lengths of their own. Marks are set as tracer/cpu/sample.c sets them. Their time by caller is compared with the true time: a test of Student on 50 batches of
   marks, two-sided, 0.1 %. The same test must reject the rule that a mark stands for all time up to the end of the call, which favors long pieces.
2. Of real programs (tests/apps/sampled.c): `step`, which wakes at the tick, works 1.2 ms and sleeps; and `naps`, whose long calls are not in step and must get no
   marks. `step` measures the processor time of its two callers itself. All rounds together: |marks - truth| of a caller at most 3.3 standard errors (0.1 %), the
   error of a mark being that of an independent choice of the caller. The power is small: with 20 rounds the standard error is about 2 % of the time.

The exit status is 1 if a test fails.
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(SRC, "build")
TRACE = os.path.join(BUILD, "bin/trace")
OVERDUE_MS = 4 * 1000 / 97
BATCHES = 50
T_LIMIT = 3.5  # 0.1 % of Student's distribution with 49 degrees of freedom, two-sided
# Name: (chance of the first caller, its pieces in ms, those of the second caller).
THREADS = {"pieces of 1.2 ms": (0.7, (1.2, 1.2), (1.2, 1.2)), "pieces of 0.2 and 3.8 ms": (0.9, (0.2, 0.2), (3.8, 3.8)),
           "pieces of random length": (0.5, (0.1, 1.0), (1.0, 3.9)), "a piece as long as two marks": (0.99, (1.0, 3.0), (60.0, 100.0))}


def pieces(shape, chance):
    """Yield (caller, ms) for ever."""
    first, *lengths = shape
    while True:
        caller = int(chance.random() >= first)
        yield caller, chance.uniform(*lengths[caller])


def marks(shape, chance, count, keeps_rest):
    """Yield (caller of the mark, its ms, true ms of each caller since the last mark) of `count` marks."""
    pending, true, found = 0.0, [0.0, 0.0], 0
    for caller, ms in pieces(shape, chance):
        pending += ms
        true[caller] += ms
        if pending >= OVERDUE_MS:
            whole = pending - pending % OVERDUE_MS if keeps_rest else pending
            yield caller, whole, true
            pending, true, found = pending - whole, [0.0, 0.0], found + 1
            if found == count:
                return


def t_of(shape, seed, count, keeps_rest):
    """Return the t of the difference between marks and truth of the first caller, and the difference in percent of all time."""
    differences, whole = [], 0.0
    errors = []
    for number, (caller, ms, true) in enumerate(marks(shape, random.Random(seed), count, keeps_rest), 1):
        differences.append(ms * (caller == 0) - true[0])
        whole += ms
        if number % (count // BATCHES) == 0:
            errors.append(sum(differences))
            differences = []
    error = statistics.stdev(errors) / math.sqrt(len(errors))
    return statistics.mean(errors) / error, 100 * sum(errors) / whole, 100 * error * len(errors) / whole


def simulated(given):
    good = True
    for name, shape in THREADS.items():
        t, bias, error = t_of(shape, given.seed, given.marks, True)
        was = t_of(shape, given.seed, given.marks, False)
        uneven = shape[1] != shape[2]
        held = abs(t) <= T_LIMIT and (not uneven or abs(was[0]) > T_LIMIT)
        good &= held
        print(f"{'ok' if held else 'FAIL'}: {name}: {bias:+.3f} % +- {error:.3f} % of the time in the wrong caller (t {t:+.1f}); "
              f"if a mark stood for all time: {was[1]:+.3f} % (t {was[0]:+.1f})", flush=True)
    return good


def recorded(mode, folder):
    """Run a mode of `sampled` for 1.5 s of processor time; return (what it says, its samples)."""
    path = os.path.join(folder, "r.rep")
    done = subprocess.run([TRACE, "run", "--force-overwrite=true", "--sample=process-tree", "-o", path, "--", os.path.join(BUILD, "tests/apps/sampled"), mode, "1500"],
                          env={**os.environ, "APP_FACTS": "1"}, capture_output=True, text=True, check=True)
    dump = subprocess.run([TRACE, "dump", "--json", "--kind", "cpu_sample", path], capture_output=True, text=True, check=True).stdout
    return done.stdout, [json.loads(line) for line in dump.splitlines()]


def real(given):
    marked, true, total, count, wrong = 0, 0.0, 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="in-step-") as folder:
        for _ in range(given.rounds):
            said, rows = recorded("step", folder)
            often, rarely = (int(said.split(f"{name} ")[-1].split()[0]) for name in ("often", "rarely"))
            by = [sum(r["cpu_time_ns"] for r in rows if name in json.dumps(r["callchain"])) for name in ("step_often", "step_rarely")]
            marked, total, count = marked + by[0], total + sum(by), count + len(rows)
            true += sum(by) * often / (often + rarely)
            wrong += sum("in_step" in str(r.get("flags")) for r in recorded("naps", folder)[1])
    share = true / total
    error = math.sqrt(share * (1 - share) / count)
    held = abs(marked - true) / total <= 3.3 * error and wrong <= given.rounds
    print(f"{'ok' if held else 'FAIL'}: step, {given.rounds} rounds, {count} marks: {100 * marked / total:.2f} % of the time in a caller that took {100 * share:.2f} %, "
          f"standard error {100 * error:.2f} %; naps: {wrong} marks at ends of calls in {given.rounds} rounds")
    return held


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=20, help="of the real programs; 0: none")
    parser.add_argument("--marks", type=int, default=200000, help="of each simulated thread; with much fewer, the other rule is not rejected")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    good = simulated(given)
    return 0 if (not given.rounds or real(given)) and good else 1


if __name__ == "__main__":
    sys.exit(main())
