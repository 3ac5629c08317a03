# SPDX-License-Identifier: Apache-2.0
"""The device memory of a run: the peak of its processes, what they never released, and who held memory at the peak.

Device memory is that of cudaMalloc() and the like, not pinned or managed memory, as in reader/reports/shared/
cuda_memory.sql. The path of a holder is that of the NVTX ranges around its allocation, its name the innermost function
of the callchain outside of CUDA's own libraries. All allocations of CUDA, in any kind of memory, are counted as well.
"""

from __future__ import annotations

import collections
import os
from typing import TYPE_CHECKING, Iterable, NamedTuple, Tuple

from .profile import Item, Key, frame_name

if TYPE_CHECKING:
    from .profile import Reader, Row

TABLE = "CUDA_GPU_MEMORY_USAGE_EVENTS"
ON_DEVICE = "(2, 3, 5)"  # nsys's numbers of the kinds device, array, device static
OF_CUDA = ("libcuda", "libcupti")  # beginnings of the names of CUDA's libraries; libcuda: also libcudart
KINDS = dict(enumerate(("pageable", "pinned", "device", "array", "managed", "device static")))  # nsys's numbers
PEAK, LEFT = "[peak]", "[never released]"


class Allocation(NamedTuple):
    process: int  # globalPid >> 24
    correlation: int
    size: int


def callers(reader: Reader) -> dict[int, str]:
    """Return, for each callchain, the name of its innermost function outside of CUDA's libraries."""
    found: dict[int, str] = {}
    for number, symbol, module in reader.db.rows(
        "CUDA_CALLCHAINS", "SELECT id, symbol, module FROM CUDA_CALLCHAINS ORDER BY id, stackDepth"
    ):
        path = reader.text(module)
        if number not in found and not os.path.basename(path).startswith(OF_CUDA):
            found[number] = frame_name(reader.text(symbol), path)[0]
    return found


def holders(reader: Reader) -> dict[tuple[int, int], tuple[str, str]]:
    """Return NVTX path and caller of each call that allocated, by process and correlation id."""
    runtime = "CUPTI_ACTIVITY_KIND_RUNTIME"
    chain = reader.db.optional(runtime, "callchainId", "0")
    names = callers(reader)
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for tid, start, correlation, number in reader.db.rows(
        runtime,
        f"SELECT globalTid, start, correlationId, coalesce({chain}, 0) FROM {runtime} WHERE globalTid IS NOT NULL "
        f"AND correlationId IN (SELECT correlationId FROM {TABLE} WHERE memoryOperationType = 0)",
    ):
        timeline = reader.threads.get(tid)
        place = timeline.index_at(start) if timeline else 0
        found[tid >> 24, correlation] = reader.paths.texts[place], names.get(number, "[no callchain]")
    return found


class Use:
    """The live allocations of each process (globalPid >> 24) and device, after some of the events."""

    def __init__(self) -> None:
        self.live: dict[tuple[int, int], dict[int, Allocation]] = collections.defaultdict(dict)
        self.used: collections.Counter[tuple[int, int]] = collections.Counter()

    def add(self, event: Row) -> tuple[int, int]:
        """Process one event; return its process and device."""
        pid, device, operation, address, size, correlation = event
        place = pid >> 24, device
        gone = self.live[place].pop(address, None)  # by a release, or before one that was not recorded
        self.used[place] -= gone.size if gone else 0
        if operation == 0:
            self.live[place][address] = Allocation(place[0], correlation, max(size, 0))
            self.used[place] += max(size, 0)
        return place


def peaks_of(events: list[Row]) -> tuple[dict[tuple[int, int], int], Use]:
    """Return the index of the event with which each process and device reaches its peak, and the use at the end."""
    use, best, found = Use(), collections.Counter[Tuple[int, int]](), {}
    for number, event in enumerate(events):
        place = use.add(event)
        if use.used[place] > best[place]:
            best[place], found[place] = use.used[place], number
    return found, use


def read_allocations(reader: Reader, known: dict[tuple[int, int], tuple[str, str]]) -> None:
    """Add the number and bytes of the allocations in each range, by the kind of memory."""
    for pid, correlation, kind, count, size in reader.db.rows(
        TABLE,
        f"SELECT globalPid, coalesce(correlationId, 0), memKind, count(*), sum(max(bytes, 0)) FROM {TABLE} "
        "WHERE memoryOperationType = 0 AND globalPid IS NOT NULL GROUP BY 1, 2, 3",
    ):
        path, _ = known.get((pid >> 24, correlation), ("", ""))
        key = Key("allocation", reader.program(pid >> 24), path, f"{KINDS.get(kind, 'unknown')} memory")
        reader.profile.items.setdefault(key, Item()).add(Item(count, bytes=size))


def read(reader: Reader) -> None:
    """Add the items of device memory and allocations to the profile of a reader whose ranges have been read."""
    if TABLE not in reader.db.tables:
        return
    known = holders(reader)
    read_allocations(reader, known)
    events = reader.db.rows(
        TABLE,
        "SELECT globalPid, coalesce(deviceId, 0), memoryOperationType, address, bytes, coalesce(correlationId, 0) "
        f"FROM {TABLE} WHERE memKind IN {ON_DEVICE} AND globalPid IS NOT NULL ORDER BY start, rowid",
    )

    def put(process: int, path: str, name: str, allocations: Iterable[Allocation]) -> None:
        item = reader.profile.items.setdefault(Key("memory", reader.program(process), path, name), Item())
        for a in allocations:
            item.add(Item(1, bytes=a.size))

    peaks, end = peaks_of(events)
    at_peak = {number: place for place, number in peaks.items()}
    use = Use()
    for number, event in enumerate(events):
        use.add(event)
        place = at_peak.get(number)
        if place:
            put(place[0], "", PEAK, use.live[place].values())
            put(place[0], "", LEFT, end.live[place].values())
            for a in use.live[place].values():
                put(a.process, *known.get((a.process, a.correlation), ("", "[unknown call]")), [a])
