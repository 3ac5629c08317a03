#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a database as `trace export -t sqlite` does, of two processes whose threads wait for each other, for measurements of `trace why`.

    tests/bench/wait_database.py PATH EVENTS [KIND]    # writes PATH, with the same content each time
    tests/bench/why.py [KIND EVENTS]...                # writes such databases, and measures

locks (the default): in each round the four threads of a process take a lock in turn, each from the one before it; the first one launches a
kernel and waits for its stream, and the last one of the first process writes a byte to a pipe that the second process reads.
cuda: each thread launches kernels to a stream of its own and waits for them.
pipes: the processes write to each other by turns, a byte at a time.
chains: as locks, and each call has a callchain of its own.
"""
import sqlite3
import sys

VM = 1 << 48
PIDS, THREADS = (1000, 2000), 4
LOCK, UNLOCK, WRITE, READ, PIPE, LAUNCH, SYNC, KERNEL = range(1, 9)
NAMES = ("pthread_mutex_lock", "pthread_mutex_unlock", "write", "read", "pipe2", "cudaLaunchKernel_v7000", "cudaStreamSynchronize_v3020", "scale")
LAUNCHES, FRAMES = 8, 16  # in a round of cuda; of a callchain


def tid_of(process, thread):
    return VM | PIDS[process] << 24 | PIDS[process] + thread


class Rounds:
    """The rows of each table, round after round."""
    per_round = 2 * (2 * THREADS + 3) + 2  # calls and kernels
    has_chains = False

    def __init__(self):
        self.now, self.number, self.correlation = 10_000, 1, 0
        self.free = [[self.now] * THREADS for _ in PIDS]  # since when each thread waits for the lock
        self.calls, self.details, self.runtime, self.kernels, self.syncs = [], [], [], [], []
        self.call(0, 0, PIPE, 1_000, 2_000, 0, 3 | 4 << 24)

    def call(self, process, thread, name, start, end, value=0, used=0, holder=0):
        self.calls.append((self.number, start, end, 27, tid_of(process, thread), name, value, self.number if self.has_chains else 0))
        if used:
            self.details.append((self.number, 0, used, holder, 0))
        self.number += 1

    def launch(self, process, thread, start, begin, end):
        self.correlation += 1
        tid = tid_of(process, thread)
        self.runtime.append((start, start + 3_000, 0, tid, self.correlation, LAUNCH, 0, 0))
        self.kernels.append((begin, end, 0, 1, 7 + thread, self.correlation, tid & ~0xffffff, KERNEL, KERNEL))

    def sync(self, process, thread, start, end):
        self.correlation += 1
        tid = tid_of(process, thread)
        self.runtime.append((start, end, 0, tid, self.correlation, SYNC, 0, 0))
        self.syncs.append((start, end, 3, 7 + thread, self.correlation, tid & ~0xffffff, 1))

    def kernel(self, process, start):
        self.launch(process, 0, start, start + 5_000, start + 25_000)
        self.sync(process, 0, start + 4_000, start + 29_000)
        return start + 30_000

    def round(self):
        begun = self.now
        for process in (0, 1):
            time = begun
            for thread in range(THREADS):
                holder = PIDS[process] + (thread - 1) % THREADS if self.free[process][thread] < time else 0
                self.call(process, thread, LOCK, min(self.free[process][thread], time), time + 500, 0, 0x5000, holder)
                time = self.kernel(process, time + 600) if not thread else time + 20_000
                self.call(process, thread, UNLOCK, time, time + 300, 0, 0x5000)
                time += 400
                self.free[process][thread] = time
            if process == 0:
                last = THREADS - 1
                self.call(0, last, WRITE, time, time + 2_000, 1, 4)
                self.call(1, last, READ, max(begun, self.free[1][last]), time + 4_000, 1, 3)
                self.free[0][last], self.free[1][last] = time + 2_000, time + 4_000
            self.now = time + 5_000


class Chains(Rounds):
    has_chains = True


class Cuda(Rounds):
    per_round = 2 * THREADS * (2 * LAUNCHES + 2)

    def round(self):
        begun = self.now
        for process in (0, 1):
            for thread in range(THREADS):
                self.call(process, thread, LOCK, begun, begun + 500, 0, 0x5000)
                for k in range(LAUNCHES):
                    self.launch(process, thread, begun + 1_000 + 4_000 * k, begun + 5_000 + 20_000 * k, begun + 24_000 + 20_000 * k)
                self.sync(process, thread, begun + 4_000 * LAUNCHES + 2_000, begun + 20_000 * LAUNCHES + 8_000)
        self.now = begun + 20_000 * LAUNCHES + 10_000


class Pipes(Rounds):
    per_round = 4

    def __init__(self):
        super().__init__()
        self.call(0, 0, PIPE, 2_000, 2_400, 0, 5 | 6 << 24)
        self.read_since = [self.now] * 2

    def round(self):
        for writer, written, read in ((0, 4, 3), (1, 6, 5)):
            start, reader = self.now, 1 - writer
            self.call(writer, 0, WRITE, start, start + 2_000, 1, written)
            self.call(reader, 0, READ, self.read_since[reader], start + 4_000, 1, read)
            self.read_since[writer] = start + 2_500
            self.now = start + 30_000


KINDS = {"locks": Rounds, "cuda": Cuda, "pipes": Pipes, "chains": Chains}


def write_chains(d, first, last):
    """Write callchains of FRAMES frames: the outer half of all is the same, the inner one has 97 functions."""
    d.executemany("INSERT INTO OSRT_CALLCHAINS VALUES (?, ?, ?, 0, 0, ?)",
                  ((n, 100 + (0 if depth > FRAMES // 2 else n % 97) + 100 * depth, 99, depth) for n in range(first, last) for depth in range(FRAMES)))


def write(path, events, kind):
    make = KINDS[kind]
    d = sqlite3.connect(path)
    d.executescript("""
        PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
        CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
        CREATE TABLE LIBTRACE_OSRT_CALL (id INTEGER NOT NULL PRIMARY KEY, errno INTEGER, object INTEGER, holderTid INTEGER, flags INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER,
                                                  returnValue INTEGER, callchainId INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
                                                 globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, syncType INTEGER, streamId INTEGER, correlationId INTEGER,
                                                          globalPid INTEGER, contextId INTEGER);
        CREATE TABLE LIBTRACE_PROCESS (globalPid INTEGER, pid INTEGER, parentPid INTEGER, start INTEGER, end INTEGER);
        CREATE TABLE LIBTRACE_CHILD (timestamp INTEGER, globalTid INTEGER, childPid INTEGER);
        CREATE TABLE LIBTRACE_THREAD_START (timestamp INTEGER, globalTid INTEGER, parentTid INTEGER, flags INTEGER);""")
    d.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(NAMES, 1))
    rounds = make()
    if rounds.has_chains:
        d.execute("CREATE TABLE OSRT_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER, unresolved INTEGER, originalIP INTEGER, "
                  "stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth))")
        d.execute("INSERT INTO StringIds VALUES (99, '/usr/bin/app')")
        d.executemany("INSERT INTO StringIds VALUES (?, ?)", ((n, f"function_{n}") for n in range(100, 200 + 100 * FRAMES)))
    for number in range(events // make.per_round):
        rounds.round()
        if number % 1000 and number + 1 < events // make.per_round:
            continue
        if rounds.has_chains and rounds.calls:
            write_chains(d, rounds.calls[0][0], rounds.calls[-1][0] + 1)
        d.executemany("INSERT INTO OSRT_API (rowid, start, end, eventClass, globalTid, nameId, returnValue, callchainId) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rounds.calls)
        for table, rows in (("LIBTRACE_OSRT_CALL", rounds.details), ("CUPTI_ACTIVITY_KIND_RUNTIME", rounds.runtime), ("CUPTI_ACTIVITY_KIND_KERNEL", rounds.kernels),
                            ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", rounds.syncs)):
            if rows:
                d.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
                rows.clear()
        rounds.calls.clear()
    end = rounds.now + 10_000
    for process in (0, 1):
        d.execute("INSERT INTO LIBTRACE_PROCESS VALUES (?, ?, ?, ?, ?)", (tid_of(process, 0) & ~0xffffff, PIDS[process], PIDS[0] if process else 1, 2500 * process, end + 1000 * (process == 0)))
        for thread in range(1, THREADS):
            d.execute("INSERT INTO LIBTRACE_THREAD_START VALUES (?, ?, ?, 0)", (4000 + thread, tid_of(process, thread), PIDS[process]))
    d.execute("INSERT INTO LIBTRACE_CHILD VALUES (2500, ?, ?)", (tid_of(0, 0), PIDS[1]))
    d.commit()
    d.close()


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "locks")
