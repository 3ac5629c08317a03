# SPDX-License-Identifier: Apache-2.0
"""Names of two runs that differ only in what differs from run to run: numbers of threads, addresses, process ids, and
names of temporary files. Equal names belong together first; of the others, those with the same mask.
"""

from __future__ import annotations

import collections
import functools
import re
from typing import Iterable, NamedTuple

KERNEL = "kernel "  # before its name, in a cause
MARK = "*"  # what stands for a masked part
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")
NUMBER = re.compile(r"\b[0-9a-f]{12,}\b|[0-9]+")  # an address without 0x, too
END = re.compile(r"\)( \(timeout\))?$")
FUNCTION = re.compile(r" in [^ (]*\(")  # in which a lock was held
PYTHON_FILE = re.compile(r"\btmp[a-z0-9_]{8}\b")  # of its module tempfile
RANDOM = re.compile(r"(?<=[A-Za-z.\-_])[A-Za-z0-9]{6}(?=\.|$)")  # what mkstemp() puts for XXXXXX


class Name(NamedTuple):
    """A cause and its place; the place of a wait is empty."""

    cause: str
    place: str

    def text(self) -> str:
        return self.cause + (f" at {self.place}" if self.place else "")


def is_random(text: str) -> bool:
    """Return whether letters look as if they were chosen at random: of two of three kinds."""
    kinds = (str.isdigit, str.islower, str.isupper)
    return sum(any(kind(letter) for letter in text) for kind in kinds) > 1


def used_masked(text: str) -> str:
    """Mask the name of a thread, file or lock."""
    text = PYTHON_FILE.sub("tmp" + MARK, text)
    text = RANDOM.sub(lambda match: MARK if is_random(match[0]) else match[0], text)
    return NUMBER.sub(MARK, text)


def thing_masked(cause: str) -> str:
    """Mask what a call used, but not the function in which a lock was held. Takes time linear in the length: names of a
    report may be long.
    """
    start, end = cause.find(" (") + 2, END.search(cause)
    if start < 2 or not end or end.start() < start:
        return cause
    used = cause[start : end.start()]
    function = FUNCTION.search(used) if used.endswith(")") else None
    stop = start + function.start() if function else end.start()
    return cause[:start] + used_masked(cause[start:stop]) + cause[stop:]


@functools.lru_cache(maxsize=65536)
def masked(name: Name) -> Name:
    """Return a name without what differs from run to run. Numbers of kernels and functions are parts of their names."""
    cause = name.cause
    if KERNEL not in cause:
        cause = thing_masked(ADDRESS.sub(MARK, cause))
    return Name(cause, ADDRESS.sub(MARK, name.place))


def groups(base: Iterable[Name], other: Iterable[Name]) -> dict[Name, list[Name]]:
    """Return what belongs together in two runs, by the name to print: a name of both runs, or of one; or the mask of
    those that no name of the other run is equal to, if both runs have some.
    """
    one, two = set(base), set(other)
    found: dict[Name, list[Name]] = {name: [name] for name in one & two}
    alike: dict[Name, tuple[list[Name], list[Name]]] = collections.defaultdict(lambda: ([], []))
    for side, names in enumerate((one - two, two - one)):
        for name in sorted(names):
            alike[masked(name)][side].append(name)
    for mask, sides in alike.items():
        if sides[0] and sides[1] and mask not in found:
            found[mask] = [*sides[0], *sides[1]]
        else:
            found.update({name: [name] for side in sides for name in side})
    return found
