# SPDX-License-Identifier: Apache-2.0
"""`trace diff`: read the runs of both sides, compare them, and print the result in the requested formats."""

from __future__ import annotations

import sys
import tempfile

from . import Failure, arguments, compare, convert, formats, profile


def read_profiles(paths: list[str], merge_numbers: bool) -> list[profile.Profile]:
    """A profile of each path, in their order."""

    def use(path: str, database: str, damaged: bool) -> profile.Profile:
        found = profile.read(database, path, merge_numbers)
        if damaged:
            found.problems.append("the report is damaged")
        return found

    with tempfile.TemporaryDirectory(prefix="trace-diff-") as folder:
        return convert.each(paths, folder, use)


def targets(names: list[str] | None) -> list[tuple[str, str | None]]:
    """'text', 'junit:out.xml' -> [(format, file or None)]."""
    found = []
    for name in names or ["text"]:
        kind, _, file = name.partition(":")
        if kind not in formats.FORMATS:
            raise Failure(f"'{kind}' is no format of diff ({' '.join(formats.FORMATS)})")
        found.append((kind, file or None))
    if sum(file is None for _, file in found) > 1:
        raise Failure("only one format can go to standard output; name a file for the others, as in junit:diff.xml")
    return found


def write(comparison: compare.Comparison, wanted: list[tuple[str, str | None]], everything: bool) -> None:
    for kind, file in wanted:
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


def main(argv: list[str]) -> int:
    parser = arguments.Parser(prog="trace diff")
    parser.add_argument("--base", action="append", required=True)
    parser.add_argument("--other", action="append", required=True)
    parser.add_argument("--format", action="append")
    parser.add_argument("--alpha", type=arguments.probability, default=compare.Options.alpha)
    parser.add_argument("--min-effect", type=arguments.amount, default=100 * compare.Options.min_effect)
    parser.add_argument("--merge-numbers", action="store_true")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args(argv)
    wanted = targets(given.format)
    profiles = read_profiles(given.base + given.other, given.merge_numbers)
    options = compare.Options(given.alpha, given.min_effect / 100, given.force)
    comparison = compare.compare(profiles[: len(given.base)], profiles[len(given.base) :], options)
    write(comparison, wanted, given.all)
    return comparison.verdict
