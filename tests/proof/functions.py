#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure how often `trace diff` names the function that got slower, by CPU samples, and how often it names one where nothing changed.

The program (tests/apps/numeric.c) calls two numeric functions in turn and has no annotations; one of them, solve(), takes PERCENT longer.

Usage: tests/proof/functions.py [CASE...] [--pool DIR] [--most N] [--tries 100] [--null 100] [--busy 2] [--seed N] [--record-only]

Cases (all by default): RUNS of each side that a try compares, processor time of a run, sampling frequency, processor time of one call of a function.
    15       10 runs of 2 s, 97 Hz, 150 us; solve() takes 15 % longer
    3        20 runs of 5 s, 97 Hz, 15 ms;   3 % longer
    3-short  20 runs of 5 s, 250 Hz, 150 us; 3 % longer
    3-perf   20 runs of 5 s, 1 kHz by perf's clock (--sampling-trigger=perf), 15 ms; 3 % longer
    3-step   as 3-perf, 150 us, so that two calls take about half a period: samples fall on the same function many times in turn

Recording 100 tries anew would take hours of processor time. So each case records a pool of runs once (POOL runs of each side, in rounds of random order,
beside --busy processes that never sleep), and each try draws its runs from the pool without replacement; a null comparison draws both sides from the
runs of the unchanged program (RUNS of each, or half of the pool). Tries share runs, so the figures have more chance in them than 100 independent tries. --pool DIR keeps the reports and
records only those that it lacks; --most N uses only the first N of each side.

- A change is found if the verdict is "worse" and solve() is among what is worse. It is named first if it is the first item of the report, and named alone
  if no other function is worse. Items of the whole process may be worse, too: they contain the function.
- A false alarm is any verdict but "ok" in a null comparison. A function that is named though another one changed is counted as "other functions".

The exit status is 1 if a goal is missed: 95 of 100 tries named first (15), 90 of 100 (3, 3-short, 3-perf, 3-step); at most 1 % false alarms.
"""
import argparse
import collections
import os
import platform
import random
import subprocess
import sys
import tempfile
import time

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(SRC, "build")
TRACE = os.path.join(BUILD, "bin/trace")
os.environ["LIBTRACE_COMMAND"] = TRACE
sys.path.insert(0, os.path.join(SRC, "reader/python"))

from trace_tools import compare, convert, functions, profile  # noqa: E402

# arguments: of tests/apps/numeric for the base runs; the first one is PERCENT.
Case = collections.namedtuple("Case", "percent arguments hertz trigger runs pool goal")
CASES = {
    "15": Case("15", ("6667", "100"), 97, "timer", 10, 40, 0.95),
    "3": Case("3", ("166", "10000"), 97, "timer", 20, 40, 0.90),
    "3-short": Case("3", ("16667", "100"), 250, "timer", 20, 40, 0.90),
    "3-perf": Case("3", ("100", "10000"), 1000, "perf", 20, 40, 0.90),
    "3-step": Case("3", ("16667", "100"), 1000, "perf", 20, 40, 0.90),
}
CHANGED = "solve (numeric)"


def record(case, folder, chance):
    """Record the runs that the pool of a case lacks."""
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(BUILD, "tests/apps/numeric")
    for number in range(case.pool):
        sides = [("base", "0"), ("slow", case.percent)]
        chance.shuffle(sides)
        for side, percent in sides:
            report = os.path.join(folder, f"{side}-{number:03}.rep")
            if not os.path.exists(report):
                unfinished = os.path.join(folder, "unfinished.rep")
                subprocess.run([TRACE, "run", "-t", "none", "--sample=process-tree", "--sampling-frequency", str(case.hertz),
                                "--sampling-trigger", case.trigger, "--force-overwrite=true", "-o", unfinished, "--", program,
                                percent, *case.arguments], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                os.rename(unfinished, report)


def read(folder, side, most):
    """Return the profiles of one side's reports."""
    found = []
    with tempfile.TemporaryDirectory(prefix="functions-proof-") as temporary:
        for name in sorted(n for n in os.listdir(folder) if n.startswith(side) and n.endswith(".rep"))[:most]:
            database = os.path.join(temporary, "run.sqlite")
            convert.export(os.path.join(folder, name), database)
            found.append(profile.read(database, name))
    return found


