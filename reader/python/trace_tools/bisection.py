# SPDX-License-Identifier: Apache-2.0
"""`trace nightly bisect`: find the commit that made a benchmark worse, by git bisect with the verdict as its test.

First both ends are recorded until the verdict "worse" is sure. Its largest item is the one that is looked for. A commit
is then good or bad by the level of that item: that of the good end or that of the bad one, by Wald's sequential
probability ratio test, run by run, until the chance of an error is at most ERROR, or --runs is exhausted (then the
commit is skipped). At the end the commit and its parent are compared like the ends: the verdict has the cause.

Everything is written down at once, in .git/trace-bisect and in git's own log, so that the same command goes on after an
interruption.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys

import numpy

from . import Failure, compare, formats, functions, night, sequential, statistics, store
from .compare import Comparison, Finding
from .profile import Item, Profile
from .renames import full_path
from .statistics import Reals

FOLDER = "trace-bisect"  # in the folder of git
ERROR = 0.001  # chance that the test of a commit is wrong
LEAST_RUNS, LEAST_RUNS_EXACT = 3, 2  # of a commit; exact: the item is the same in all runs of each end
SKIP, CANNOT_BUILD = 125, "cannot be built"
FIRST_BAD = re.compile(r"^(?:# first bad commit: \[)?([0-9a-f]{40,64})(?:\]| is the first bad commit)", re.MULTILINE)
REMAINING = re.compile(r"^(?:# possible first bad commit: \[)?([0-9a-f]{40,64})\]?", re.MULTILINE)


class Unusable(Exception):
    """A commit that cannot be tested, and why."""


class Repository:
    """The repository of the current folder; its commands run in its top folder."""

    def __init__(self) -> None:
        self.top = "."
        self.top = self.text("rev-parse", "--show-toplevel")
        self.folder = os.path.join(os.path.abspath(self.text("rev-parse", "--git-dir")), FOLDER)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                ["git", *words],
                cwd=self.top,
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise Failure(f"bisect: cannot run 'git': {error.strerror}") from None

    def text(self, *words: str) -> str:
        """Return the output of a command of git. Raises Failure with the last line of its errors."""
        result = self.run(*words)
        if result.returncode:
            lines = result.stderr.strip().splitlines() or [f"status {result.returncode}"]
            raise Failure(f"bisect: git {words[0]}: {lines[0].removeprefix('fatal: ').removeprefix('error: ')}")
        return result.stdout.strip()

    def commit(self, name: str) -> str:
        """Return the hash of a commit by any name of it."""
        result = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if result.returncode:
            raise Failure(f"bisect: unknown commit '{name}'")
        return result.stdout.strip()

    def title(self, commit: str) -> str:
        return self.text("log", "-1", "--format=%h %s (%an, %as)", commit)

    def is_bisecting(self) -> bool:
        return os.path.exists(os.path.join(os.path.dirname(self.folder), "BISECT_LOG"))


class State:
    """What is being bisected: state.json in the folder, and the store of its runs."""

    def __init__(self, repository: Repository, given: argparse.Namespace, program: list[str]) -> None:
        self.folder = repository.folder
        file = os.path.join(self.folder, "state.json")
        self.is_new = not os.path.exists(file)
        if self.is_new:
            self.create(repository, given, program, file)
        with open(file, encoding="utf-8") as text:
            known = json.load(text)
        self.good, self.bad, self.program, self.build = (known[n] for n in ("good", "bad", "program", "build"))
        wanted = [
            (repository.commit(given.good) if given.good else self.good, self.good),
            (repository.commit(given.bad) if given.bad else self.bad, self.bad),
            (program or self.program, self.program),
            (given.build if given.build is not None else self.build, self.build),
        ]
        if any(one != other for one, other in wanted):
            raise Failure(
                f"bisect: another one is not finished, {self.good[:12]}..{self.bad[:12]} by "
                f"{shlex.join(self.program)}; 'trace nightly bisect' goes on with it, --reset ends it"
            )

    def create(self, repository: Repository, given: argparse.Namespace, program: list[str], file: str) -> None:
        """Check that a new one can begin, and write the state."""
        if not (given.good and given.bad and program):
            raise Failure(
                "bisect: expected --good COMMIT --bad COMMIT -- COMMAND; see 'trace nightly bisect --help'"
                if not given.reset
                else "bisect: there is nothing to reset"
            )
        if repository.is_bisecting():
            raise Failure("bisect: git is bisecting already; 'git bisect reset' ends it")
        changed = repository.text("status", "--porcelain", "--untracked-files=no")
        if changed:
            raise Failure(f"bisect: '{changed.splitlines()[0][2:].strip()}' is changed; commit or stash it first")
        state = {
            "good": repository.commit(given.good),
            "bad": repository.commit(given.bad),
            "program": program,
            "build": given.build,
        }
        if state["good"] == state["bad"]:
            raise Failure("bisect: --good and --bad are the same commit")
        os.makedirs(self.folder, exist_ok=True)
        with open(file + ".new", "w", encoding="utf-8") as out:
            json.dump(state, out)
        os.rename(file + ".new", file)


class Target:
    """The item that is looked for, and its level at both ends."""

    def __init__(self, comparison: Comparison, finding: Finding) -> None:
        self.comparison, self.finding = comparison, finding
        ends = [sequential.values(s, finding.key, finding.metric) for s in (comparison.base, comparison.other)]
        self.is_exact = all(numpy.ptp(side) == 0 for side in ends)
        self.spread = sequential.spread_of(ends[0], ends[1])
        self.levels = [float(numpy.median(numpy.log1p(side))) for side in ends]

    def values(self, profiles: list[Profile]) -> Reals:
        """Return the values in the runs of a commit; NaN where there is no such item."""
        key = self.finding.key
        compare.fold_summed(profiles + self.comparison.base + self.comparison.other)
        functions.settle(profiles, [])
        for profile in profiles:
            for old in [k for k in profile.items if self.finding.formerly and k.kind == key.kind]:
                if self.finding.formerly in (full_path(old), old.name) and key not in profile.items:
                    profile.items[key] = profile.items.pop(old, Item())
        return sequential.values(profiles, key, self.finding.metric)

    def is_bad(self, values: Reals) -> bool | None:
        """Return whether the runs of a commit are like those of the bad end; None if more runs are needed."""
        good, bad = self.levels
        apart = abs(bad - good)
        toward = (numpy.log1p(values) - (good + bad) / 2) * math.copysign(1, bad - good)
        if self.is_exact:
            return bool(toward.mean() > 0) if len(values) >= LEAST_RUNS_EXACT else None
        if len(values) < LEAST_RUNS:
            return None
        spread = max(self.spread, apart / 10)  # few runs of the ends may have a small spread by chance
        limit = apart / 2 / spread + statistics.CUT
        ratio = float((numpy.clip(toward / spread, -limit, limit) * apart / spread).sum())
        sure = math.log((1 - ERROR) / ERROR)
        return ratio > 0 if abs(ratio) >= sure else None


class Bisection:
    def __init__(self, given: argparse.Namespace, program: list[str], now: datetime.datetime) -> None:
        self.given, self.now = given, now
        self.repository = Repository()
        self.state = State(self.repository, given, program)
        self.built: str | None = None
        self.bounds: sequential.Runs = given.runs
        given.name, given.host, given.folder = "bisect", "here", self.state.folder
        given.ranks = given.rank_variable = None
        os.makedirs(os.path.join(self.state.folder, "bisect"), exist_ok=True)
        self.lock = night.Lock(os.path.join(self.state.folder, "lock"))
        self.kept = store.Store(os.path.join(self.state.folder, "runs.sqlite"))

    # ---- recording a commit ----

    def night_of(self, commit: str) -> store.Row:
        """Return the row of a commit in the store; its runs are those of all visits."""
        while True:
            for row in self.kept.nights("bisect", "here"):
                if row["commit_id"] == commit:
                    return row
            begun = self.now.isoformat(timespec="seconds").replace("+00:00", "")
            folder = os.path.join(self.state.folder, "bisect", commit[:12])
            self.kept.night_begin("bisect", "here", begun, commit, folder)

    def build(self, commit: str, runner: night.Night) -> None:
        """Check out a commit and build it. Without --build, the command builds, in a run that is not recorded."""
        if self.built == commit:
            return
        self.built = None
        self.repository.text("checkout", "--quiet", "--detach", commit)
        words = ["/bin/sh", "-c", self.state.build] if self.state.build is not None else runner.plain()
        log = os.path.join(runner.folder, "build.log")
        outcome, *_ = runner.execute(words, log, 0)
        if outcome != "ok":
            raise Unusable(f"{CANNOT_BUILD}: {outcome}{night.cause_in(log)}")
        self.built = commit

    def record(self, commit: str, count: int) -> list[Profile]:
        """Return the profiles of at least `count` runs of a commit; record what lacks. Raises Unusable."""
        row = self.night_of(commit)
        if row["verdict"] == "skip":
            raise Unusable(row["reason"])
        runs = [r for r in self.kept.runs(row["id"]) if r["outcome"] == "ok"]
        if len(runs) < count:
            self.given.commit = commit
            runner = night.Night(self.given, self.state.program, self.now)
            runner.folder = row["folder"]
            os.makedirs(runner.folder, exist_ok=True)
            try:
                self.build(commit, runner)
                for number in range(len(runs) + 1, count + 1):
                    runner.record_run(self.kept, row["id"], number)
                    for _, path in runner.reports_of(number):
                        os.unlink(path)  # the store has what is compared
                    if self.kept.runs(row["id"])[-1]["outcome"] != "ok":
                        raise Unusable((runner.notes or ["the run failed"])[-1])
            except Unusable as why:
                self.kept.night_end(row["id"], "skip", str(why), False, None, "")
                raise
        return self.kept.profiles(row["id"])[:count]

    # ---- comparing ----

    def compare(self, base: str, other: str) -> Comparison:
        """Record two commits in turn until the verdict is sure. Raises Unusable."""
        options = compare.Options(force=self.given.force)
        alpha = self.given.alpha or options.alpha
        if self.given.min_effect is not None:
            options.min_effect = self.given.min_effect / 100
        comparison = None
        for count, options.alpha in sequential.looks(self.bounds, alpha):
            order = [other, base] if self.built == other else [base, other]
            for commit in order:
                self.record(commit, count)
            sides = [self.record(commit, count) for commit in (base, other)]
            comparison = compare.compare(sides[0], sides[1], options)
            self.say(f"{base[:12]} and {other[:12]}, {count} runs each: {compare.VERDICTS[comparison.verdict]}")
            if self.worse(comparison) or comparison.problems:
                break
        assert comparison
        return comparison

    def worse(self, comparison: Comparison) -> list[Finding]:
        """Return what got worse and may be looked for."""
        return [f for f in comparison.of("worse") if not self.given.item or self.given.item in compare.title(f.key)]

    def target(self) -> Target:
        """Return what is looked for. Raises Failure if the bad end is not worse than the good one."""
        try:
            comparison = self.compare(self.state.good, self.state.bad)
        except Unusable as why:
            raise Failure(f"bisect: an end cannot be tested: {why}") from None
        worse = self.worse(comparison)
        if not worse:
            others = ", ".join(compare.title(f.key) for f in comparison.of("worse")[:5])
            what = f"in '{self.given.item}', but in {others}" if others else f"({comparison.reason})"
            raise Failure(f"bisect: {self.state.bad[:12]} is not worse than {self.state.good[:12]} {what}")
        return Target(comparison, worse[0])

    def test(self, commit: str, target: Target) -> str:
        """Return the word for git: good, bad or skip."""
        title = self.repository.title(commit)
        verdict, text = "skip", ""
        try:
            for count in range(LEAST_RUNS_EXACT, self.bounds.last + 1):
                values = target.values(self.record(commit, count))
                if numpy.isnan(values).any():
                    text = "the item is not in its runs"
                    break
                is_bad = target.is_bad(values)
                text = f"{formats.number(float(numpy.median(values)))} in {len(values)} runs"
                if is_bad is not None:
                    verdict = "bad" if is_bad else "good"
                    break
            else:
                text += ", which is between good and bad"
        except Unusable as why:
            text = str(why)
        self.kept.night_end(self.night_of(commit)["id"], verdict, text, False, None, "")
        self.say(f"{verdict}: {title}: {text}")
        return verdict

    # ---- git ----

    def say(self, text: str) -> None:
        print(text, flush=True)

    def search(self, target: Target) -> tuple[str | None, list[str]]:
        """Return the first bad commit; else the commits of which one is it."""
        git = self.repository
        result = git.run("bisect", "next")
        while True:
            said = result.stdout + result.stderr
            log = git.run("bisect", "log").stdout
            found = FIRST_BAD.search(log) or FIRST_BAD.search(said)
            if found:
                return found[1], []
            if "'skip'ped commits left" in said:
                return None, REMAINING.findall(said)
            if result.returncode:
                lines = [line for line in said.strip().splitlines() if line] or ["it failed"]
                raise Failure(f"bisect: git bisect: {lines[0]}")
            commit = git.text("rev-parse", "HEAD")
            result = git.run("bisect", self.test(commit, target), commit)

    def finish(self, target: Target, commit: str) -> int:
        """Compare the commit with its parent and report it."""
        parent = self.repository.text("rev-parse", f"{commit}^")
        self.say(f"\nfirst bad commit: {self.repository.title(commit)}")
        try:
            comparison = self.compare(parent, commit)
        except Unusable as why:
            self.say(f"not compared with its parent: {why}")
            return compare.CANNOT_TELL
        worse = self.worse(comparison)
        confirmed = bool(worse)
        cause = ([f for f in worse if f.key == target.finding.key] or worse or [target.finding])[0]
        self.say(f"cause: {cause_text(cause)}")
        self.say(
            f"verdict: {compare.VERDICTS[comparison.verdict]}: {comparison.reason}"
            + ("" if confirmed else "; so the comparison with its parent does not confirm it")
        )
        return compare.OK if confirmed else compare.CANNOT_TELL

    def end(self) -> None:
        """Go back to where the repository was, and remove the state."""
        if self.repository.is_bisecting():
            self.repository.text("bisect", "reset")
        self.kept.close()
        shutil.rmtree(self.state.folder)

    def run(self) -> int:
        git, state = self.repository, self.state
        if self.given.reset:
            self.end()
            return 0
        self.say(
            f"{'bisecting' if state.is_new else 'going on with'} {state.good[:12]}..{state.bad[:12]}; the state is in "
            f"{state.folder}: after an interruption, 'trace nightly bisect' goes on, and --reset ends it"
        )
        if not git.is_bisecting():
            git.text("bisect", "start", state.bad, state.good)
        try:
            target = self.target()
        except Failure:
            self.end()
            raise
        self.say(f"looking for: {cause_text(target.finding)}")
        commit, others = self.search(target)
        if commit:
            status = self.finish(target, commit)
        else:
            status = compare.CANNOT_TELL
            self.say("\nthe first bad commit is one of these, and the others of them cannot be tested:")
            for other in others:
                self.say(f"  {git.title(other)}")
        nights = self.kept.nights("bisect", "here")
        runs = sum(len(self.kept.runs(n["id"])) for n in nights)
        words = [n["verdict"] for n in nights]
        self.say(
            f"{len(nights)} commits, {runs} runs; "
            + ", ".join(f"{words.count(word)} {word}" for word in ("good", "bad", "skip") if word in words)
        )
        self.end()
        return status


def cause_text(f: Finding) -> str:
    """Return one line that says what got worse, and by how much."""
    path = f" in {f.key.path}" if f.key.path else ""
    return (
        f"{compare.title(f.key)}{path}, {formats.metric_text(f)}: {formats.number(f.base)} -> "
        f"{formats.number(f.other)} ({formats.percent(f.ratio)})" + (f"; {f.cause}" if f.cause else "")
    )


def main(given: argparse.Namespace, program: list[str], now: datetime.datetime) -> int:
    """Run `trace nightly bisect`."""
    try:
        return Bisection(given, program, now).run()
    except KeyboardInterrupt:
        print("interrupted; 'trace nightly bisect' goes on", file=sys.stderr)
        return 130
