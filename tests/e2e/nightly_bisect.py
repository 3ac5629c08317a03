#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Check `trace nightly bisect`: a planted commit is found in a repository with merges and commits that cannot be built; an interrupted bisection goes on; what cannot be
bisected is refused. The times are simulated, with noise from fixed seeds (tests/proof/planted_commit.py), so the load of the machine does not matter.
"""
import os
import subprocess
import sys

import lib
import lib_compare as made
from lib import tap

made.enter_interpreter("trace nightly bisect")
sys.path.insert(0, os.path.join(lib.SRC, "tests/proof"))
import planted_commit as plant  # noqa: E402

SLOWER, SPREAD = 5, 2

STOPPED = """
import os, sys
from trace_tools import night, nightly
record, left = night.Night.record_run, [int(sys.argv[1])]
def stop(*words):
    left[0] -= 1
    return record(*words) if left[0] >= 0 else os._exit(9)
night.Night.record_run = stop
sys.exit(nightly.main(sys.argv[2:]))
"""


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e@e", *words], capture_output=True, text=True, check=False).stdout.strip()


def is_clean(folder):
    """Return whether a repository is as before: on its branch, no bisection, no state."""
    return git(folder, "symbolic-ref", "HEAD") == "refs/heads/main" and not os.path.exists(os.path.join(folder, ".git/trace-bisect")) \
        and not os.path.exists(os.path.join(folder, ".git/BISECT_LOG")) and not git(folder, "status", "--porcelain", "--untracked-files=no")


def a_planted_commit_is_found():
    folder = lib.folder()
    found, said = plant.attempt(folder, 5, SLOWER, SPREAD)
    tap.ok(found and "cause: NVTX range simulated:cost" in said and "verdict: worse" in said and "skip: " in said, "the planted commit is found, with its cause", said)
    tap.ok(is_clean(folder), "the repository is as before", said)


def an_interrupted_bisection_goes_on():
    folder = lib.folder()
    commits = plant.create(folder, 7, SLOWER)
    words = plant.arguments(folder, commits, 7, SPREAD)
    environment = {**os.environ, "PYTHONPATH": made.PACKAGES}
    said = ""
    for runs in (6, 15, 8):
        result = subprocess.run([sys.executable, "-c", STOPPED, str(runs), *(words if not said else ["bisect", "--trace-options=-t nvtx"])], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        said += result.stdout + result.stderr
        tap.ok(result.returncode == 9 and ".git/trace-bisect" in result.stdout, "it is killed, and has said where its state is", said)
    status, refused = plant.bisect(folder, [words[0], f"--good={commits['parent']}", *words[2:]])
    tap.ok(status == 2 and "another one is not finished" in refused, "another bisection is refused meanwhile", refused)
    status, last = plant.bisect(folder, ["bisect", "--trace-options=-t nvtx", "--item=:cost"])
    named = plant.found(last)
    tap.ok(status == 0 and named and commits["planted"].startswith(named) and "going on with" in last, "the same command without arguments goes on, and finds the commit", said + last)
    tap.ok(is_clean(folder), "the repository is as before")
    with open(os.path.join(folder, ".git/count"), encoding="ascii") as file:
        recorded = int(file.read())
    tap.ok(f", {recorded} runs; " in last, "no run is lost or repeated", f"{recorded}\n{last}")


def what_cannot_be_bisected_is_refused():
    folder = lib.folder()
    commits = plant.create(folder, 3, SLOWER)
    words = plant.arguments(folder, commits, 3, SPREAD)

    def said_by(*given):
        status, said = plant.bisect(folder, list(given))
        return said if status == 2 else f"status {status}: {said}"

    for given, what in ((["bisect"], "expected --good COMMIT --bad COMMIT -- COMMAND"), (["bisect", "--reset"], "there is nothing to reset"),
                        ([words[0], "--good=none", *words[2:]], "unknown commit 'none'"), ([*words[:2], f"--bad={commits['good']}", *words[3:]], "are the same commit"),
                        ([*words[:3], "--runs=3..9", *words[3:]], "needs at least 5 runs"), ([*words[:3], "--runs=9..5", *words[3:]], "expected an integer of at least 9")):
        said = said_by(*given)
        tap.ok(what in said and said.startswith("trace: ") and said.count("\n") == 1 and is_clean(folder), f"one line: {what}", said)
    with open(os.path.join(folder, "cost"), "a", encoding="ascii") as file:
        file.write("\n")
    said = said_by(*words)
    tap.ok("'cost' is changed; commit or stash it first" in said, "a working tree with changes is refused", said)
    git(folder, "checkout", "-q", "cost")
    git(folder, "bisect", "start")
    said = said_by(*words)
    tap.ok("git is bisecting already" in said, "a bisection of the user is not disturbed", said)
    git(folder, "bisect", "reset")
    said = said_by(words[0], words[1], f"--bad={commits['parent']}", "--runs=5", *words[3:])
    tap.ok("is not worse than" in said and is_clean(folder), "ends that do not differ are no bisection", said)
    said = said_by(*words[:3], "--build=exit 3", *words[4:])
    tap.ok("an end cannot be tested: cannot be built" in said and is_clean(folder), "an end that cannot be built is reported", said)


def a_commit_beside_unbuildable_ones_cannot_be_named():
    folder = lib.folder()
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    for number, (cost, broken) in enumerate(((400000, 0), (400000, 0), (400000, 1), (440000, 0), (440000, 0))):
        with open(os.path.join(folder, "cost"), "w", encoding="ascii") as file:
            file.write(f"{cost}\n")
        with open(os.path.join(folder, "state"), "w", encoding="ascii") as file:
            file.write(f"{'broken' if broken else 'sound'} {number}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"commit {number}")
    status, said = plant.bisect(folder, ["bisect", "--good=HEAD~4", "--bad=HEAD", "--build=grep -q sound state", "--trace-options=-t nvtx", "--item=:cost",
                                         "--", plant.PROGRAM, "cost", ".git/count", "1", "1"])
    tap.ok(status == 2 and "one of these" in said and "commit 2 " in said.split("one of these")[-1] and "commit 3 " in said.split("one of these")[-1] and is_clean(folder),
           "the commits that it can be are listed", said)


if os.path.exists(plant.PROGRAM):
    lib.main(a_planted_commit_is_found, an_interrupted_bisection_goes_on, what_cannot_be_bisected_is_refused, a_commit_beside_unbuildable_ones_cannot_be_named)
else:
    tap.skip("trace nightly bisect", "no headers of NVTX")
    tap.finish()
