# SPDX-License-Identifier: Apache-2.0
"""Lines that fit into a terminal: wrapped text, and tables whose cells fold, as in reader/cli/base/table_fold.c."""

from __future__ import annotations

import os
import sys
import textwrap

NARROWEST = 16  # least width of a text column


def width() -> int | None:
    """Return the width of the terminal on standard output; None if standard output is not a terminal."""
    if not sys.stdout.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    try:
        found = int(columns) if columns.isdigit() else os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        return None
    return found or None


def wrapped(text: str, room: int | None, indent: str = "") -> list[str]:
    """Break a text into lines of at most `room` characters; all but the first begin with `indent`."""
    if not room or len(text) <= room:
        return [text]
    return textwrap.wrap(text, max(room, len(indent) + 1), subsequent_indent=indent, break_on_hyphens=False) or [""]


def narrowed(widths: list[int], least: list[int], room: int) -> list[int] | None:
    """Return widths that fit, with the widest columns narrowed first; None if even the least widths do not fit."""
    widths = list(widths)
    spare = sum(widths) + 2 * (len(widths) - 1) - room
    if spare > sum(w - n for w, n in zip(widths, least)):
        return None
    for _ in range(max(spare, 0)):
        widest = max((i for i, w in enumerate(widths) if w > least[i]), key=lambda i: widths[i])
        widths[widest] -= 1
    return widths


def listed(heading: tuple[str, ...], rows: list[tuple[str, ...]], room: int) -> list[str]:
    """Return the rows as blocks of lines, a title and its cell each."""
    titles = max(map(len, heading)) + 2
    lines = []
    for row in rows:
        for title, cell in zip(heading, row):
            lines += wrapped(title.ljust(titles) + cell, max(room, titles + NARROWEST), " " * titles)
        lines.append("")
    return lines[:-1]


def table(heading: tuple[str, ...], rows: list[tuple[str, ...]], right: set[int], room: int | None) -> list[str]:
    """Return the lines of a table with a heading; columns in `right` are numbers. Cells fold if the rows are wider than
    `room`; rows become blocks if not even that fits.
    """
    widths = [max(map(len, cells)) for cells in zip(heading, *rows)]
    if room:
        least = [w if i in right else min(w, max(NARROWEST, len(heading[i]))) for i, w in enumerate(widths)]
        fitting = narrowed(widths, least, room)
        if not fitting:
            return listed(heading, rows, room)
        widths = fitting
    lines = []
    for row in [heading, tuple("-" * w for w in widths), *rows]:
        cells = [wrapped(cell, w) for cell, w in zip(row, widths)]
        for n in range(max(map(len, cells))):
            parts = (cell[n] if n < len(cell) else "" for cell in cells)
            lines.append(
                "  ".join(
                    p.rjust(w) if i in right else p.ljust(w) for i, (p, w) in enumerate(zip(parts, widths))
                ).rstrip()
            )
    return lines
