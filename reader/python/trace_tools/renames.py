# SPDX-License-Identifier: Apache-2.0
"""Items of two sides that differ only in their name, or in the name of a range around them.

Captures of PyTorch have tens of thousands of items that are on one side only. So candidates come from an index by count
and by path or name, an index entry with too many items of both sides is skipped, and the character-by-character
comparison of names has a budget. Skipped items are counted. Names that differ only in their numbers are not compared
where there are many: they are paired in the order of their numbers.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import difflib
import itertools
import statistics
from typing import Callable, Iterable, Tuple

from .profile import NUMBER, Item, Key, Profile

LEAST_LIKENESS = 0.5
CROWD = 1024  # pairs of items of one count and one path (or name) that are compared, at most
FEW = 64  # pairs that are compared each with each; of more, names that differ only in numbers are paired in order
CELLS = 20_000_000  # budget: sum of the products of the lengths of compared names; takes some seconds
CALL_CELLS = 400  # of the budget, for each comparison: what it costs besides
NAME_LENGTH = 1000  # characters of a name that are compared, without a common start and end
OUTER_RENAMES = 16  # renamed ranges whose content moves along, at most

Report = Callable[[str], None]


@dataclasses.dataclass
class Renames:
    """formerly: {key in the other runs: path in the base runs}. left_alone: number of items of one side that were not
    compared with every candidate of the other side.
    """

    formerly: dict[Key, str]
    left_alone: int = 0


def silent(_text: str) -> None:
    """Report no progress."""


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
        if self.spent:
            return 0.0
        head = common_prefix(a, b)
        tail = common_prefix(a[head:][::-1], b[head:][::-1])
        x, y = (text[head : len(text) - tail][:NAME_LENGTH] for text in (a, b))
        cells = len(x) * len(y) + CALL_CELLS
        if cells > self.cells:
            self.spent = True
            return 0.0
        self.cells -= cells
        equal = sum(m.size for m in difflib.SequenceMatcher(None, x, y, autojunk=False).get_matching_blocks())
        return 2 * (head + tail + equal) / (len(a) + len(b))


def median_of(profiles: list[Profile], key: Key, field: str) -> float:
    if len(profiles) == 1:
        item = profiles[0].items.get(key)
        return float(getattr(item, field)) if item else 0.0
    return float(statistics.median(getattr(p.items[key], field) if key in p.items else 0 for p in profiles))


def presence(base: list[Profile], other: list[Profile]) -> tuple[set[Key], set[Key]]:
    """Return the items that are in every run of `other` and in no run of `base`, and the reverse."""
    everywhere = [set.intersection(*(set(p.items) for p in side)) for side in (base, other)]
    somewhere = [set.union(*(set(p.items) for p in side)) for side in (base, other)]
    return everywhere[1] - somewhere[0], everywhere[0] - somewhere[1]


def full_path(key: Key) -> str:
    return f"{key.path}/{key.name}" if key.path else key.name


def numbers_of(key: Key) -> list[tuple[int, str]]:
    """Return the numbers in a path, so that lists of them sort by value. A number may have thousands of digits."""
    return [(len(number), number) for number in NUMBER.findall(full_path(key))]


class Moves:
    """Renames items of the base runs. An index by path finds what is inside a renamed range, since captures have tens
    of thousands of other items.
    """

    def __init__(self, base: list[Profile]) -> None:
        self.base = base
        self.keys: dict[tuple[str, str], set[Key]] = {}  # by program and path
        self.paths: collections.defaultdict[str, list[str]] = collections.defaultdict(list)  # sorted, by program
        for key in set().union(*(p.items for p in base)):
            self.keys.setdefault((key.program, key.path), set()).add(key)
        for program, path in sorted(self.keys):
            self.paths[program].append(path)

    def take(self, program: str, path: str, below: bool = True) -> set[Key]:
        """Remove the items with this path, or with one below it, from the index, and return them."""
        paths, inside = self.paths[program], path + "/"
        found = self.keys.pop((program, path), set())
        if found:
            del paths[bisect.bisect_left(paths, path)]
        if below:
            first = end = bisect.bisect_left(paths, inside)
            while end < len(paths) and paths[end].startswith(inside):
                found |= self.keys.pop((program, paths[end]))
                end += 1
            del paths[first:end]
        return found

    def keep(self, key: Key) -> None:
        here = self.keys.setdefault((key.program, key.path), set())
        if not here:
            bisect.insort(self.paths[key.program], key.path)
        here.add(key)

    def rename(self, old: Key, new: Key) -> set[Key]:
        """Give an item of the base runs its new name, and everything inside a range its new path. Return the keys that
        moved, as they were and as they are.
        """
        before, after = full_path(old), full_path(new)
        beside = self.take(old.program, old.path, False)
        moved = {old: new} if old in beside else {}
        for key in beside - {old}:
            self.keep(key)
        for key in self.take(old.program, before) if old.kind == "range" else ():
            moved[key] = key._replace(path=after + key.path[len(before) :])
        for key in moved.values():
            self.keep(key)
        for profile in self.base:
            for key, item in [(key, profile.items.pop(key)) for key in moved if key in profile.items]:
                profile.items.setdefault(moved[key], Item()).add(item)
        return {*moved, *moved.values()}


Pair = Tuple[Key, Key]  # an item of the base runs and one of the other runs
Ranked = Tuple[float, int, Key, Key]  # a pair by likeness, the best first


@dataclasses.dataclass
class Entry:
    """The items of one count and one path (or name) that are on one side only: gone from the base, new in the other."""

    gone: dict[Key, None] = dataclasses.field(default_factory=dict)
    new: dict[Key, None] = dataclasses.field(default_factory=dict)

    def is_crowded(self) -> bool:
        return len(self.gone) * len(self.new) > CROWD

    def pairs(self) -> Iterable[Pair]:
        """Return the pairs to compare: each item with each if they are few. Of many, those that differ only in numbers
        are paired in the order of these, and the others each with each.
        """
        if len(self.gone) * len(self.new) <= FEW:
            return itertools.product(self.gone, self.new)
        shapes: collections.defaultdict[str, tuple[list[Key], list[Key]]] = collections.defaultdict(lambda: ([], []))
        for side, keys in enumerate((self.gone, self.new)):
            for key in sorted(keys, key=numbers_of):
                shapes[NUMBER.sub("#", full_path(key))][side].append(key)
        in_order = [pair for gone, new in shapes.values() for pair in zip(gone, new)]
        rest = [[key for sides in shapes.values() for key in sides[side][len(sides[1 - side]) :]] for side in (0, 1)]
        return itertools.chain(in_order, itertools.product(rest[0], rest[1]))


class Pairing:
    """Search for pairs (old, new) of items that differ only in their name or in the range around them: equal counts,
    similar times and a similar name. The index of items and the likeness of pairs are kept while ranges are renamed, so
    that a renamed range costs what is inside it.
    """

    def __init__(self, base: list[Profile], other: list[Profile], progress: Report = silent) -> None:
        self.base, self.other, self.progress = base, other, progress
        self.moves = Moves(base)
        self.likeness = Likeness()
        self.index: collections.defaultdict[tuple[object, ...], Entry] = collections.defaultdict(Entry)
        self.places: dict[tuple[bool, Key], tuple[Entry, Entry]] = {}
        self.changed: dict[int, Entry] = {}  # entries that have changed since the last search for ranges
        self.scores: dict[Pair, Ranked | None] = {}  # None = not alike
        self.ranked: list[Ranked] = []  # of ranges
        for keys, is_new in zip(presence(base, other), (True, False)):
            self.insert((k for k in keys if k.kind != "function"), is_new)  # numbers of samples are never the same

    def insert(self, keys: Iterable[Key], is_new: bool) -> None:
        """Put items of the base runs, or those of the other runs (is_new), into the index."""
        profiles = self.other if is_new else self.base
        for key in keys:
            count = median_of(profiles, key, "count")
            entries = (
                self.index[key.kind, key.program, count, "path", key.path],
                self.index[key.kind, key.program, count, "name", key.name],
            )
            self.places[is_new, key] = entries
            for entry in entries:
                (entry.new if is_new else entry.gone)[key] = None
                if key.kind == "range":
                    self.changed[id(entry)] = entry

    def remove(self, key: Key, is_new: bool) -> None:
        for entry in self.places.pop((is_new, key), ()):
            del (entry.new if is_new else entry.gone)[key]
            if key.kind == "range":  # it may not be crowded any more
                self.changed[id(entry)] = entry

    def rename(self, old: Key, new: Key) -> None:
        """Rename an item of the base runs, and put what moved where it is now."""
        for key in self.moves.rename(old, new):
            for is_new, here, there in ((False, self.base, self.other), (True, self.other, self.base)):
                self.remove(key, is_new)
                if all(key in p.items for p in here) and not any(key in p.items for p in there):
                    self.insert([key], is_new)

    def is_candidate(self, old: Key, new: Key) -> bool:
        """Return whether both items have the same count, and the same path or name, in an entry with room."""
        here, there = self.places.get((False, old)), self.places.get((True, new))
        return bool(here and there and any(a is b and not a.is_crowded() for a, b in zip(here, there)))

    def is_alike(self, old: Key, new: Key) -> bool:
        if new.name == old.name:
            return True
        times = median_of(self.base, old, "total_ns"), median_of(self.other, new, "total_ns")
        return max(times) <= 2 * min(times) + 1000 and self.likeness(new.name, old.name) >= LEAST_LIKENESS

    def rank(self, pairs: Iterable[Pair]) -> list[Ranked]:
        """Return those of the pairs that are alike."""
        ranked = []
        for old, new in sorted(pairs):
            if (old, new) not in self.scores:
                places = f"{old.path}/{old.name}", f"{new.path}/{new.name}"
                is_alike = self.is_alike(old, new)
                self.scores[old, new] = (-self.likeness(*places), len(new.path), old, new) if is_alike else None
            score = self.scores[old, new]
            if score:
                ranked.append(score)
        return ranked

    def best(self, ranked: list[Ranked]) -> Iterable[Pair]:
        """Return pairs in their order, each item once."""
        taken: set[Key] = set()
        for _, _, old, new in ranked:
            if old not in taken and new not in taken:
                taken |= {old, new}
                yield old, new

    def ranges(self) -> list[Pair]:
        """Return the best pairs of ranges. Only what changed since the last call is compared."""
        self.ranked = [score for score in self.ranked if self.is_candidate(*score[2:])]
        known = {score[2:] for score in self.ranked}
        entries = [e for e in self.changed.values() if not e.is_crowded()]
        self.changed = {}
        self.ranked += self.rank({pair for e in entries for pair in e.pairs()} - known)
        self.ranked.sort()
        return list(self.best(self.ranked))

    def everything(self) -> tuple[list[Pair], set[Key]]:
        """Return the best pairs of items of all kinds, and the items that were skipped."""
        found: set[Pair] = set()
        left_alone: set[Key] = set()
        for entry in self.index.values():
            if entry.is_crowded():
                left_alone.update(entry.gone, entry.new)
            else:
                found.update(entry.pairs())
        ranked = []
        for number, pair in enumerate(sorted(found)):
            if number % 1000 == 0:
                self.progress(f"comparing names: {number} of {len(found)} pairs of items")
            scores = self.rank([pair])
            ranked += scores
            if not scores and self.likeness.spent:
                left_alone.update(pair)
        best = list(self.best(sorted(ranked)))
        return best, left_alone.difference(*best)


def apply(base: list[Profile], other: list[Profile], progress: Report = silent) -> Renames:
    """Rename items of the base runs as the other runs have them. Outer ranges come first, since what is inside them
    moves along. progress: called with a text for the user.
    """
    progress("looking for renamed items")
    pairing = Pairing(base, other, progress)
    renames = Renames({})
    for number in range(OUTER_RENAMES):
        progress(f"comparing names of ranges: {number} renamed ranges")
        ranges = pairing.ranges()
        if not ranges:
            break
        old, new = min(ranges, key=lambda pair: len(full_path(pair[0])))
        renames.formerly[new] = full_path(old)
        pairing.rename(old, new)
    rest, left_alone = pairing.everything()
    renames.left_alone = len(left_alone)
    for number, (old, new) in enumerate(rest):
        progress(f"renaming item {number + 1} of {len(rest)}")
        renames.formerly[new] = full_path(old)
        pairing.moves.rename(old, new)
    return renames
