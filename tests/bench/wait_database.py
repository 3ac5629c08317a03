#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a database as `trace export -t sqlite` does, of two processes whose threads wait for each other, for measurements of `trace why`.

    tests/bench/wait_database.py PATH EVENTS    # writes PATH, with the same content each time
    /usr/bin/time -v trace why PATH

In each round the four threads of a process take a lock in turn, each from the one before it; the first one launches a kernel and waits for its
stream, and the last one of the first process writes a byte to a pipe that the second process reads.
"""
import sqlite3
import sys

VM = 1 << 48
PIDS, THREADS = (1000, 2000), 4
LOCK, UNLOCK, WRITE, READ, PIPE, LAUNCH, SYNC, KERNEL = range(1, 9)
NAMES = ("pthread_mutex_lock", "pthread_mutex_unlock", "write", "read", "pipe2", "cudaLaunchKernel_v7000", "cudaStreamSynchronize_v3020", "scale")
PER_ROUND = 2 * (2 * THREADS + 3) + 2  # calls and kernels


def tid_of(process, thread):
    return VM | PIDS[process] << 24 | PIDS[process] + thread


class Rounds:
    """The rows of each table, round after round."""

    def __init__(self):
        self.now, self.number, self.correlation = 10_000, 1, 0
        self.free = [[self.now] * THREADS for _ in PIDS]  # since when each thread waits for the lock
        self.calls, self.details, self.runtime, self.kernels, self.syncs = [], [], [], [], []
        self.call(0, 0, PIPE, 1_000, 2_000, 0, 3 | 4 << 24)

    def call(self, process, thread, name, start, end, value=0, used=0, holder=0):
        self.calls.append((self.number, start, end, 27, tid_of(process, thread), name, value, 0))
        if used:
            self.details.append((self.number, 0, used, holder, 0))
        self.number += 1

    def kernel(self, process, start):
        self.correlation += 1
        tid = tid_of(process, 0)
        self.runtime.append((start, start + 3_000, 0, tid, self.correlation, LAUNCH, 0, 0))
        self.kernels.append((start + 5_000, start + 25_000, 0, 1, 7, self.correlation, tid & ~0xffffff, KERNEL, KERNEL))
        self.correlation += 1
        self.runtime.append((start + 4_000, start + 29_000, 0, tid, self.correlation, SYNC, 0, 0))
        self.syncs.append((start + 4_000, start + 29_000, 3, 7, self.correlation, tid & ~0xffffff, 1))
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


def main():
    path, events = sys.argv[1], int(sys.argv[2])
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
    rounds = Rounds()
    for number in range(events // PER_ROUND):
        rounds.round()
        if number % 1000 and number + 1 < events // PER_ROUND:
            continue
        d.executemany("INSERT INTO OSRT_API (rowid, start, end, eventClass, globalTid, nameId, returnValue, callchainId) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rounds.calls)
        for table, rows in (("LIBTRACE_OSRT_CALL", rounds.details), ("CUPTI_ACTIVITY_KIND_RUNTIME", rounds.runtime), ("CUPTI_ACTIVITY_KIND_KERNEL", rounds.kernels),
                            ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", rounds.syncs)):
            if rows:
                d.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
                rows.clear()
        rounds.calls.clear()
    end = rounds.now + 10_000
    for process in (0, 1):
        d.execute("INSERT INTO LIBTRACE_PROCESS VALUES (?, ?, ?, 0, ?)", (tid_of(process, 0) & ~0xffffff, PIDS[process], PIDS[0] if process else 1, end + 1000 * (process == 0)))
        for thread in range(1, THREADS):
            d.execute("INSERT INTO LIBTRACE_THREAD_START VALUES (?, ?, ?, 0)", (4000 + thread, tid_of(process, thread), PIDS[process]))
    d.execute("INSERT INTO LIBTRACE_CHILD VALUES (2500, ?, ?)", (tid_of(0, 0), PIDS[1]))
    d.commit()
    d.close()


if __name__ == "__main__":
    main()
