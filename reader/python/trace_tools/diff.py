# SPDX-License-Identifier: Apache-2.0
"""`trace diff`: read the runs of both sides, compare them, and print the result in the requested formats."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
import tempfile

from . import (
    Failure,
    arguments,
    compare,
    convert,
    formats,
    interleaved,
    merging,
    pages,
    profile,
    sequential,
    statistics,
    terminal,
)
from .progress import Progress


def read_profiles(paths: list[str], merge: bool | None, progress: Progress) -> tuple[list[profile.Profile], list[str]]:
    """Return a profile of each path, in their order, and notes about all of them."""
    done = itertools.count(1)

    def use(path: str, database: str, damaged: bool) -> merging.Reading:
        found = merging.read(database, path, merge)
        for one in found.profiles():
            if damaged:
                one.problems.append("the report is damaged")
        progress.say(f"{next(done)} of {len(paths)} runs read")
        return found

    progress.say(f"0 of {len(paths)} runs read")
    with tempfile.TemporaryDirectory(prefix="trace-diff-") as folder:
        return merging.choose(convert.each(paths, folder, use), merge)


def targets(names: list[str] | None) -> list[tuple[str, str | None]]:
    """Parse output options: 'text', 'junit:out.xml' -> [(format, file or None)]."""
    found = []
    for name in names or ["text"]:
        kind, _, file = name.partition(":")
        if kind not in formats.FORMATS:
            raise Failure(f"unknown format '{kind}': expected {', '.join(formats.FORMATS)}; see 'trace help diff'")
        found.append((kind, file or None))
    if sum(file is None for _, file in found) > 1:
        raise Failure(
            "only one format can be written to standard output; name a file for the others, such as junit:diff.xml"
        )
    return found


def write(comparison: compare.Comparison, wanted: list[tuple[str, str | None]], everything: bool) -> None:
    for kind, file in wanted:
        if kind == "text" and not file:
            text = formats.text(comparison, everything, terminal.width())
        else:
            text = formats.FORMATS[kind](comparison, everything)
        try:
            if file:
                with open(file, "w", encoding="utf-8") as out:
                    out.write(text)
            else:
                sys.stdout.write(text)
                sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Failure(f"cannot write '{file or 'standard output'}': {error.strerror}") from None


def run(given: argparse.Namespace, options: compare.Options, wanted: list[tuple[str, str | None]]) -> int:
    """Record the two commands and compare them. Reports are kept in --keep, else removed."""
    if len(given.run) != 2:
        raise Failure(f"diff: expected --run twice, one for each side, not {len(given.run)} times")
    if given.base or given.other:
        raise Failure("diff: --run records the runs; expected no FILE beside it")
    if given.keep:
        os.makedirs(given.keep, exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder = given.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="trace-diff-"))
        progress = stack.enter_context(Progress("diff"))
        comparison = interleaved.record(given, options, folder, progress)
        if given.html:
            page(comparison, given.html, progress)
    write(comparison, wanted, given.all)
    return comparison.verdict


def page(comparison: compare.Comparison, output: str, progress: Progress) -> None:
    progress.say(f"writing '{output}'")
    pages.write(comparison, [compare.median_run(side).path for side in (comparison.base, comparison.other)], output)


def main(argv: list[str]) -> int:
    parser = arguments.Parser(prog="trace diff")
    parser.add_argument("--base", action="append", default=[])
    parser.add_argument("--other", action="append", default=[])
    parser.add_argument("--run", action="append", default=[])
    parser.add_argument("--runs", type=sequential.runs, default=sequential.Runs(statistics.EXACT_RUNS, 30))
    parser.add_argument("--trace-options", type=arguments.words, default=["--sample=process-tree"])
    parser.add_argument("--keep")
    sequential.see(parser)
    parser.add_argument("--format", action="append")
    parser.add_argument("--html")
    parser.add_argument("--alpha", type=arguments.probability, default=compare.Options.alpha)
    parser.add_argument("--min-effect", type=arguments.amount, default=100 * compare.Options.min_effect)
    merge = parser.add_mutually_exclusive_group()
    merge.add_argument("--merge-numbers", action="store_true", default=None)
    merge.add_argument("--no-merge-numbers", dest="merge_numbers", action="store_false")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args(argv)
    wanted = targets(given.format)
    options = compare.Options(given.alpha, given.min_effect / 100, given.force)
    if given.run:
        return run(given, options, wanted)
    with Progress("diff") as progress:
        profiles, notes = read_profiles(given.base + given.other, given.merge_numbers, progress)
        progress.say(f"comparing {max(len(p.items) for p in profiles)} items of {len(profiles)} runs")
        base, other = profiles[: len(given.base)], profiles[len(given.base) :]
        comparison = compare.compare(base, other, options, progress=progress.say)
        comparison.notes[:0] = notes
        if given.html:
            page(comparison, given.html, progress)
    write(comparison, wanted, given.all)
    return comparison.verdict
