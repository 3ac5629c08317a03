#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure how often `trace diff` names the cause of a program that got slower first, and how often it reports a change where there is none.

Usage: tests/proof/functions.py [CASE...] [--busy 2] [--pool DIR] [--most N] [--tries 100] [--null 200] [--seed N] [--record-only]

The programs are in tests/apps, and have no annotations. Cases, with 10 runs of each side where nothing else is said:
    function   a function of C, solve(), takes 15 % longer (numeric.c)
    template   an instance of a template of C++, relax<double>(), takes 15 % longer (numeric_template.cpp)
    python     a function of Python, solve(), takes 15 % longer (numeric.py)
    library    zlib compresses at level 6 instead of 5 (packed.py)
    lock       a lock is held during a wait for a device, too (lock_scope.c)
    allocator  glibc's malloc gets large blocks from the kernel each time, instead of keeping them (allocated.c, GLIBC_TUNABLES)
    kernel     a kernel takes 3 % longer, on the simulated device (tests/cuda/regressed_launch.c)
    15         as "function", with runs of 2 s at the default of 97 samples per second
    3          20 runs of 5 s, 97 Hz, calls of 15 ms; solve() takes 3 % longer
    3-short    20 runs of 5 s, 250 Hz, 150 us; 3 %
    3-perf     20 runs of 5 s, 1 kHz by perf's clock (--sampling-trigger=perf), 15 ms; 3 %
    3-step     as 3-perf, 150 us, so that two calls take about half a period: samples fall on the same function many times in turn
    python-perf  as "python", runs of 1.3 s, 1 kHz by perf's clock
Without an argument: those before "15", whose runs take up to a second of processor time, at 250 samples per second.

Recording 100 tries anew would take hours of processor time. So each case records a pool of runs once (in rounds of random order,
beside --busy processes that never sleep), and each try draws rounds from the pool without replacement. Both runs of a round are used, as if the sides had
been recorded in turn (`trace diff --run`). A null comparison draws runs of the unchanged program only (RUNS of each side, or half of the pool); of two runs
that are neighbors in time, chance decides which is on which side. Tries share runs, so the figures have more chance in them than 100 independent tries.
--pool DIR keeps the reports and records only those that it lacks; --most N records and uses only the first N of each side.

- A change is found if the verdict is "worse" and an item of its place (NAMED) is among what is worse. It is named first if the first item of the report is
  of its place, and named alone if no function of another place is worse. Items of the whole process may be worse, too: they contain the place.
- A false alarm is any verdict but "ok" in a null comparison.

