# SPDX-License-Identifier: Apache-2.0
"""The decision whether numbers in names of NVTX ranges are merged, so that 'step 1' and 'step 2' become 'step #'.

Unless an option decides, it depends on the names of all runs, which are known when the last run has been read. A run's
database is gone by then, so a run whose names do not settle the decision is read both ways.
"""

from __future__ import annotations

import dataclasses

from . import profile
from .profile import NUMBER, Profile

JOINED_LEAST = 200  # number of names that merging must join to be the default


@dataclasses.dataclass
class Reading:
    """One run. plain, merged: its profile without and with merged numbers; None = not needed. names: the names of its
    ranges.
    """

    plain: Profile | None
    merged: Profile | None
    names: set[str]

    def profiles(self) -> list[Profile]:
        return [p for p in (self.plain, self.merged) if p]


def merged_names(names: set[str]) -> set[str]:
    return {NUMBER.sub("#", name) for name in names}


def joins_many(names: set[str]) -> bool:
    return len(names) - len(merged_names(names)) >= JOINED_LEAST


def read(path: str, name: str, merge: bool | None) -> Reading:
    """Read the database `path`, which messages call `name`. merge: None = see the head of this file."""
    if merge is not None:
        found = profile.read(path, name, merge)
        return Reading(None, found, set()) if merge else Reading(found, None, set())
    names = profile.range_names(path, name)
    certain = joins_many(names)
    plain = None if certain else profile.read(path, name)
    has_numbers = merged_names(names) != names
    return Reading(plain, profile.read(path, name, True) if has_numbers else plain, names)


def choose(readings: list[Reading], merge: bool | None) -> tuple[list[Profile], list[str]]:
    """Return the profile of each run, and notes for the reader of the comparison."""
    names: set[str] = set().union(*(r.names for r in readings))
    wanted = joins_many(names) if merge is None else merge
    chosen = [r.merged if wanted else r.plain for r in readings]
    notes = []
    if wanted and merge is None:
        notes.append(
            f"numbers in names of NVTX ranges are merged ('step 1' and 'step 2' are 'step #'), so {len(names)} names "
            f"are {len(merged_names(names))}: --no-merge-numbers keeps them apart"
        )
    return [p for p in chosen if p], notes
