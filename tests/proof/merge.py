#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure how often `trace merge` keeps its bounds, and how often the planted late rank is named.

Usage: tests/proof/merge.py [--tries 100] [--seed N] [--late-us 30000] [--rounds 12]

In each try, 3 ranks of tests/apps/mpi_rounds run under Open MPI or MPICH on this machine, each recorded in a report of its own. One of them, chosen by
chance, sleeps before each collective. The reports of ranks 1 and 2 are rewritten as if their hosts had other clocks, by an offset of -1 to 1000 s and a rate
of -200 to 200 ppm; then all are merged.
- The bound is kept if each time of each event differs from that in the rank's own report, which is the truth, by at most what the merged report states.
- So is that of each pair of hosts, at one time, which is at most the sum of both.
- The rank is named if it is the first one of `stats -r mpi_late_sum`, with the NVTX range in which it slept.

Prints a line for each implementation. The exit status is 1 if a bound is not kept or a rank is not named. BUILD names the build folder.
"""
import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("BUILD", os.path.join(SRC, "build"))
os.environ.setdefault("SRC", SRC)
sys.path.insert(0, os.path.join(SRC, "tests/e2e"))
import lib_merge  # noqa: E402


def attempt(rng, place, launcher, variable, end, options):
    """Return (bound kept, rank named, greatest stated error in ns), or None if the program failed."""
    late = rng.randrange(lib_merge.RANKS)
    command = [lib_merge.program("mpi_rounds" + end), str(late), str(options.rounds), str(options.late_us)]
    paths = lib_merge.record(launcher, variable, command, place)
    if not paths:
        return None
    target = os.path.join(place, "job.rep")
    if lib_merge.merged(lib_merge.spread(paths, rng), target).status:
        return None
    kept = lib_merge.kept(paths, target) and lib_merge.pairs_kept(paths, target)
    named = lib_merge.latest(target)
    if not kept or named != (str(late), "range :planted"):
        print(f"  late {late}, named {named}, errors {lib_merge.errors(paths, target)}, stated {lib_merge.bounds(target)}", flush=True)
    return kept, named == (str(late), "range :planted"), max(e or 0 for e in lib_merge.bounds(target))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("tries", 100), ("seed", 1), ("late-us", 30000), ("rounds", 12)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    rng, missed = random.Random(options.seed), False
    for name, launcher, variable, end in lib_merge.launchers():
        if not launcher or not lib_merge.program("mpi_rounds" + end):
            print(f"{name}: not installed")
            continue
        found = []
        for _ in range(options.tries):
            place = tempfile.mkdtemp(prefix="libtrace-proof-")
            found.append(attempt(rng, place, launcher, variable, end, options))
            shutil.rmtree(place)
        done = [f for f in found if f]
        kept, named = (sum(f[i] for f in done) for i in range(2))
        middle = statistics.median(f[2] for f in done) if done else 0
        print(f"{name}: bound kept in {kept} of {options.tries}, late rank named in {named} of {options.tries}; stated error, median of the greatest: "
              f"{middle / 1000:.1f} us", flush=True)
        missed |= kept < options.tries or named < options.tries
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