The exit status is 1 if a goal is missed: 95 of 100 tries named first, 90 of 100 where solve() takes 3 % longer; at most 1 % false alarms.
"""
import argparse
import collections
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import time

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(SRC, "build")
TRACE = os.path.join(BUILD, "bin/trace")
os.environ["LIBTRACE_COMMAND"] = TRACE
sys.path.insert(0, os.path.join(SRC, "reader/python"))

from trace_tools import compare, convert, fingerprint, functions, profile  # noqa: E402

APPS = os.path.join(BUILD, "tests/apps")
# base, slow: the words of each side's command. options: of `trace run`. named: {kind: pattern} of items that are the place of the change.
# environment: more variables, of both sides and of the slow one.
Case = collections.namedtuple("Case", "base slow options named runs pool goal environment", defaults=(10, 30, 0.95, ({}, {})))


def sampled(hertz, *more):
    return ("--sample=process-tree", "--sampling-frequency", str(hertz), *more)


def numeric(percent, *arguments):
    """Return the commands of tests/apps/numeric for both sides."""
    return [os.path.join(APPS, "numeric"), "0", *arguments], [os.path.join(APPS, "numeric"), percent, *arguments]


def python(program, base, slow, *arguments):
    """Return the commands of a Python program of tests/apps for both sides, which differ in the first argument."""
    return tuple([sys.executable, os.path.join(SRC, "tests/apps", program), side, *arguments] for side in (base, slow))


SOLVE = {"function": r"solve \(numeric\)"}
CASES = {
    "function": Case(*numeric("15", "2000", "100"), ("-t", "none", *sampled(250)), SOLVE),
    "template": Case(*([os.path.join(APPS, "numeric_template"), percent, "2000", "100"] for percent in ("0", "15")), ("-t", "none", *sampled(250)),
                     {"function": r".*relax<double>\(int\) \(numeric_template\)"}),
    "python": Case(*python("numeric.py", "0", "15", "600", "20"), ("-t", "none", *sampled(250)), {"function": r"solve \(numeric\.py\)"}),
    "library": Case(*python("packed.py", "5", "6", "50"), ("-t", "none", *sampled(250)), {"function": r".*libz\.so.*|pack \(packed\.py\)"}),
    "lock": Case(*([os.path.join(APPS, "lock_scope"), scope, "500"] for scope in ("narrow", "wide")), ("-t", "osrt", "--osrt-threshold", "0", *sampled(250)),
                 {"wait": "pthread_mutex_lock", "chain": "pthread_mutex_lock < .*"}),
    "allocator": Case([os.path.join(APPS, "allocated"), "5000"], [os.path.join(APPS, "allocated"), "5000"], ("-t", "none", *sampled(250)),
                      {"function": r"fill \(allocated\)|.*\(libc\.so\.6\)", "process": "allocated"}, environment=({}, {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=131072"})),
    "kernel": Case(*([os.path.join(BUILD, "tests/cuda/regressed_launch"), what] for what in ("none", "slow")), ("-t", "cuda,nvtx"), {"kernel": "solve"},
                   environment=({"LD_LIBRARY_PATH": os.path.join(BUILD, "sim/cuda13")}, {})),
    "15": Case(*numeric("15", "6667", "100"), ("-t", "none", *sampled(97)), SOLVE, pool=40),
    "3": Case(*numeric("3", "166", "10000"), ("-t", "none", *sampled(97)), SOLVE, 20, 40, 0.90),
    "3-short": Case(*numeric("3", "16667", "100"), ("-t", "none", *sampled(250)), SOLVE, 20, 40, 0.90),
    "3-perf": Case(*numeric("3", "100", "10000"), ("-t", "none", *sampled(1000, "--sampling-trigger=perf")), SOLVE, 20, 40, 0.90),
    "3-step": Case(*numeric("3", "16667", "100"), ("-t", "none", *sampled(1000, "--sampling-trigger=perf")), SOLVE, 20, 40, 0.90),
    "python-perf": Case(*python("numeric.py", "0", "15", "1500", "20"), ("-t", "none", *sampled(1000, "--sampling-trigger=perf")), {"function": r"solve \(numeric\.py\)"}),
}
USUAL = list(CASES)[: list(CASES).index("15")]


def record(case, folder, most, chance):
    """Record the runs that the pool of a case lacks, at most the first `most` of each side."""
    os.makedirs(folder, exist_ok=True)
    both, slow_only = case.environment
    environments = {"base": {**os.environ, **both}, "slow": {**os.environ, **both, **slow_only}}
    for number in range(min(case.pool, most or case.pool)):
        sides = [("base", case.base), ("slow", case.slow)]
        chance.shuffle(sides)
        for side, words in sides:
            report = os.path.join(folder, f"{side}-{number:03}.rep")
            if not os.path.exists(report):
                unfinished = os.path.join(folder, "unfinished.rep")
                subprocess.run([TRACE, "run", *case.options, "--force-overwrite=true", "-o", unfinished, "--", *words], env=environments[side], check=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    """Return copies of the profiles, since compare() changes them, without their facts (the sides differ in their arguments) but the time of their start."""
    return [profile.Profile(p.path, {k: profile.Item(**vars(i)) for k, i in p.items.items()}, set(p.summed), {fingerprint.BEGAN: p.facts[fingerprint.BEGAN]},
                            list(p.problems), p.samples) for p in profiles]


def compared(base, other):
    """Compare two lists of runs; return (verdict, what is worse in the order of the report)."""
    c = compare.compare(fresh(base), fresh(other), compare.Options())
    return c.verdict, [(f.key.kind, f.key.name) for f in c.of("worse")]


def is_place(case, item):
    """Return whether an item (kind, name) is the place of the change."""
    kind, name = item
    return kind in case.named and bool(re.fullmatch(case.named[kind], name))


def tries(case, base, slow, count, chance):
    """Return how often the change was found, named first, and named alone, and what was named first otherwise: {item: number of tries}."""
    found = first = alone = 0
    instead = collections.Counter()
    for _ in range(count):
        rounds = chance.sample(range(min(len(base), len(slow))), case.runs)
        verdict, worse = compared([base[r] for r in rounds], [slow[r] for r in rounds])
        is_found = verdict == compare.WORSE and any(is_place(case, item) for item in worse)
        is_first = is_found and is_place(case, worse[0])
        found += is_found
        first += is_first
        alone += is_found and all(is_place(case, item) for item in worse if item[0] == "function")
        if not is_first:
            instead[" ".join(worse[0]) if worse else f"nothing ({compare.VERDICTS[verdict]})"] += 1
    return found, first, alone, instead


def nulls(case, base, count, chance):
    """Return the number of comparisons of runs of the same program that are not "ok", and what they name first: {item: number of comparisons}."""
    alarms, named = 0, collections.Counter()
    runs = min(case.runs, len(base) // 2)
    for _ in range(count):
        drawn = sorted(chance.sample(range(len(base)), 2 * runs))
        pairs = [chance.sample(pair, 2) for pair in zip(drawn[::2], drawn[1::2])]
        verdict, worse = compared(*([base[pair[side]] for pair in pairs] for side in (0, 1)))
        alarms += verdict != compare.OK
        named.update([" ".join(worse[0])] if worse else [])
    return alarms, named


def spread(profiles):
    """Return the relative standard deviation of the processor time of the process over runs, in percent; NaN if it is not known."""
    values = [item.cpu_ns for p in profiles for key, item in p.items.items() if key.kind == "process" and item.cpu_ns]
    if len(values) < 2:
        return float("nan")
    mean = sum(values) / len(values)
    return 100 * (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5 / mean


def listed(counts):
    return "; ".join(f"{name} ({count})" for name, count in counts.most_common(4)) or "nothing"


def measure(name, given, chance):
    """Measure a case; print its figures, and return whether its goals are met."""
    case, folder, begun = CASES[name], os.path.join(given.pool, name), time.monotonic()
    if given.busy >= 0:
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
        try:
            record(case, folder, given.most, chance)
        finally:
            for process in busy:
                process.kill()
                process.wait()
    if given.record_only:
        return True
    base, slow = (read(folder, side, given.most) for side in ("base", "slow"))
    print(f"{name}: a pool of {len(base)} base and {len(slow)} other runs, {base[0].samples} samples in the first; standard deviation of the processor time "
          f"between the base runs {spread(base):.1f} %; load average {os.getloadavg()[0]:.1f}")
    found, first, alone, instead = tries(case, base, slow, given.tries, chance)
    print(f"{name}: found in {found} of {given.tries}, named first in {first}, and no function of another place in {alone}; first otherwise: {listed(instead)}")
    alarms, named = nulls(case, base, given.null, chance)
    print(f"{name} equal: {alarms} false alarms in {given.null} comparisons of {min(case.runs, len(base) // 2)} runs a side: {listed(named)}")
    print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    return first >= case.goal * given.tries and alarms <= 0.01 * given.null


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--pool")
    parser.add_argument("--most", type=int, default=None)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--null", type=int, default=200)
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
        good = [measure(name, given, chance) for name in given.cases or USUAL]
    print(f"load average at the end {os.getloadavg()[0]:.1f}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
