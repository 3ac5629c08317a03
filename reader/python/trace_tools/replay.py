# SPDX-License-Identifier: Apache-2.0
"""Replay of a run with changed durations: threads and streams do what they did in the same order, each wait ends when
that what ended it has happened. Input is the table LIBTRACE_WAIT_GRAPH of `trace query`.
"""

from __future__ import annotations

import bisect
import collections
import heapq
import statistics
from typing import Iterable, NamedTuple

SHORT_NS = 10_000  # what a call takes at most if it need not wait, where it waited in the run
WAKE_NS = 50_000  # from what ended a wait until it returned, if the run has no such wait
ACQUIRE = (
    "pthread_mutex_lock",
    "mtx_lock",
    "pthread_spin_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_timedlock",
)
RELEASE = ("pthread_mutex_unlock", "mtx_unlock", "pthread_spin_unlock")
CREATE = (
    "pthread_create",
    "thrd_create",
    "fork",
    "vfork",
    "_Fork",
    "clone",
    "posix_spawn",
    "posix_spawnp",
    "system",
    "popen",
)
GIL = "wait for the GIL"
TIMED_OUT = 110  # what pthread_cond_timedwait() returns then
POLL_TIMED_OUT = "timeout"  # kind of a poll that timed out, in a thread with polls that others ended
WAITS = (
    "join",
    "process",
    "lock",
    "condition",
    "semaphore",
    "barrier",
    "poll",
    "device",
    "wait",
    "read",
    "team",
    "mpi",
)


class Row(NamedTuple):
    """A row of LIBTRACE_WAIT_GRAPH: a track, or a call or operation on one. Times are in ns."""

    kind: str
    id: int
    track: int
    start: int
    end: int
    name: str
    object: int | None
    value: int | None
    other: int | None
    other_time: int | None
    sure: str | None
    place: str | None
    unknown: int | None = (
        None  # how much of it is a wait that nobody is known to have ended; None = all, if `sure` says so
    )

    def unknown_part(self) -> float:
        if self.sure != "unknown":
            return 0
        return 1 if self.unknown is None else min(max(self.unknown, 0) / (self.end - self.start), 1)


class Mark:
    """A point of a track that others wait for, and the time when a replay passes it."""

    __slots__ = ("at", "groups", "state", "waiting")

    def __init__(self, at: int) -> None:
        self.at = at
        self.state: State | None = None
        self.waiting: list[Player] = []
        self.groups: tuple[Group, ...] = ()


class Group(Mark):
    """A mark that a replay passes when it has passed all of its members: the arrivals at a barrier."""

    __slots__ = ("members", "missing")

    def __init__(self, members: list[Mark]) -> None:
        super().__init__(max(mark.at for mark in members))
        self.members = members
        self.missing = len(members)
        for mark in members:
            mark.groups += (self,)


class State(NamedTuple):
    """A time of a replay, and what of the path to there is not known, is the time to wake up, or are polls that timed
    out but could have ended earlier.
    """

    time: float
    unknown: float
    wake: float
    polls: float

    def woken(self, ns: float, wake: float) -> State:
        """Return the state `ns` later, `wake` of which is the time to wake up."""
        return State(self.time + ns, self.unknown, self.wake + wake, self.polls)


class Step(NamedTuple):
    """A part of a track: a delay, a mark, a wait for marks, or for one or a timeout, or to take or release a lock."""

    kind: str
    row: Row | None
    start: int
    end: int
    mark: Mark | None = None
    waits: tuple[tuple[Mark, float], ...] = ()  # marks, and the time from each until the wait ends
    lock: tuple[int, int] | None = None


class Track:
    def __init__(self, row: Row) -> None:
        self.row = row
        self.calls: list[Row] = []
        self.marks: dict[int, Mark] = {}
        self.steps: list[Step] = []
        self.recorded: list[float] = []  # durations of the steps, of which only those of delays count
        self.kinds: list[Row] = []  # a row of each kind, name and place in the steps
        self.begin: tuple[Mark, float] | None = None
        self.start = row.start

    def mark(self, at: int) -> Mark:
        return self.marks.setdefault(at, Mark(at))


