# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison: `trace report --html` of two runs, with the verdict and the differences of all runs."""

from __future__ import annotations

import sys
import tempfile

from . import Failure, convert, formats
from .compare import Comparison, Finding

FINDINGS = 1000  # most findings in a page; a row has at most some kB


def is_worth_showing(comparison: Comparison | None, f: Finding) -> bool:
    """Return whether a metric that was not decided differs, and the noise of its runs is not the reason."""
    known = f.presence or f.samples or not (comparison and comparison.decidable)
    return f.result == "undecided" and f.base != f.other and bool(known)


def write(comparison: Comparison | None, shown: list[str], output: str) -> None:
    """Write the page. shown: the reports to draw, one per side of the comparison; without a comparison, one report."""
    if output == "-":
        raise Failure("a page cannot be written to standard output here; name a file")
    findings = formats.chosen(comparison, True)[0] if comparison else []
    changed = [f for f in findings if f.result not in ("equal", "undecided") or is_worth_showing(comparison, f)]
    with tempfile.NamedTemporaryFile("w", prefix="trace-page-", suffix=".json", encoding="utf-8") as file:
        words = ["report", "--html", "-f", "true", "-o", output]
        if comparison:
            file.write(formats.json_of(comparison, changed[:FINDINGS]))
            file.flush()
            words += ["--comparison", file.name]
        convert.run([*words, "--", *shown], output)
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"trace: wrote '{output}'", file=sys.stderr)
