# SPDX-License-Identifier: Apache-2.0
"""Generate runs for comparisons: databases with the tables of nsys and times drawn from known distributions."""
import itertools
import os
import random
import sqlite3
import subprocess
import sys

import lib

PID = 1000
GLOBAL_PID = 1 << 48 | PID << 24
GLOBAL_TID = GLOBAL_PID | PID


PACKAGES = os.path.join(lib.SRC, "reader/python")


def interpreter():
    """Return a Python that has the packages trace_tools needs, or None."""
    places = (os.path.join(lib.BUILD, "python/bin/python3"), os.path.join(lib.SRC, "build/python/bin/python3"), sys.executable)
    return next((path for path in places if os.path.exists(path) and
                 not subprocess.run([path, "-c", "import numpy, scipy.stats"], capture_output=True, check=False).returncode), None)


def enter_interpreter(what):
    """Run this test again with a Python that has the packages trace_tools needs; without one, skip the test and exit."""
    found = interpreter()
    if not found:
        lib.tap.skip(what, "no python3 with numpy and scipy (scripts/setup --python)")
        lib.tap.finish()
    if found != sys.executable:
        os.execv(found, [found, *sys.argv])
    sys.path.insert(0, PACKAGES)
    os.environ["LIBTRACE_COMMAND"] = lib.TRACE
    os.environ["LIBTRACE_SPOOL_DIR"] = lib.spool_folder()  # the leftovers of killed runs are removed with it


def command(*arguments, **more):
    """Run `trace` with the Python of this test."""
    return lib.run([lib.TRACE, *map(str, arguments)], env=lib.clean_env(LIBTRACE_PYTHON=sys.executable, LIBTRACE_SPOOL_DIR=os.environ["LIBTRACE_SPOOL_DIR"], **more))


class Run:
    """One run: nested ranges with calls and kernels, written as a database."""

    def __init__(self, seed, host="here", options=()):
        self.chance, self.now, self.texts = random.Random(seed), 1000, {}
        self.ranges, self.calls, self.api, self.kernels, self.copies = [], [], [], [], []
        self.host, self.options, self.status = host, list(options), 0

    def id(self, text):
        return self.texts.setdefault(text, len(self.texts))

    def lasts(self, ns, spread=0.05):
        """Return a random time like those of programs: skewed, and occasionally far too long."""
        return int(ns * self.chance.lognormvariate(0, spread) * (20 if self.chance.random() < 0.01 else 1))

    def inside(self, name, body):
        begin = self.now
        self.now += 10
        body()
        self.now += 10
        self.ranges.append((begin, self.now, 59, name, GLOBAL_TID, 0))
        self.now += 5

    def work(self, name, ns):
        self.inside(name, lambda: setattr(self, "now", self.now + self.lasts(ns)))

    def call(self, name, ns):
        begin = self.now
        self.now += self.lasts(ns)
        self.calls.append((begin, self.now, 27, GLOBAL_TID, self.id(name), 0, 0))

    def launch(self, name, ns):
        number = len(self.api) + 1
        self.api.append((self.now, self.now + 3000, 0, GLOBAL_TID, number, self.id("cudaLaunchKernel_v7000"), 0))
        self.now += 4000
        begin = self.now + 1000
        self.kernels.append((begin, begin + self.lasts(ns, 0.01), 0, 1, 7, number, GLOBAL_PID, self.id(name)))

    def write(self, path, of_libtrace=True):
        c = sqlite3.connect(path)
        c.executescript("""
            CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
            CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
            CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);
            CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
            CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER, endGlobalTid INTEGER, textId INTEGER);
            CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);
            """)
        c.execute("INSERT INTO PROCESSES VALUES (?, ?, 'app')", (GLOBAL_PID, PID))
        c.executemany("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES (?, ?, ?, ?, ?, ?)", self.ranges)
        for table, rows, count in (("OSRT_API", self.calls, 7), ("CUPTI_ACTIVITY_KIND_RUNTIME", self.api, 7), ("CUPTI_ACTIVITY_KIND_KERNEL", self.kernels, 8)):
            c.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * count)})", rows)
        c.executemany("INSERT INTO StringIds VALUES (?, ?)", [(number, text) for text, number in self.texts.items()])
        c.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', ?)", (self.host,))
        c.executemany("INSERT INTO META_DATA_CAPTURE VALUES ('LIBTRACE_OPTION', ?)", [(o,) for o in self.options])
        if of_libtrace:
            c.execute("CREATE TABLE LIBTRACE_REPORT (rootPid INTEGER)")
            c.execute("INSERT INTO LIBTRACE_REPORT VALUES (?)", (PID,))
            c.execute("CREATE TABLE LIBTRACE_PROCESS (globalPid INTEGER, pid INTEGER, start INTEGER, end INTEGER, executable TEXT, endHow TEXT, exitStatus INTEGER, traced TEXT, "
                      "dropped INTEGER, forked INTEGER, processId INTEGER, previousId INTEGER)")
            c.execute("INSERT INTO LIBTRACE_PROCESS VALUES (?, ?, 0, ?, '/opt/app', 'exit', ?, 'yes', 0, 0, 1, NULL)", (GLOBAL_PID, PID, self.now, self.status))
        c.commit()
        c.close()
        return path