class Player:
    """Where a replay is on a track."""

    __slots__ = (
        "deadline",
        "durations",
        "entry",
        "is_woken",
        "next",
        "polls",
        "scale",
        "time",
        "track",
        "unknown",
        "unsure_until",
        "wake",
    )

    def __init__(self, track: Track, scale: Scale) -> None:
        changed = scale.durations(track)
        self.track = track
        self.scale = AS_RECORDED if changed is None else scale
        self.durations = track.recorded if changed is None else changed
        self.next = 0
        self.entry = 0  # the one in the heap that is valid
        self.is_woken = False  # after a wait for the lock that it acquires next
        self.deadline: float | None = None  # of the wait that it is in
        self.unsure_until = track.start  # up to this time of the run it did what it might not do now
        self.enter(State(track.start, 0, 0, 0))

    def enter(self, state: State) -> None:
        self.time, self.unknown, self.wake, self.polls = state

    def state(self) -> State:
        return State(self.time, self.unknown, self.wake, self.polls)

    def pass_delay(self, step: Step, ns: float) -> None:
        self.pass_time(step.row, ns)
        if step.start < self.unsure_until:
            self.unknown += ns

    def pass_time(self, row: Row | None, ns: float) -> None:
        self.time += ns
        if row is not None and row.sure is not None:
            self.unknown += ns * row.unknown_part()
        if row is not None and row.kind == POLL_TIMED_OUT:
            self.polls += ns


class Outcome(NamedTuple):
    ns: float
    unknown_ns: float
    wake_ns: float
    polls_ns: float
    broken: int  # waits that the replay gave up, since they would never end


class Scale:
    """Durations as recorded; a subclass changes them."""

    def durations(self, _track: Track) -> list[float] | None:
        """Return the durations of the steps of a track, as Track.recorded; None = nothing of it may change."""
        return None

    def __call__(self, _track: Track, _row: Row | None, start: int, end: int) -> float:
        """Return the duration of a part of a track."""
        return end - start


AS_RECORDED = Scale()


