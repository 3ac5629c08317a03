#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure how often `trace diff` finds a planted change, and how often it reports one where there is none.

A plant is a deliberate slowdown of the program. A try compares runs without a plant with runs of each plant, and, for the false alarms, with other runs
without a plant.

Usage: tests/proof/diff.py [--cpu] [--device] [--tries 100] [--null 200] [--runs 10] [--seed N] [--log FILE]

Each try runs the program RUNS times for each side, in rounds of random order, so that other load on the machine affects all sides
alike. Each run of a CPU program records every call (--osrt-threshold 0 --osrt-locks all). The runs are compared with the defaults of `trace diff`.
- A plant is found if the verdict is "worse" and the planted item is among those that are worse.
- It is named first if it is found and the first item that is worse is the planted item or one that follows from it (ALONG). Items of the whole process do
  not count, since the process takes longer, too.
- No other place is named if it is named first and all other items that are worse follow from it.
- Comparisons of equal programs (--null of them) should have the verdict "ok"; any other verdict is a false alarm.

Prints a line for each plant, the false alarms, and the load of the machine. The exit status is 1 if a goal is missed: at least 95 % of the plants named first,
at most 1 % false alarms. BUILD names the build folder.
"""
import argparse
import collections
import json
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

from trace_tools import compare, convert, profile  # noqa: E402

Subject = collections.namedtuple("Subject", "program options plants environment")

# plant: (kind, path, name) of the item that must be found worse
CPU = Subject("tests/apps/regressed", ["-t", "nvtx,osrt", "--osrt-threshold", "0", "--osrt-locks", "all"], {
    "slow": ("range", ":item", ":solve"),
    "lock": ("wait", ":item/:store", "pthread_mutex_lock"),
    "copy": ("range", ":item", ":pack"),
    "call": ("call", ":item/:store", "write"),
}, {})
DEVICE = Subject("tests/cuda/regressed_launch", ["-t", "cuda,nvtx"], {
    "slow": ("kernel", ":item/:compute", "solve"),
    "kernel": ("kernel", ":item/:compute", "scale"),
    "copy": ("copy", ":item/:load", "[CUDA memcpy Host-to-Device]"),
}, {"LD_LIBRARY_PATH": os.path.join(BUILD, "sim/cuda13")})
# Items that follow from a plant: parts of the planted place, ranges that contain it, and, on the device, the copy back to the host, which waits for the
# kernels before it.
ALONG = {
    "slow": {("range", ":item", ":compute")}, "lock": {("range", ":item", ":store"), ("call", ":item/:store", "pthread_mutex_unlock")},
    "copy": {("range", ":item", ":load"), ("api", ":item/:load", "cuMemcpyHtoD"), ("api", ":item/:load", "cuMemcpyHtoD_v2"), ("sync", ":item/:load", None)},
    "call": {("range", ":item", ":store")}, "kernel": {("range", ":item", ":compute"), ("api", ":item/:compute", "cuLaunchKernel"), ("range", ":item", ":save"), ("api", ":item/:save", "cuMemcpyDtoH_v2")},
}


def record(subject, what, folder, number):
    """Trace the program once, with the plant `what` ("none" for no plant); return its profile. `number` names temporary files in `folder`."""
    report, database = os.path.join(folder, f"{number}.rep"), os.path.join(folder, f"{number}.sqlite")
    environment = {**os.environ, **subject.environment}
    subprocess.run([TRACE, "run", *subject.options, "-o", report, "--", os.path.join(BUILD, subject.program), what], env=environment, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    convert.export(report, database)
    found = profile.read(database, report)
    os.unlink(report)
    os.unlink(database)
    return found


def measure(subject, sides, runs, folder, chance):
    """Run the sides (name: plant) in rounds of random order; return `runs` profiles of each."""
    profiles = {side: [] for side in sides}
    for _ in range(runs):
        order = list(sides)
        chance.shuffle(order)
        for side in order:
            profiles[side].append(record(subject, sides[side], folder, len(profiles[side])))
    return profiles


def fresh(profiles):
    """Return copies of the profiles, since compare() changes them."""
    return [profile.Profile(p.path, {k: profile.Item(**vars(i)) for k, i in p.items.items()}, set(p.summed), dict(p.facts), list(p.problems)) for p in profiles]


def is_right(comparison, plant, place):
    """Return whether the plant is found, whether it is named first, and the items that are worse and do not follow from it."""
    order = [(f.key.kind, f.key.path, f.key.name) for f in comparison.of("worse") if f.key.kind not in ("process", "startup")]
    worse = set(order)
    found = comparison.verdict == compare.WORSE and place in worse
    along = ALONG[plant] | {place}
    first = found and (order[0] in along or plant in ("lock", "call") and order[0][1] == place[1])
    return found, first, {w for w in worse if w[0] != "chain" and w not in along and (w[0], w[1], None) not in along}


def run_subject(name, subject, given, log, chance):
    """Run all tries of a subject; print the figures. Return whether the goals are met."""
    found, named, clean, alarms, nulls = collections.Counter(), collections.Counter(), collections.Counter(), 0, 0
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="diff-proof-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        for number in range(max(given.tries, given.null)):
            sides = {"base": "none"}
            if number < given.null:
                sides["same"] = "none"
            if number < given.tries:
                sides.update({plant: plant for plant in subject.plants})
            profiles = measure(subject, sides, given.runs, folder, chance)
            line = {"subject": name, "try": number, "load": os.getloadavg()[0]}
            for side in sides:
                if side == "base":
                    continue
                c = compare.compare(fresh(profiles["base"]), fresh(profiles[side]), compare.Options())
                line[side] = {"verdict": compare.VERDICTS[c.verdict], "tested": c.tested, "worse": sorted({f"{f.key.kind} {f.key.path}/{f.key.name} {f.metric}" for f in c.of("worse")}),
                              "better": sorted({f"{f.key.kind} {f.key.path}/{f.key.name} {f.metric}" for f in c.of("better")})}
                if side == "same":
                    nulls += 1
                    alarms += c.verdict != compare.OK
                else:
                    is_found, first, elsewhere = is_right(c, side, subject.plants[side])
                    found[side] += is_found
                    named[side] += first
                    clean[side] += first and not elsewhere
                    line[side]["elsewhere"] = sorted(map(str, elsewhere))
            if log:
                print(json.dumps(line), file=log, flush=True)
    for plant in subject.plants if given.tries else ():
        print(f"{name} {plant}: found in {found[plant]} of {given.tries}, its place named first in {named[plant]}, and no other place in {clean[plant]}")
    if given.null:
        print(f"{name} equal: {alarms} false alarms in {nulls} comparisons")
    print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    return all(named[p] >= 0.95 * given.tries for p in subject.plants) and alarms <= 0.01 * nulls


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--null", type=int, default=200)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--log")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="ascii") if line.startswith("model name")), platform.machine())
    print(f"{os.cpu_count()} x {model}, Linux {platform.release()}; {given.runs} runs a side; load average at the start {os.getloadavg()[0]:.1f}", flush=True)
    subjects = [(n, s) for n, s, wanted in (("cpu", CPU, given.cpu), ("device", DEVICE, given.device)) if wanted or not (given.cpu or given.device)]
    log = open(given.log, "a", encoding="utf-8") if given.log else None
    good = [run_subject(n, s, given, log, chance) for n, s in subjects]
    print(f"load average at the end {os.getloadavg()[0]:.1f}")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
