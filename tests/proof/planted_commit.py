#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure how often `trace nightly bisect` finds a planted commit.

Each try creates a repository of 64 commits, with branches that are merged and with commits that cannot be built, in which one commit makes the benchmark slower.
The benchmark is tests/apps/simulated_cost: its time is simulated, with noise drawn from a seed, so neither the load of the machine nor its clock matters, and a
try takes seconds. Everything else is real: git, recorded reports, the comparison.

Usage: tests/proof/planted_commit.py [--tries 100] [--slower PERCENT] [--spread PERCENT] [--seed N]

The parent of the planted commit, the commit itself and both ends can be built; otherwise git could not name a single commit. A try counts as found if the exit
status is 0 and the planted commit is reported as the first bad one. Prints a line for each try that is not, the figures, and how many commits and runs
it took. The exit status is 1 if fewer than 95 % are found. BUILD names the build folder.
"""
import argparse
import contextlib
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import time

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(SRC, "build")
PROGRAM = os.path.join(BUILD, "tests/apps/simulated_cost")
COMMITS = 64
COST_NS = 400_000
os.environ.setdefault("LIBTRACE_COMMAND", os.path.join(BUILD, "bin/trace"))
sys.path.insert(0, os.path.join(SRC, "reader/python"))


def history(chance):
    """Return the parents of each commit, by number: a main line, with branches of some commits that are merged."""
    parents, tip = [[]], 0
    while len(parents) < COMMITS:
        left = COMMITS - len(parents)
        length = chance.randint(1, 4)
        if chance.random() < 0.25 and left > length + 2:
            ends = []
            for count in (length, chance.randint(1, left - length - 1) % 4 + 1):
                before = tip
                for _ in range(min(count, COMMITS - len(parents) - 1)):
                    parents.append([before])
                    before = len(parents) - 1
                ends.append(before)
            if ends[0] != ends[1]:
                parents.append(ends)
        else:
            parents.append([tip])
        tip = len(parents) - 1
    return parents


def with_ancestors(parents, commit):
    """Return the commits that contain a commit."""
    found = {commit}
    for number in range(commit + 1, len(parents)):
        if found & set(parents[number]):
            found.add(number)
    return found


def create(folder, seed, slower, unbuildable=8):
    """Create the repository of a seed. Return {what: hash} of the ends and of the planted commit."""
    chance = random.Random(seed)
    parents = history(chance)
    planted = chance.choice([n for n in range(1, COMMITS) if len(parents[n]) == 1 and COMMITS - 1 in with_ancestors(parents, n)])
    slow = with_ancestors(parents, planted)
    kept = {0, COMMITS - 1, planted, *parents[planted]}
    broken = set(chance.sample(sorted(set(range(COMMITS)) - kept), unbuildable))
    stream = []
    for number, before in enumerate(parents):
        files = {"cost": str(round(COST_NS * (1 + slower / 100)) if number in slow else COST_NS), "number": str(number)}
        if number in broken:
            files["broken"] = ""
        stream.append(f"commit refs/heads/main\nmark :{number + 1}\ncommitter n <e@e> {1_700_000_000 + 60 * number} +0000\ndata <<END\ncommit {number}\nEND\n")
        stream += [f"{'merge' if i else 'from'} :{parent + 1}\n" for i, parent in enumerate(before)]
        stream.append("deleteall\n" + "".join(f"M 100644 inline {name}\ndata <<END\n{text}\nEND\n" for name, text in files.items()))
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    marks = os.path.join(folder, ".git/marks")
    subprocess.run(["git", "-C", folder, "fast-import", "--quiet", f"--export-marks={marks}"], input="".join(stream), text=True, check=True)
    subprocess.run(["git", "-C", folder, "reset", "-q", "--hard", "main"], check=True)
    with open(marks, encoding="ascii") as file:
        hashes = dict(line.strip().lstrip(":").split() for line in file)
    return {"good": hashes["1"], "bad": hashes[str(COMMITS)], "planted": hashes[str(planted + 1)], "parent": hashes[str(parents[planted][0] + 1)]}


def arguments(folder, commits, seed, spread, *more):
    """Return the arguments of `trace nightly`."""
    return ["bisect", f"--good={commits['good']}", f"--bad={commits['bad']}", "--build=test ! -e broken", "--trace-options=-t nvtx", "--item=:cost", *more,
            "--", PROGRAM, "cost", os.path.join(folder, ".git/count"), str(seed), str(spread)]


def bisect(folder, words):
    """Run `trace nightly` with these words in the repository; return (exit status, output)."""
    import trace_tools
    from trace_tools import nightly
    here, out = os.getcwd(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                status = nightly.main(words)
            except trace_tools.Failure as failure:
                status = 2
                print(f"trace: {failure}", file=out)
    finally:
        os.chdir(here)
    return status, out.getvalue()


def found(said):
    """Return the abbreviated hash of the commit that was reported, or None."""
    match = re.search(r"^first bad commit: ([0-9a-f]+) ", said, re.MULTILINE)
    return match and match[1]


def attempt(folder, seed, slower, spread, *more):
    """Create a repository and bisect it. Return (whether the planted commit was found, output)."""
    commits = create(folder, seed, slower)
    status, said = bisect(folder, arguments(folder, commits, seed, spread, *more))
    named = found(said)
    return bool(status == 0 and named and commits["planted"].startswith(named)), f"planted {commits['planted'][:12]}\n{said}"


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--slower", type=float, default=5)
    parser.add_argument("--spread", type=float, default=2)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    good, commits, runs, begun = 0, 0, 0, time.monotonic()
    for seed in range(given.seed, given.seed + given.tries):
        with tempfile.TemporaryDirectory(prefix="bisect-proof-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            is_found, said = attempt(folder, seed, given.slower, given.spread)
        good += is_found
        count = re.search(r"^(\d+) commits, (\d+) runs", said, re.MULTILINE)
        commits, runs = commits + int(count[1] if count else 0), runs + int(count[2] if count else 0)
        if not is_found:
            print(f"seed {seed}: not found; {said}", flush=True)
    print(f"{given.slower:g} % slower, standard deviation between runs {given.spread:g} %: found in {good} of {given.tries}; "
          f"on average {commits / given.tries:.1f} of {COMMITS} commits and {runs / given.tries:.0f} runs; {time.monotonic() - begun:.0f} s")
    return 0 if good >= 0.95 * given.tries else 1


if __name__ == "__main__":
    sys.exit(main())