def fresh(profiles):
    """Return copies of the profiles, since compare() changes them, without the arguments, in which the sides differ."""
    return [profile.Profile(p.path, {k: profile.Item(**vars(i)) for k, i in p.items.items()}, set(p.summed), {}, list(p.problems), p.samples) for p in profiles]


def compared(base, other):
    """Compare two lists of runs; return (verdict, what is worse in the order of the report)."""
    c = compare.compare(fresh(base), fresh(other), compare.Options())
    return c.verdict, [(f.key.kind, f.key.name) for f in c.of("worse")]


def tries(case, base, slow, count, chance):
    """Return how often the change was found, named first, and named alone."""
    found = first = alone = 0
    for _ in range(count):
        verdict, worse = compared(chance.sample(base, case.runs), chance.sample(slow, case.runs))
        is_found = verdict == compare.WORSE and ("function", CHANGED) in worse
        found += is_found
        first += is_found and worse[0] == ("function", CHANGED)
        alone += is_found and [name for kind, name in worse if kind == "function"] == [CHANGED]
    return found, first, alone


def nulls(case, base, count, chance):
    """Return how many comparisons of runs of the same program are not "ok", and how many name a function."""
    alarms = named = 0
    runs = min(case.runs, len(base) // 2)
    for _ in range(count):
        drawn = chance.sample(base, 2 * runs)
        verdict, worse = compared(drawn[:runs], drawn[runs:])
        alarms += verdict != compare.OK
        named += any(kind == "function" for kind, _ in worse)
    return alarms, named


def spread(profiles, name, field):
    """Return the relative standard deviation of an item's count or time over runs, in percent."""
    values = [getattr(i, field) for p in profiles for k, i in p.items.items() if k.name == name]
    mean = sum(values) / len(values)
    return 100 * (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5 / mean


def measure(name, given, chance):
    """Measure a case; print its figures, and return whether its goals are met."""
    case, folder, begun = CASES[name], os.path.join(given.pool, name), time.monotonic()
    if given.busy >= 0:
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
        try:
            record(case, folder, chance)
        finally:
            for process in busy:
                process.kill()
                process.wait()
    if given.record_only:
        return True
    base, slow = (read(folder, side, given.most) for side in ("base", "slow"))
    print(f"{name}: a pool of {len(base)} base and {len(slow)} other runs, {base[0].samples} samples in the first; standard deviation between the base runs: "
          f"processor time of the process {spread(base, 'numeric', 'cpu_ns'):.1f} %, of {CHANGED} {spread(base, CHANGED, 'cpu_ns'):.1f} %, its samples {spread(base, CHANGED, 'count'):.1f} %")
    found, first, alone = tries(case, base, slow, given.tries, chance)
    print(f"{name}: found in {found} of {given.tries}, named first in {first}, and no other function in {alone}")
    alarms, named = nulls(case, base, given.null, chance)
    print(f"{name} equal: {alarms} false alarms in {given.null} comparisons of {min(case.runs, len(base) // 2)} runs a side, {named} of them name a function")
    print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    return first >= case.goal * given.tries and alarms <= 0.01 * given.null


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--pool")
    parser.add_argument("--most", type=int, default=None)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--null", type=int, default=100)
    parser.add_argument("--busy", type=int, default=2, help="-1: record nothing")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--record-only", action="store_true")
    given = parser.parse_args()
    unknown = set(given.cases) - set(CASES)
    if unknown:
        parser.error(f"unknown case {', '.join(sorted(unknown))}: expected {', '.join(CASES)}")
    chance = random.Random(given.seed)
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="ascii") if line.startswith("model name")), platform.machine())
    print(f"{os.cpu_count()} x {model}, Linux {platform.release()}; {given.busy} busy processes; load average at the start {os.getloadavg()[0]:.1f}; "
          f"functions are named at {functions.NAMING_ALPHA:g} if the processor time of the program changed", flush=True)
    with tempfile.TemporaryDirectory(prefix="functions-proof-") as folder:
        given.pool = given.pool or folder
        good = [measure(name, given, chance) for name in given.cases or CASES]
    print(f"load average at the end {os.getloadavg()[0]:.1f}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
