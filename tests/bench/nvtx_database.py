#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a database in the format of nsys like those of PyTorch's emit_nvtx(): nested ranges, most with a number in the name, and launches.

    tests/bench/nvtx_database.py PATH MIB       # writes PATH, of about MIB MiB, with the same content each time

Two threads alternate: one runs the forward pass of each step, the other runs the backward pass. A step has layers, a layer has operators,
and every second innermost operator launches a kernel. A start/end range encloses everything, and one encloses each step. The benchmark of
the NVTX reports (nvtx_reports.py) and tests that count work use this database. Only the number of steps may change its size.
"""
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import _made_database as made  # noqa: E402

LAYERS, OPERATORS, DEPTH = 12, 8, 3
NAMES = ("aten::linear", "aten::matmul", "aten::to", "aten::_to_copy", "aten::empty_strided", "aten::copy_", "aten::add_", "aten::layer_norm")
STEP_BYTES = 44300  # bytes of the file for one step


class Steps:
    """Generates the rows of each table, step after step: `ranges` (start, end, eventType, text, globalTid), `calls` and `kernels`."""

    def __init__(self, d):
        self.launch, self.kernels_named = d.text("cudaLaunchKernel_v7000"), [d.text(f"void kernel_{i}<float>(float *, int)") for i in range(40)]
        self.short = [d.text(f"kernel_{i}") for i in range(40)]
        self.now, self.number, self.ranges, self.calls, self.kernels = 1000, 0, [], [], []

    def operator(self, tid, depth):
        self.number += 1
        start, number = self.now, self.number
        self.now += 300
        if depth < DEPTH:
            self.operator(tid, depth + 1)
        elif number % 2:
            self.calls.append((self.now, self.now + 4000, 0, tid, number, self.launch, 0))
            kernel = number % 40
            self.kernels.append((self.now + 5000, self.now + 9000 + 10 * kernel, 0, 1, 7, number, made.P1, self.kernels_named[kernel], self.short[kernel],
                                 32, 80 + kernel, 1, 1, 256, 1, 1, 0, 0, 0, 0, number))
            self.now += 4500
        self.now += 300
        self.ranges.append((start, self.now, 59, f"{NAMES[number % len(NAMES)]}, op_id = {number}", tid))
        self.now += 100

    def step(self, number):
        begin = self.now
        for tid, what in ((made.T1, "forward"), (made.T1B, "backward")):
            outer = self.now
            self.now += 200
            for layer in range(LAYERS):
                start = self.now
                self.now += 200
                for _ in range(OPERATORS):
                    self.operator(tid, 1)
                self.ranges.append((start, self.now, 59, f"layer {layer}", tid))
                self.now += 200
            self.ranges.append((outer, self.now, 59, f"{what} {number}", tid))
            self.now += 500
        self.ranges.append((begin, self.now, 60, f"step {number}", made.T1))
        self.now += 1000


def write(path, steps):
    """Write a database with this number of steps; `path` must not exist."""
    d = made.Made(path)
    d.db.commit()
    d.db.execute("PRAGMA synchronous = OFF")
    d.row("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.24.18")
    d.row("ANALYSIS_DETAILS", globalVid=made.GLOBAL, duration=1 << 50, startTime=0, stopTime=1 << 50)
    d.row("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1700000000000000000)
    d.row("PROCESSES", globalPid=made.P1, pid=1000, name="python3")
    for tid, name in ((made.T1, "main"), (made.T1B, "autograd")):
        d.row("ThreadNames", nameId=d.text(name), priority=20, globalTid=tid)
    s = Steps(d)
    for number in itertools.count():
        if number < steps:
            s.step(number)
        else:
            s.ranges.append((500, s.now, 60, "training", made.T1))
        if len(s.ranges) > 50000 or number >= steps:
            d.db.executemany("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES (?, ?, ?, ?, ?, 0)", s.ranges)
            d.db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue) "
                             "VALUES (?, ?, ?, ?, ?, ?, ?)", s.calls)
            d.db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, "
                             "shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, "
                             "localMemoryPerThread, localMemoryTotal, gridId) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", s.kernels)
            s.ranges, s.calls, s.kernels = [], [], []
        if number >= steps:
            break
    d.finish()


def steps_of(mib):
    """Return the number of steps of a database of about `mib` MiB."""
    return max(1, int(mib * (1 << 20) / STEP_BYTES))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n", 2)[1])
    write(sys.argv[1], steps_of(float(sys.argv[2])))
