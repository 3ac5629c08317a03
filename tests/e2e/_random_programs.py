# SPDX-License-Identifier: Apache-2.0
"""Random programs for tests/apps/replayed.c: threads, processes, locks, barriers and pipes."""
import random
import sqlite3


def program(seed, slower=1, more=""):
    """Return scripts of threads by process, as lists of steps. The steps are in an order in which they could run one by one, so nothing
    waits forever. more: also "i" reads of a file, "c" computing, "[" ranges around stages.
    """
    r = random.Random(seed)
    processes = [[[] for _ in range(r.randint(1, 4))] for _ in range(r.randint(1, 3))]
    pipes = 0
    for _ in range(r.randint(8, 24)):
        threads = r.choice(processes)
        script = r.choice(threads)
        what = r.random()
        stage = (r.randrange(8), r.randint(2000, 25000) * slower)
        if more and r.random() < 0.4:
            others = {"i": [("i", 400 * stage[1] // 1000)], "c": [("c", stage[1])], "[": [("[", stage[0]), ("s", *stage), ("]",)]}
            script += others[r.choice(more)]
        elif what < 0.5:
            script.append(("s", *stage))
        elif what < 0.7:
            lock = r.randrange(2)
            script += [("l", lock), ("s", *stage), ("u", lock)]
        elif what < 0.85:
            for each in threads:
                each.append(("b",))
        elif pipes < 32:
            reader = r.choice(r.choice(processes))
            if reader is not script:
                script.append(("w", pipes))
                reader.append(("r", pipes))
                pipes += 1
    return processes


def words(processes, scale=lambda *_: 1):
    """Return the arguments of the program. scale(process, thread, step, is_locked, ranges) returns by what the duration of a step is multiplied."""
    found = []
    for number, threads in enumerate(processes):
        found += ["--"] * (number > 0)
        for thread, script in enumerate(threads):
            texts, locked, ranges = [], 0, []
            for step in script:
                locked += (step[0] == "l") - (step[0] == "u")
                ranges = [*ranges, step[1]] if step[0] == "[" else ranges[:-1] if step[0] == "]" else ranges
                values = step[1:]
                if step[0] in "sic":
                    values = *values[:-1], round(values[-1] * scale(number, thread, step, locked > 0, ranges))
                texts.append(step[0] + ":".join(map(str, values)))
            found.append(",".join(texts))
    return found


class Simulation:
    """The calls of a program with made-up times, and when it ends. Each call takes as long as its function always does, waits end a fixed time after
    what ended them. A lock that is released wakes who waits longest, and is given to who comes first. All times are ns.
    """

    CALL_NS = {"l": 1_100, "u": 700, "w": 5_300, "r": 2_100, "b": 3_900, "create": 40_000, "fork": 300_000, "join": 1_700, "waitpid": 2_900}
    WAKE_NS = {"l": 30_000, "r": 45_000, "b": 35_000, "join": 60_000, "waitpid": 80_000}
    BETWEEN_NS = 1_500  # of computing before each step
    HEAD_NS = 100_000  # the first thread creates the pipes
    BEGIN_NS = 90_000  # from the call that starts a thread or process to its first event

    def __init__(self, processes, stage=-1, factor=1.0):
        self.calls = []  # (track, name, start, end, value, object, holder)
        self.ends, self.starts, self.parents = {}, {}, {}
        self.written, self.locks, self.arrived = {}, {}, {}
        self.stage, self.factor = stage, factor
        self.ready = []  # (time, track) of threads that can go on
        self.waiting = {}  # what is waited for -> tracks, in their order
        self.threads, self.teams = {}, {}
        for number, scripts in enumerate(processes):
            pid = 1000 * (number + 1)
            self.teams[pid] = len(scripts)
            for tid, script in enumerate(scripts):
                begin = [("create", pid, pid + n) for n in range(1, len(scripts))] if tid == 0 else []
                end = [("join", pid, pid + n) for n in range(1, len(scripts))] if tid == 0 else []
                if number == 0 and tid == 0:
                    others = [1000 * (n + 1) for n in range(1, len(processes))]
                    begin = [("fork", other, other) for other in others] + begin
                    end += [("waitpid", other, other) for other in others]
                self.threads[pid, pid + tid] = self.thread((pid, pid + tid), [*begin, *script, *end])
        self.begin((1000, 1000), 0, None)
        self.starts[1000, 1000] = -self.HEAD_NS
        while self.ready:
            self.ready.sort()
            time, track = self.ready.pop(0)
            try:
                self.threads[track].send(time)
            except StopIteration:
                pass
        self.wall = self.ends[1000, 1000] + self.HEAD_NS

    def begin(self, track, time, parent):
        self.starts[track], self.parents[track] = time, parent
        next(self.threads[track])
        self.ready.append((time, track))

    def wake(self, what, time):
        self.ready += [(time, track) for track in self.waiting.pop(what, [])]

    def thread(self, track, steps):
        time = yield
        for step in steps:
            time += self.BETWEEN_NS
            kind = step[0]
            # others must not be overtaken: whoever is earlier goes on first
            self.ready.append((time, track))
            time = yield
            start, value, used, holder = time, 0, 0, 0
            if kind == "s":
                time += round(1000 * step[2] * (self.factor if step[1] == self.stage else 1))
                self.calls.append((track, f"s{step[1]}", start, time, 0, 0, 0))
                continue
            if kind == "create":
                self.begin((step[1], step[2]), start + self.BEGIN_NS, track)
            elif kind == "fork":
                self.begin((step[1], step[2]), start + self.BEGIN_NS, track)
                value = used = step[2]
            elif kind in ("join", "waitpid"):
                value = used = step[2] if kind == "waitpid" else 0
                time = yield from self.wait(("end", step[1], step[2]), track, time, kind, (step[1], step[2]) in self.ends)
            elif kind == "w":
                self.written[step[1]] = True
                self.wake(("pipe", step[1]), start)
                value, used = 1, 100 + 2 * step[1]
            elif kind == "r":
                time = yield from self.wait(("pipe", step[1]), track, time, kind, step[1] in self.written)
                value, used = 1, 101 + 2 * step[1]
            elif kind == "l":
                lock = (track[0], step[1])
                used = 0x1000 + step[1]
                while lock in self.locks:
                    holder = self.locks[lock][1]
                    self.waiting.setdefault(("lock", *lock), []).append(track)
                    time = yield
                self.locks[lock] = track
            elif kind == "u":
                lock, used = (track[0], step[1]), 0x1000 + step[1]
                queue = self.waiting.get(("lock", *lock), [])
                del self.locks[lock]
                if queue:
                    self.ready.append((start + self.CALL_NS[kind] + self.WAKE_NS["l"], queue.pop(0)))
            elif kind == "b":
                used = 0x2000
                self.arrived[track[0]] = self.arrived.get(track[0], 0) + 1
                if self.arrived[track[0]] == self.teams[track[0]]:
                    self.arrived[track[0]] = 0
                    self.wake(("barrier", track[0]), start)
                else:
                    time = yield from self.wait(("barrier", track[0]), track, time, kind, False)
            time += self.CALL_NS[kind] if time == start else 0
            name = {"create": "pthread_create", "join": "pthread_join", "w": "write", "r": "read", "l": "pthread_mutex_lock",
                    "u": "pthread_mutex_unlock", "b": "pthread_barrier_wait"}.get(kind, kind)
            self.calls.append((track, name, start, time, value, used, holder))
        self.ready.append((time + self.BETWEEN_NS, track))
        self.ends[track] = yield
        self.wake(("end", *track), self.ends[track])

    def wait(self, what, track, time, kind, is_done):
        """Wait for something. Return when the wait ends."""
        if is_done:
            return time
        self.waiting.setdefault(what, []).append(track)
        return max((yield) + self.WAKE_NS[kind], time + 1)

    def write(self, path):
        """Write the database that `trace export -t sqlite` would write of such a run."""
        vm = 1 << 48

        def global_tid(track):
            return vm | track[0] << 24 | track[1]
        db = sqlite3.connect(path)
        db.executescript("""
            CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
            CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
            CREATE TABLE OSRT_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, stackDepth INTEGER, originalIP INTEGER);
            CREATE TABLE LIBTRACE_OSRT_CALL (id INTEGER PRIMARY KEY, errno INTEGER, object INTEGER, holderTid INTEGER, flags INTEGER);
            CREATE TABLE LIBTRACE_THREAD_START (timestamp INTEGER, globalTid INTEGER, parentTid INTEGER, flags INTEGER);
            CREATE TABLE LIBTRACE_THREAD_END (timestamp INTEGER, globalTid INTEGER);
            CREATE TABLE LIBTRACE_CHILD (timestamp INTEGER, globalTid INTEGER, childPid INTEGER);
            CREATE TABLE LIBTRACE_PROCESS (globalPid INTEGER, pid INTEGER, parentPid INTEGER, start INTEGER, end INTEGER);""")
        names = {}

        def text(value):
            if value not in names:
                names[value] = len(names) + 1
                db.execute("INSERT INTO StringIds VALUES (?, ?)", (names[value], value))
            return names[value]
        pipes = sorted({used // 2 * 2 for _, name, _, _, _, used, _ in self.calls if name in ("read", "write")})
        calls = [((1000, 1000), "pipe2", -self.HEAD_NS + 2000 * n, -self.HEAD_NS + 2000 * n + 1000, 0, (used + 1) | used << 24, 0) for n, used in enumerate(pipes)]
        for track, name, start, end, value, used, holder in sorted(calls + self.calls, key=lambda call: call[2]):
            is_stage = name[0] == "s" and name[1:].isdigit()
            chain = int(name[1:]) + 1 if is_stage else 0
            row = db.execute("INSERT INTO OSRT_API VALUES (?, ?, 27, ?, ?, ?, ?)", (start, end, global_tid(track), text("usleep" if is_stage else name), value, chain))
            if used or holder:
                db.execute("INSERT INTO LIBTRACE_OSRT_CALL VALUES (?, 0, ?, ?, 0)", (row.lastrowid, used, holder))
        for stage in range(8):
            db.execute("INSERT INTO OSRT_CALLCHAINS VALUES (?, ?, ?, 0, 0)", (stage + 1, text(f"stage{stage}"), text("/bin/replayed")))
        for track, start in self.starts.items():
            parent, is_first = self.parents[track], track[0] == track[1]
            db.execute("INSERT INTO LIBTRACE_THREAD_START VALUES (?, ?, ?, ?)", (start, global_tid(track), 0 if is_first else parent[1], 1 if is_first else 0))
            db.execute("INSERT INTO LIBTRACE_THREAD_END VALUES (?, ?)", (self.ends[track], global_tid(track)))
            if is_first:
                db.execute("INSERT INTO LIBTRACE_PROCESS VALUES (?, ?, ?, ?, ?)",
                           (global_tid((track[0], 0)), track[0], parent[0] if parent else 1, start, self.ends[track]))
            if is_first and parent:
                db.execute("INSERT INTO LIBTRACE_CHILD VALUES (?, ?, ?)", (start - self.BEGIN_NS, global_tid(parent), track[0]))
        db.commit()
        db.close()