class Graph:
    def __init__(self, rows: Iterable[Row]) -> None:
        self.tracks: dict[int, Track] = {}
        self.ranges: list[Row] = []
        self.functions: list[Row] = []  # calls of functions of libraries
        self.holds: list[tuple[int, int, int, int]] = []  # track, lock, start and end of the time that it was held
        self.orders: dict[int, list[Row]] = collections.defaultdict(list)  # what operations wait for in other streams
        self.after: dict[int, list[tuple[Mark, float]]] = collections.defaultdict(list)  # the same, by id
        calls: list[Row] = []
        for row in rows:
            if row.kind == "track":
                self.tracks.setdefault(row.track, Track(row))
            elif row.kind == "range":
                self.ranges.append(row)
            elif row.kind == "after":
                self.orders[row.id].append(row)
            elif row.kind == "function":
                self.functions.append(row)
            else:
                calls.append(row)
        waiting = {row.track for row in calls if row.kind == "condition"}  # for Python's GIL, too: its waits' own calls
        calls = [row for row in calls if row.name != GIL or row.track not in waiting]
        for row in sorted(calls, key=lambda r: (r.start, -r.end, r.id)):
            track = self.tracks.get(row.track)
            start = max(row.start, track.calls[-1].end) if track and track.calls else row.start
            if track and row.end > start:
                track.calls.append(row._replace(start=start))
        self.goal = next((t for t in self.tracks.values() if t.row.value), None)
        self.wakes = self.usual_wakes()
        self.locks = self.known_locks()
        self.waits: dict[int, list[tuple[Mark, float]]] = collections.defaultdict(list)  # of calls, by id
        self.groups: list[Group] = []
        self.meetings: dict[int, Group] = {}  # of kernels of NCCL, by id: none ends before all have begun
        self.timeouts: dict[int, tuple[Mark, float]] = {}  # of waits that timed out, by id: what would have ended them
        self.launches: dict[int, Row] = {}  # of operations, by id: the time from the launch
        for find in (
            self.find_begins,
            self.find_known,
            self.find_joins,
            self.find_children,
            self.find_groups,
            self.find_transfers,
            self.find_posts,
            self.find_timeouts,
            self.find_devices,
            self.find_launches,
            self.find_meetings,
        ):
            find()
        for track in self.tracks.values():
            self.write_steps(track)

    # ---- who waits for whom ----

    def usual_wakes(self) -> dict[str, float]:
        """Return the median time from what ended waits until they returned, by what the call does."""
        found: dict[str, list[int]] = collections.defaultdict(list)
        for track in self.tracks.values():
            for call in track.calls:
                if call.kind in WAITS and call.other_time is not None and call.start < call.other_time <= call.end:
                    found[call.kind].append(call.end - call.other_time)
        return {kind: statistics.median(times) for kind, times in found.items()}

    def known_locks(self) -> set[tuple[int, int]]:
        """Find the locks whose calls are all recorded: each thread acquires and releases them by turns."""
        last: dict[tuple[int, int, int], Row] = {}
        found: set[tuple[int, int]] = set()
        wrong: set[tuple[int, int]] = set()
        for track in self.tracks.values():
            for call in track.calls:
                if call.object is None or call.name not in ACQUIRE + RELEASE or call.value:
                    continue
                key = (call.track >> 24, call.object)
                before = last.get((call.track, *key))
                if call.name in RELEASE:
                    if not before or before.name in RELEASE:
                        wrong.add(key)
                    else:
                        self.holds.append((call.track, call.object, before.end, call.start))
                        found.add(key)
                elif before and before.name in ACQUIRE:
                    wrong.add(key)
                last[(call.track, *key)] = call
        return found - wrong

    def wait(self, call: Row, other: int, at: int, wake: float | None = None) -> None:
        """The call does not return before `other` was at this time."""
        track = self.tracks.get(other)
        if track and other != call.track:
            if wake is None:
                wake = call.end - at if call.start < at <= call.end else self.wakes.get(call.kind, WAKE_NS)
            self.waits[call.id].append((track.mark(at), wake))

    def calls(self, *kinds: str) -> list[Row]:
        return [call for track in self.tracks.values() for call in track.calls if call.kind in kinds]

    def find_begins(self) -> None:
        """Let each thread begin after the call that started it: that which returned its process id, or that of the same
        rank among the threads that its parent started.
        """
        children: dict[int, list[Track]] = collections.defaultdict(list)
        for track in self.tracks.values():
            if track.row.other in self.tracks and track.row.other != track.row.track:
                children[track.row.other or 0].append(track)
        for number, begun in children.items():
            parent = self.tracks[number]
            creating = [c for c in parent.calls if c.name in CREATE]
            starts = [c.start for c in creating]
            by_value = {c.value: c for c in reversed(creating)}
            created = [c for c in creating if c.name in CREATE[:2] and not c.value]
            threads = sorted((t for t in begun if t.row.track >> 24 == number >> 24), key=lambda t: t.row.track)
            known = dict(zip((t.row.track for t in threads), created)) if len(threads) == len(created) else {}
            for track in begun:
                call = known.get(track.row.track) or by_value.get(track.row.track & 0xFFFFFF)
                if not call:
                    before = bisect.bisect_right(starts, track.row.start)
                    call = creating[before - 1] if before else None
                at = call.start if call else track.row.other_time or track.row.start
                track.begin = (parent.mark(at), max(track.row.start - at, 0))

    def find_known(self) -> None:
        """Waits that the report itself explains; locks and groups are found below."""
        for call in self.calls(*WAITS, "write"):
            grouped = call.kind in ("barrier", "team") or (
                call.kind == "lock" and (call.track >> 24, call.object) in self.locks
            )
            if call.other is not None and call.other_time is not None and not grouped:
                self.wait(call, call.other, call.other_time)

    def find_joins(self) -> None:
        """pthread_join() returns after the threads that its caller has started, as far as they had ended then. It has
        waited for those of its earlier calls already.
        """
        started: dict[int, list[Row]] = collections.defaultdict(list)
        for track in self.tracks.values():
            if track.row.other is not None and track.row.track >> 24 == track.row.other >> 24:
                started[track.row.other].append(track.row)
        for rows in started.values():
            rows.sort(key=lambda r: r.end, reverse=True)
        for call in self.calls("join"):
            rows = started[call.track]
            while rows and rows[-1].end <= call.end:
                row = rows.pop()
                if row.track != call.other:
                    self.wait(call, row.track, row.end, self.wakes.get("join", WAKE_NS))

    def find_children(self) -> None:
        """waitpid() returns after the process whose id it returns."""
        for call in self.calls("process"):
            if call.other is None and call.value and call.value > 0:
                child = self.tracks.get(call.track >> 48 << 48 | call.value << 24 | call.value)
                if child and child.row.end <= call.end:
                    self.wait(call, child.row.track, child.row.end)

    def find_groups(self) -> None:
        """Barriers: all leave when the last one has come."""
        groups: list[list[Row]] = []
        by_object: dict[tuple[int, int], list[Row]] = collections.defaultdict(list)
        for call in self.calls("barrier"):
            if call.object is not None:
                by_object[call.track >> 24, call.object].append(call)
        for calls in by_object.values():
            group: list[Row] = []
            first_end = 0
            for call in sorted(calls, key=lambda c: c.start):
                if group and call.start >= first_end:
                    groups.append(group)
                    group = []
                first_end = min(first_end, call.end) if group else call.end
                group.append(call)
            groups.append(group)
        teams: dict[tuple[int, int], list[Row]] = collections.defaultdict(list)
        begun: dict[tuple[int, int], Row] = {}
        for call in self.calls("team"):
            begun[call.track, call.start] = call
            if call.other is not None and call.other_time is not None:
                teams[call.other, call.other_time].append(call)
        for (other, at), calls in teams.items():
            last = begun.get((other, at))
            if last:
                groups.append([*calls, last])
            for call in calls if not last else []:
                self.wait(call, other, at)
        for group in groups:
            self.leave_together(group)

    def leave_together(self, calls: list[Row]) -> None:
        """These calls return when the last of them has begun."""
        if len(calls) < 2:
            return
        group = Group([self.tracks[call.track].mark(call.start) for call in calls])
        self.groups.append(group)
        for call in calls:
            wake = max(call.end - group.at, 0) if call.start < group.at else self.wakes.get(call.kind, WAKE_NS)
            self.waits[call.id].append((group, wake))

    def find_transfers(self) -> None:
        """A read of a pipe returns after the write of its last byte."""
        pipes: dict[int, tuple[list[Row], list[Row]]] = collections.defaultdict(lambda: ([], []))
        for call in self.calls("read", "write"):
            if call.object is not None and call.value and call.value > 0:
                pipes[call.object][call.kind == "write"].append(call)
        for reads, writes in pipes.values():
            writes.sort(key=lambda c: c.start)
            written = [0]
            for call in writes:
                written.append(written[-1] + (call.value or 0))
            bytes_read = 0
            for call in sorted(reads, key=lambda c: c.end):
                bytes_read += call.value or 0
                index = bisect.bisect_left(written, bytes_read) - 1
                if 0 <= index < len(writes) and writes[index].start < call.end:
                    self.waits[call.id] = []
                    self.wait(call, writes[index].track, writes[index].start)

    def find_posts(self) -> None:
        """The n-th sem_wait() or sem_trywait() that gets a semaphore comes after the n-th sem_post(), if there are as
        many, or after an earlier one as far as the semaphore was free from the beginning.
        """
        calls: dict[tuple[int, int], tuple[list[Row], list[Row]]] = collections.defaultdict(lambda: ([], []))
        for track in self.tracks.values():
            for call in track.calls:
                is_used = call.kind in ("semaphore", "post") or call.name == "sem_trywait"
                if is_used and call.object is not None and call.value == 0:
                    calls[call.track >> 24, call.object][call.kind == "post"].append(call)
        for waits, posts in calls.values():
            if len(waits) > len(posts):
                continue
            posts.sort(key=lambda c: c.start)
            waits.sort(key=lambda c: c.end)
            starts = [post.start for post in posts]
            free = max([0, *(n + 1 - bisect.bisect_left(starts, wait.end) for n, wait in enumerate(waits))])
            for wait, post in zip(waits[free:], posts):
                self.waits[wait.id] = []
                self.wait(wait, post.track, post.start)

    def find_timeouts(self) -> None:
        """A wait for a condition that timed out would have ended by the next signal, if that had come before it. Of
        several threads that wait for one condition, nobody knows which one a signal wakes.
        """
        signals: dict[tuple[int, int], list[Row]] = collections.defaultdict(list)
        waiting: dict[tuple[int, int], set[int]] = collections.defaultdict(set)
        waits = [call for call in self.calls("condition") if call.object is not None]
        for call in self.calls("signal"):
            signals[call.track >> 24, call.object or 0].append(call)
        for calls in signals.values():
            calls.sort(key=lambda c: c.start)
        for call in waits:
            waiting[call.track >> 24, call.object or 0].add(call.track)
        for call in waits:
            key = (call.track >> 24, call.object or 0)
            following = signals[key]
            index = bisect.bisect_right(following, call.end, key=lambda c: c.start)
            signal = following[index] if index < len(following) else None
            if call.value != TIMED_OUT or not signal or signal.track == call.track:
                continue
            if len(waiting[key]) == 1 or signal.name.endswith("broadcast"):
                mark = self.tracks[signal.track].mark(signal.start)
                self.timeouts[call.id] = (mark, self.wakes.get("condition", WAKE_NS))

    def find_devices(self) -> None:
        """A call that waits for the GPU comes after what its thread had launched before: of the stream that it waits
        for, or of all of them.
        """
        work: dict[int, dict[int, list[Row]]] = collections.defaultdict(lambda: collections.defaultdict(list))
        for call in self.calls("work", "rank"):
            if call.other is not None:
                work[call.other][call.track].append(call)
        for call in self.calls("device"):
            for track, done in work[call.track].items():
                if call.object is not None and self.tracks[track].row.object != call.object:
                    continue
                index = bisect.bisect_right(done, call.end, key=lambda w: w.end) - 1
                while index >= 0 and (done[index].other_time or 0) > call.start:
                    index -= 1
                if index >= 0 and (track, done[index].end) != (call.other, call.other_time):
                    self.wait(call, track, done[index].end, self.wakes.get("device", WAKE_NS))

    def find_launches(self) -> None:
        """An operation of a stream begins after its launch: after that has returned or, where it began earlier, as with
        a copy that its call waits for, after the call has begun. It also begins after those of other streams that it
        waits for by an event.
        """
        delays = [
            c.start - c.other_time for c in self.calls("work") if c.other_time is not None and c.start >= c.other_time
        ]
        usual = float(min(delays, default=0))
        calls = {(c.track, c.end): c for t in self.tracks.values() if t.row.track >= 0 for c in t.calls}
        for track in self.tracks.values():
            before = None
            for call in track.calls if track.row.track < 0 else []:
                launcher = self.tracks.get(call.other) if call.other is not None else None
                at = call.other_time if launcher else None
                launch = calls.get((launcher.row.track, at)) if launcher and at is not None else None
                if at is not None and call.start < at:
                    at = min(launch.start if launch else at, call.start)
                orders = [o for o in self.orders[call.id] if o.other_time is not None and o.other_time <= call.start]
                last = max([o.other_time or 0 for o in orders], default=None)
                ready = max([time for time in (before, last) if time is not None], default=None)
                if launcher and at is not None:
                    waits = call.start - at if ready is None or ready <= at else usual
                    self.launches[call.id] = call._replace(kind="latency", name=launch.name if launch else "")
                    self.waits[call.id].append((launcher.mark(at), float(waits)))
                    if before is None and self.goal:
                        track.start = self.goal.row.start  # it is there before its first operation
                for order in orders:
                    other = self.tracks.get(order.other) if order.other is not None else None
                    if other and order.other_time is not None:
                        is_last = order.other_time == ready and (at is None or at < ready)
                        wake = float(call.start - order.other_time) if is_last else 0.0
                        self.after[call.id].append((other.mark(order.other_time), wake))
                before = call.end

    def find_meetings(self) -> None:
        """The kernels of a collective of NCCL go on when the last of them has begun."""
        found: dict[int, list[Row]] = collections.defaultdict(list)
        for call in self.calls("work", "rank"):
            if call.object is not None:
                found[call.object].append(call)
        for calls in found.values():
            if len(calls) > 1:
                group = Group([self.tracks[call.track].mark(call.start) for call in calls])
                self.groups.append(group)
                self.meetings.update({call.id: group for call in calls})

    # ---- steps of a track ----

    def write_steps(self, track: Track) -> None:
        marks = sorted(track.marks)
        at, next_mark = track.row.start, 0
        held: list[tuple[int, int]] = []
        steps = track.steps
        others_end_polls = any(call.kind == "poll" and call.value for call in track.calls)

        def wait(call: Row) -> None:
            """Add a wait for what ended it, or could have; a delay if that is not known."""
            if self.waits.get(call.id):
                steps.append(Step("wait", call, call.start, call.end, waits=tuple(self.waits[call.id])))
            elif call.id in self.timeouts:
                steps.append(Step("timed", call, call.start, call.end, waits=(self.timeouts[call.id],)))
            elif others_end_polls and call.kind == "poll" and call.value == 0:
                delay(call._replace(kind=POLL_TIMED_OUT), call.start, call.end)
            else:
                delay(call, call.start, call.end)

        def delay(row: Row | None, start: int, end: int) -> None:
            """Add a delay, cut at the marks in it."""
            nonlocal next_mark
            while next_mark < len(marks) and marks[next_mark] <= end:
                if marks[next_mark] > start:
                    steps.append(Step("delay", row, start, marks[next_mark]))
                    start = marks[next_mark]
                steps.append(Step("mark", None, start, start, track.marks[marks[next_mark]]))
                next_mark += 1
            if end > start:
                steps.append(Step("delay", row, start, end))

        for call in track.calls:
            if track.row.track >= 0:
                delay(None, at, call.start)
            before, at = at, call.end
            lock = (call.track >> 24, call.object or 0)
            waits = tuple(self.waits.get(call.id, ()))
            if lock in self.locks and call.name in ACQUIRE and not call.value:
                steps.append(Step("acquire", call, call.start, call.end, lock=lock))
                held.append(lock)
            elif lock in self.locks and call.name in RELEASE and not call.value:
                steps.append(Step("release", call, call.start, call.end, lock=lock))
                if lock in held:
                    held.remove(lock)
            elif call.kind in ("work", "rank"):
                after = tuple(self.after.get(call.id, ()))
                if after:
                    steps.append(Step("wait", None, call.start, call.start, waits=after))
                if waits:
                    launch = self.launches.get(call.id)
                    steps.append(Step("wait", launch, call.start, call.start, waits=waits))
                elif not after:
                    delay(None, before, call.start)
                meeting = self.meetings.get(call.id)
                if meeting:
                    delay(None, call.start, call.start)
                    steps.append(Step("wait", None, call.start, call.start, waits=((meeting, 0.0),)))
                if not meeting or call.kind == "work":
                    delay(call, call.start, call.end)
            elif call.kind == "condition" and held:
                steps.append(Step("release", None, call.start, call.start, lock=held[-1]))
                wait(call)
                steps.append(Step("acquire", None, call.end, call.end, lock=held[-1]))
            else:
                wait(call)
        delay(None, at, max(track.row.end, at) if track.row.track >= 0 else at)
        for mark in marks[next_mark:]:
            steps.append(Step("mark", None, mark, mark, track.marks[mark]))
        track.recorded = [step.end - step.start for step in steps]
        track.kinds = list(
            {(step.row.kind, step.row.name, step.row.place): step.row for step in steps if step.row}.values()
        )

    # ---- replay ----

    def replay(self, scale: Scale = AS_RECORDED) -> Outcome:
        """Return how long the program takes if `scale` says how long each part does."""
        return Replay(self, scale).outcome()

    def late_ns(self) -> int:
        """Return how much longer than usual waits for locks and conditions took to return after what ended them."""
        times = [
            call.end - call.other_time - WAKE_NS
            for call in self.calls("lock", "condition")
            if call.other_time is not None and call.start < call.other_time
        ]
        return sum(max(ns, 0) for ns in times)

    def wall_ns(self) -> int:
        return self.goal.row.end - self.goal.row.start if self.goal else 0


