# SPDX-License-Identifier: Apache-2.0
"""`trace diff --run A --run B`: record two commands in turn, and stop as soon as the verdict is sure.

The order is A B, B A, A B, ...: a machine that becomes slower over the runs slows both sides alike. sequential.py says
when a verdict is sure.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess

import numpy

from . import Failure, compare, convert, merging, night, profile, sequential
from .compare import Comparison
from .profile import Profile
from .progress import Progress

SIDES = ("A", "B")


def words_of(text: str) -> list[str]:
    """Split a command into words as a shell does, without running a shell."""
    try:
        found = shlex.split(text)
    except ValueError as error:
        raise Failure(f"diff: --run: '{text}' is not a list of shell words: {str(error).lower()}") from None
    if not found:
        raise Failure("diff: --run: the command is empty")
    return found


def aligned(found: Profile, name: str, usual: str) -> Profile:
    """Give the program of side B the name of that of side A, under which their items are compared."""
    if name == usual:
        return found
    items = {}
    for key, item in found.items.items():
        if key.program == name:
            is_named = key.kind == "process" or (key.kind == "thread" and key.name == name)
            text = usual if is_named else key.name
            if key.kind == "function" and text.endswith(f" ({name})"):
                text = f"{text.removesuffix(f' ({name})')} ({usual})"
            key = key._replace(program=usual, name=text)
        items[key] = item
    found.items = items
    if found.facts.get("program") == name:
        found.facts["program"] = usual
    return found


class Recording:
    """The runs of both commands, in a folder."""

    def __init__(self, given: argparse.Namespace, folder: str, progress: Progress) -> None:
        self.given, self.folder, self.progress = given, folder, progress
        self.commands = [words_of(text) for text in given.run]
        self.names = [os.path.basename(words[0]) for words in self.commands]
        self.readings: tuple[list[merging.Reading], list[merging.Reading]] = ([], [])

    def record(self, side: int, number: int) -> None:
        """Record a run of a side. Raises Failure if the command fails."""
        report = os.path.join(self.folder, f"{SIDES[side].lower()}-{number:02}.rep")
        log = f"{report.removesuffix('.rep')}.log"
        options = ["run", *self.given.trace_options, "-f", "true", "-o", report, "--"]
        with open(log, "wb") as out:
            try:
                process = subprocess.Popen(
                    [convert.command(), *options, *self.commands[side]],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    env={**os.environ, "LIBTRACE_GPU_METRICS_PASS": str(number)},  # as in night.py
                    start_new_session=True,
                )
            except OSError as error:
                raise Failure(f"cannot run '{convert.command()}': {error.strerror}") from None
            try:
                status = process.wait()
            except BaseException:
                night.Night.end(process, signal.SIGTERM)
                raise
        what = f"run {number} of {SIDES[side]}, '{shlex.join(self.commands[side])}'"
        if status:
            how = f"failed (status {status})" if status > 0 else f"was killed (signal {-status})"
            raise Failure(f"diff: {what} {how}{night.cause_in(log)}")
        if not os.path.exists(report):
            raise Failure(f"diff: {what} wrote no report{night.cause_in(log)}")
        database = f"{report}.sqlite"
        convert.export(report, database)
        self.readings[side].append(merging.read(database, report, self.given.merge_numbers))
        os.unlink(database)

    def say(self) -> None:
        """Show how far it is: the number of runs, and the median of the whole program."""
        sides = [[compare.length_ns(p) for r in side for p in r.profiles()[:1]] for side in self.readings]
        if all(sides):
            a, b = (float(numpy.median(side)) for side in sides)
            change = f", {100 * (b / a - 1):+.1f} %" if a else ""
            self.progress.say(
                f"{len(sides[0])} and {len(sides[1])} runs of at most {self.given.runs.last}; "
                f"{a / 1e6:,.1f} and {b / 1e6:,.1f} ms{change}"
            )

    def extend(self, count: int) -> None:
        """Record until each side has `count` runs."""
        for number in range(len(self.readings[0]) + 1, count + 1):
            for side in (0, 1) if number % 2 else (1, 0):
                self.record(side, number)
                self.say()

    def profiles(self) -> tuple[list[Profile], list[Profile], list[str]]:
        """Return fresh profiles of both sides, and notes about them."""
        found, notes = merging.choose([*self.readings[0], *self.readings[1]], self.given.merge_numbers)
        copies = [profile.copy_of(p) for p in found]
        split = len(self.readings[0])
        other = [aligned(p, self.names[1], self.names[0]) for p in copies[split:]]
        if self.names[0] != self.names[1]:
            notes = [*notes, f"program '{self.names[1]}' is compared as '{self.names[0]}'"]
        return copies[:split], other, notes


def record(given: argparse.Namespace, options: compare.Options, folder: str, progress: Progress) -> Comparison:
    """Record both commands until the verdict is sure. Return the last comparison."""
    recording, whole, comparison = Recording(given, folder, progress), options.alpha, None
    for count, options.alpha in sequential.looks(given.runs, whole):
        recording.extend(count)
        base, other, notes = recording.profiles()
        comparison = compare.compare(base, other, options, progress=progress.say)
        comparison.notes[:0] = [*notes, sequential.note(comparison, given.runs, whole)]
        if sequential.is_sure(comparison, given.see / 100, options.alpha):
            break
    assert comparison
    return comparison