def program(run, items=40, solve_ns=50000, locks=1, kernel="void scale<float>(float*)", kernel_ns=9000, store="store"):
    """Add the events of the synthetic program: items of four stages."""
    def item():
        run.work("parse", 30000)
        run.work("solve", solve_ns)

        def compute():
            run.launch(kernel, kernel_ns)

        def keep():
            for _ in range(locks):
                run.call("pthread_mutex_lock", 400)
            run.call("write", 2000)

        run.inside("compute", compute)
        run.inside(store, keep)

    for _ in range(items):
        run.inside("item", item)
    return run


def operators(run, names=18494, first=1):
    """Add the ranges of PyTorch's emit_nvtx() for a few steps: operators in layers, each with a number of its own in its name."""
    for number in range(first, first + names, 500):
        def layer(begin=number):
            for operator in range(begin, min(begin + 500, first + names)):
                run.work(f"aten::{('to', 'add_', 'linear')[operator % 3]}, op_id = {operator}", 2000)

        run.inside("layer", layer)
    return run


def nested_operators(run, names=800, first=1):
    """Add ranges with a number each in their names, some within others, with launches in them: a few steps of PyTorch."""
    numbers = iter(range(first, first + names))

    def operator(depth):
        number = next(numbers, None)
        if number is None:
            return

        def body():
            for _ in range(number % 3 if depth < 2 else 0):
                operator(depth + 1)
            run.launch(f"kernel_{number % 5}", 2000)

        run.inside(f"aten::{('to', '_to_copy', 'copy_', 'add_', 'linear')[number % 5]}, op_id = {number}", body)

    for number in range(first, first + names, 40):
        run.inside(f"step {number}", lambda: [operator(0) for _ in range(20)])
    return run


def layered_operators(run, layers=20, first=1):
    """Add layers of 32 ranges with a number each in their names, each with a second one in it."""
    numbers = itertools.count(first)

    def operator():
        number = next(numbers)
        inner = lambda: run.inside(f"aten::copy_, op_id = {next(numbers)}", lambda: None)  # noqa: E731
        run.inside(f"aten::{('to', 'add_')[number % 4 // 2]}, op_id = {number}", inner)

    for number in range(layers):
        run.inside(f"layer {number}", lambda: [operator() for _ in range(32)])
    return run


def runs(folder, name, count, seed, make=program, of_libtrace=True, host="here", options=(), **what):
    """Write `count` databases of a program; return their paths."""
    return [make(Run(seed * 1000 + i, host, options), **what).write(os.path.join(folder, f"{name}-{i}.sqlite"), of_libtrace) for i in range(count)]