class Replay:
    def __init__(self, graph: Graph, scale: Scale) -> None:
        self.graph = graph
        self.holders: dict[tuple[int, int], Player] = {}
        self.queues: dict[tuple[int, int], collections.deque[Player]] = collections.defaultdict(collections.deque)
        self.heap: list[tuple[float, int, Player]] = []
        self.pushed = self.broken = 0
        self.stuck: set[Player] = set()
        for track in graph.tracks.values():
            for mark in track.marks.values():
                mark.state, mark.waiting = None, []
        for group in graph.groups:
            group.state, group.waiting, group.missing = None, [], len(group.members)
        self.players = {number: Player(track, scale) for number, track in graph.tracks.items()}

    def push(self, player: Player, time: float) -> None:
        self.pushed += 1
        self.stuck.discard(player)
        player.entry = self.pushed
        heapq.heappush(self.heap, (time, self.pushed, player))

    def outcome(self) -> Outcome:
        for player in self.players.values():
            begin = player.track.begin
            if begin is None:
                self.push(player, player.time)
            else:
                begin[0].waiting.append(player)
                player.next = -1
                self.stuck.add(player)
        while self.heap or self.stuck:
            if not self.heap:
                self.give_up()
            _, entry, player = heapq.heappop(self.heap)
            if entry == player.entry:
                self.run(player)
        goal = self.graph.goal
        end = self.players[goal.row.track].state() if goal else State(0, 0, 0, 0)
        return Outcome(end.time - (goal.row.start if goal else 0), end.unknown, end.wake, end.polls, self.broken)

    def give_up(self) -> None:
        """Let the player go on whose wait ended first in the run: all that it waits for had happened by then, and what
        still holds that up ended later, so the graph is wrong there. Nobody knows what ended such a wait.
        """
        player = min(self.stuck, key=lambda p: (self.end_in_run(p), p.track.row.track))
        self.broken += 1
        if player.next >= 0:
            step = player.track.steps[player.next]
            marks = [mark for mark, _ in step.waits]
            player.time += step.end - step.start
            player.unknown += step.end - step.start
            if step.lock:
                self.queues[step.lock].remove(player)
        else:
            marks = [player.track.begin[0]] if player.track.begin else []
        for mark in marks:
            if player in mark.waiting:
                mark.waiting.remove(player)
        player.next += 1
        self.push(player, player.time)

    @staticmethod
    def end_in_run(player: Player) -> int:
        """Return when the wait ended in the run that a player is stuck in; before its first step, when it began."""
        return player.track.start if player.next < 0 else player.track.steps[player.next].end

    def pass_mark(self, mark: Mark, state: State) -> None:
        mark.state = state
        for player in mark.waiting:
            self.push(player, state.time if player.deadline is None else min(state.time, player.deadline))
        mark.waiting = []
        for group in mark.groups:
            group.missing -= 1
            if not group.missing:
                self.pass_mark(group, max((m.state or state for m in group.members), key=lambda each: each.time))

    def run(self, player: Player) -> None:
        """Let a player go on until it must wait, or has reached a lock that others may reach earlier."""
        track, steps = player.track, player.track.steps
        if player.next < 0 and track.begin:
            begun = track.begin[0].state or player.state()
            player.enter(begun.woken(track.begin[1], track.begin[1]))
            player.next = 0
        while player.next < len(steps):
            step = steps[player.next]
            if step.kind == "delay":
                player.pass_delay(step, player.durations[player.next])
            elif step.kind == "timed":
                if not self.wait_timed(player, step):
                    return
            elif step.kind == "mark" and step.mark:
                self.pass_mark(step.mark, player.state())
            elif step.kind == "wait":
                unmet = next((mark for mark, _ in step.waits if mark.state is None), None)
                if unmet:
                    unmet.waiting.append(player)
                    self.stuck.add(player)
                    return
                self.end_wait(player, step)
            elif self.heap and self.heap[0][0] < player.time:
                self.push(player, player.time)
                return
            elif step.lock and not self.use_lock(player, step, step.lock):
                return
            player.next += 1

    def own_ns(self, player: Player, step: Step) -> float:
        """Return what a call takes if it need not wait."""
        waited = any(step.start < mark.at <= step.end for mark, _ in step.waits)
        return (
            min(step.end - step.start, SHORT_NS)
            if waited
            else player.scale(player.track, step.row, step.start, step.end)
        )

    def wait_timed(self, player: Player, step: Step) -> bool:
        """Wait until the deadline, or until what would have ended the wait. Returns whether the player goes on. After
        an early end, nobody knows whether the thread would have done all that it did before the real one.
        """
        ((mark, wake),) = step.waits
        if player.deadline is None:
            player.deadline = player.time + player.scale(player.track, step.row, step.start, step.end)
            if not mark.state:
                mark.waiting.append(player)
                self.push(player, player.deadline)
                return False
        if mark.state and mark.state.time < player.deadline:
            player.unsure_until = mark.at
            if mark.state.time > player.time:
                player.enter(mark.state.woken(min(wake, player.deadline - mark.state.time), wake))
        else:
            player.time = player.deadline
        if player in mark.waiting:
            mark.waiting.remove(player)
        player.deadline = None
        return True

    def end_wait(self, player: Player, step: Step) -> None:
        begun = player.time
        player.pass_time(step.row, self.own_ns(player, step))
        launched = step.row is not None and step.row.kind == "latency"
        for mark, wake in step.waits:
            if launched:
                wake = player.scale(player.track, step.row, 0, round(wake))
            if mark.state and mark.state.time > begun and mark.state.time + wake > player.time:
                player.enter(mark.state.woken(wake, 0 if launched else wake))

    def use_lock(self, player: Player, step: Step, lock: tuple[int, int]) -> bool:
        """Acquire or release a lock. Returns whether the player goes on. As with mutexes of the C library, a release
        wakes the thread that waits longest, and whoever comes before that has woken up gets the lock.
        """
        if step.kind == "release":
            player.pass_time(None, player.scale(player.track, step.row, step.start, step.end))
            self.holders.pop(lock, None)
            if self.queues[lock]:
                following = self.queues[lock].popleft()
                wake = self.wake_ns(following)
                following.enter(player.state().woken(wake, wake))
                following.is_woken = True
                self.push(following, following.time)
            return True
        if self.holders.setdefault(lock, player) is not player:
            self.queues[lock].append(player)
            self.stuck.add(player)
            return False
        if not player.is_woken:
            player.pass_time(None, min(step.end - step.start, SHORT_NS))
        player.is_woken = False
        return True

    def wake_ns(self, player: Player) -> float:
        """Return how long a thread takes to wake up that waits for a lock: as in the run, if it waited there, too, also
        if that was long, since it had no CPU.
        """
        call = player.track.steps[player.next].row
        if call and call.other_time is not None and call.start < call.other_time <= call.end:
            return call.end - call.other_time
        return min(self.graph.wakes.get(call.kind if call else "lock", WAKE_NS), WAKE_NS)
