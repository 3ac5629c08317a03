# SPDX-License-Identifier: Apache-2.0
"""Items of two sides that differ only in their name, or in the name of a range around them.

Captures of PyTorch have tens of thousands of items that are on one side only. So candidates come from an index by count
and by path or name, an index entry with too many items of both sides is skipped, and the comparison of names letter by
letter has a budget. Skipped items are counted.
"""

from __future__ import annotations

import collections
import dataclasses
import difflib
import statistics
from typing import Iterable

from .profile import Key, Profile

LEAST_LIKENESS = 0.5
CROWD = 1024  # pairs of items of one count and one path (or name) that are compared, at most
CELLS = 20_000_000  # letters of one name times letters of the other, of all names that are compared: some seconds
NAME_LENGTH = 1000  # letters of a name that are compared, without a common start and end
OUTER_RENAMES = 16  # renamed ranges whose content moves along, at most


@dataclasses.dataclass
class Renames:
    """formerly: {key in the other runs: path in the base runs}. left_alone: number of items of one side that were not
    compared with every candidate of the other side.
    """

    formerly: dict[Key, str]
    left_alone: int = 0


def common_prefix(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


class Likeness:
    """The similarity of two texts, from 0 to 1, as defined by difflib. Caches results; returns 0 when its budget is
    spent.
    """

    def __init__(self, cells: int = CELLS) -> None:
        self.known: dict[tuple[str, str], float] = {}
        self.cells = cells
        self.spent = False

    def __call__(self, a: str, b: str) -> float:
        known = self.known.get((a, b))
        if known is None:
            known = self.known[a, b] = self.compute(a, b)
        return known

    def compute(self, a: str, b: str) -> float:
        if not a or not b:
            return float(a == b)
        head = common_prefix(a, b)
        tail = common_prefix(a[head:][::-1], b[head:][::-1])
        x, y = (text[head : len(text) - tail][:NAME_LENGTH] for text in (a, b))
        cells = len(x) * len(y)
        if cells > self.cells:
            self.spent = True
            return 0.0
        self.cells -= cells
        equal = sum(m.size for m in difflib.SequenceMatcher(None, x, y, autojunk=False).get_matching_blocks())
        return 2 * (head + tail + equal) / (len(a) + len(b))


def median_of(profiles: list[Profile], key: Key, field: str) -> float:
    return float(statistics.median(getattr(p.items[key], field) if key in p.items else 0 for p in profiles))


def presence(base: list[Profile], other: list[Profile]) -> tuple[set[Key], set[Key]]:
    """Return the items that are in every run of `other` and in no run of `base`, and the reverse."""
    everywhere = [set.intersection(*(set(p.items) for p in side)) for side in (base, other)]
    somewhere = [set.union(*(set(p.items) for p in side)) for side in (base, other)]
    return everywhere[1] - somewhere[0], everywhere[0] - somewhere[1]


def full_path(key: Key) -> str:
    return f"{key.path}/{key.name}" if key.path else key.name


class Pairing:
    """Search for pairs (old, new) of items that differ only in their name or in the range around them: equal counts,
    similar times and a similar name.
    """

    def __init__(self, base: list[Profile], other: list[Profile]) -> None:
        self.base, self.other = base, other
        self.likeness = Likeness()

    def candidates(self, new: Iterable[Key], gone: Iterable[Key]) -> tuple[set[tuple[Key, Key]], set[Key]]:
        """Return pairs (old, new) with the same count and the same path or name, and the items of crowded entries."""
        index: collections.defaultdict[tuple[object, ...], tuple[list[Key], list[Key]]] = collections.defaultdict(
            lambda: ([], [])
        )
        for side, profiles, keys in ((0, self.base, gone), (1, self.other, new)):
            for key in keys:
                count = median_of(profiles, key, "count")
                index[key.kind, key.program, count, "path", key.path][side].append(key)
                index[key.kind, key.program, count, "name", key.name][side].append(key)
        found: set[tuple[Key, Key]] = set()
        crowded: set[Key] = set()
        for old, fresh in index.values():
            if len(old) * len(fresh) > CROWD:
                crowded.update(old, fresh)
            else:
                found.update((g, n) for g in old for n in fresh)
        return found, crowded

    def is_alike(self, old: Key, new: Key) -> bool:
        if new.name == old.name:
            return True
        times = median_of(self.base, old, "total_ns"), median_of(self.other, new, "total_ns")
        return max(times) <= 2 * min(times) + 1000 and self.likeness(new.name, old.name) >= LEAST_LIKENESS

    def pairs(self, kinds: set[str] | None = None) -> tuple[list[tuple[Key, Key]], set[Key]]:
        """Return the best pairs, each item once, and the items that were skipped. kinds: only items of these kinds."""
        new, gone = ({k for k in side if kinds is None or k.kind in kinds} for side in presence(self.base, self.other))
        found, left_alone = self.candidates(new, gone)
        scored = []
        for old, fresh in sorted(found):
            if self.is_alike(old, fresh):
                places = f"{old.path}/{old.name}", f"{fresh.path}/{fresh.name}"
                scored.append((-self.likeness(*places), len(fresh.path), old, fresh))
            elif self.likeness.spent:
                left_alone |= {old, fresh}
        best: list[tuple[Key, Key]] = []
        taken: set[Key] = set()
        for _, _, old, fresh in sorted(scored):
            if old not in taken and fresh not in taken:
                best.append((old, fresh))
                taken |= {old, fresh}
        return best, left_alone - taken


def rename(base: list[Profile], old: Key, new: Key) -> None:
    """Give an item of the base runs its new name, and everything inside a range its new path."""
    before, after = full_path(old), full_path(new)
    for profile in base:
        moved = {}
        for key, item in profile.items.items():
            if key == old:
                key = new
            elif (
                old.kind == "range"
                and key.program == old.program
                and (key.path == before or key.path.startswith(before + "/"))
            ):
                key = key._replace(path=after + key.path[len(before) :])
            moved[key] = item
        profile.items = moved


def apply(base: list[Profile], other: list[Profile]) -> Renames:
    """Rename items of the base runs as the other runs have them. Outer ranges come first, since what is inside them
    moves along.
    """
    pairing = Pairing(base, other)
    renames = Renames({})
    for _ in range(OUTER_RENAMES):
        ranges, _left_alone = pairing.pairs({"range"})
        if not ranges:
            break
        old, new = min(ranges, key=lambda pair: len(full_path(pair[0])))
        renames.formerly[new] = full_path(old)
        rename(base, old, new)
    rest, left_alone = pairing.pairs()
    renames.left_alone = len(left_alone)
    for old, new in rest:
        renames.formerly[new] = full_path(old)
        rename(base, old, new)
    return renames
