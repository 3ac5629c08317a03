#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure the time and memory that `trace` needs for a report of Nsight Compute with many results.

    tests/bench/ncu_large.py [--results N] [--bytes B] [--rounds R] [--keep FILE]      (default: 100,000 results of 10 KB, three rounds)

This script writes the report. Every result has 420 metrics, two of them with instances, a section and a rule's message; the results differ in the duration
and one counter. The measured command runs with the file in the page cache, in turn with `cat FILE >/dev/null` as the floor. User and system time and the
greatest resident size are those of the process. NVIDIA's ncu, if it is installed (PEERS, default /tmp/peers), prints the same metric of a report with a
hundredth of the results, since it takes too long for the large report.
"""
import argparse
import csv
import io
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from libpeers import NCU  # noqa: E402
from libwire import put_bytes as data, put_number as number, put_real as real  # noqa: E402

TRACE = os.path.join(os.environ.get("BUILD") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build"), "bin/trace")
DURATION = "gpu__time_duration.sum"
LIMIT_SECONDS, LIMIT_BYTES = 2.0, 200e6


def metric(name_id, value, instances=()):
    body = number(1, name_id) + data(2, value)
    for key, item in instances:
        body += data(3, data(1, number(5, key)) + data(2, real(3, item)))
    return data(13, body)


NAMES = [DURATION, "sm__cycles_active.avg", "device__attribute_device_index", "device__attribute_compute_capability_major",
         "device__attribute_compute_capability_minor", "inst_executed", "launch__occupancy_per_block_size"]
NAMES += [f"sm__counter_{i:03d}.avg.pct_of_peak_sustained_elapsed" for i in range(413)]


def result(bytes_wanted):
    """Return the bytes of a result, and the offsets of the two values that differ from result to result."""
    dims = [data(9, number(1, 0) + number(2, 0) + number(3, 0)), data(10, number(1, 4096) + number(2, 1) + number(3, 1)),
            data(11, number(1, 256) + number(2, 1) + number(3, 1))]
    out = number(1, 4242) + number(2, 77) + number(3, 1 << 40) + number(4, 1 << 41) + data(5, "_Z7computePf") + data(6, "compute")
    out += data(7, "compute(float *)") + number(8, 3) + b"".join(dims)
    places = []
    for value in (1.0, 2.0):
        out += metric(len(places), real(3, value))
        places.append(len(out) - 8)
    out += metric(2, number(5, 0)) + metric(3, number(5, 8)) + metric(4, number(5, 6))
    for i in range(7, len(NAMES)):
        out += metric(i, real(3, i / 7))
    header = b"".join(data(2, data(1, NAMES[i]) + data(2, f"Label {i}")) for i in (0, 1, 7, 8, 9))
    section = data(17, data(1, "Demo") + data(2, "Demo Section") + number(3, 10) + data(4, header))
    rule = data(19, data(1, "DemoRule") + data(2, "Demo Rule") + data(3, data(1, data(1, data(1, "All is well.") + number(2, 1) + number(3, 1)))) + data(4, "Demo"))
    rest = number(14, 1700000000) + data(15, number(1, (17 << 32) + 1)) + number(16, 0) + section + rule + number(22, 1) + number(23, 7)
    count = 0
    while True:  # add instances until the result has the wanted size
        filled = out + metric(5, real(3, 1.5), [(1 << 46 | i << 4, float(i)) for i in range(count)]) + metric(6, real(3, 2.5), [(i, 8.0) for i in range(65)]) + rest
        if len(filled) >= bytes_wanted:
            return filled, places
        count += 1 + (bytes_wanted - len(filled)) // 40


def make(path, results, size):
    message, places = result(size)
    message = bytearray(message)
    chance = random.Random(11)
    durations = []
    process = data(6, number(1, 4242) + data(2, "127.0.0.1") + data(3, "/bin/app"))
    with open(path, "wb", buffering=1 << 20) as file:
        file.write(b"NVR\0" + struct.pack("<I", 2) + b"\x08\x07")
        for i in range(results):
            table = data(4, b"".join(data(1, name) for name in NAMES)) if i == 0 else data(4, b"")
            header = number(1, 0) + number(2, 1) + table + number(5, len(message) + 4) + process
            durations.append(float(chance.randrange(1000, 1000000)))
            struct.pack_into("<d", message, places[0], durations[-1])
            struct.pack_into("<d", message, places[1], durations[-1] * 1.4)
            file.write(struct.pack("<I", len(header)) + header + struct.pack("<I", len(message)) + message)
    return durations


# The peak resident size of a new process begins at its parent's size, so a small process starts the measured one.
SPAWN = """
import resource, subprocess, sys, time
begin = time.monotonic()
status = subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, file=sys.stderr)
sys.exit(status)
"""


def measured(argv):
    """Return wall and processor seconds, peak resident bytes, and the output."""
    with tempfile.TemporaryFile() as out:
        done = subprocess.run([sys.executable, "-S", "-c", SPAWN, *argv], stdout=out, stderr=subprocess.PIPE, text=True, check=False)
        out.seek(0)
        if done.returncode:
            raise RuntimeError(f"{argv}: status {done.returncode}")
        wall, cpu, memory = done.stderr.split()
        return float(wall), float(cpu), float(memory), out.read(64 << 20)


def table(rows):
    print(f"{'':46} {'wall s':>8} {'least':>8} {'cpu s':>8} {'MB':>7}")
    for name, runs in rows.items():
        walls = [run[0] for run in runs]
        print(f"{name:46} {statistics.median(walls):8.2f} {min(walls):8.2f} {statistics.median(run[1] for run in runs):8.2f} {max(run[2] for run in runs) / 1e6:7.0f}")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--results", type=int, default=100000)
    options.add_argument("--bytes", type=int, default=10000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--keep")
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or os.path.join(folder, "large.ncu-rep")
        durations = make(path, options.results, options.bytes)
        print(f"{os.path.getsize(path) / 1e9:.2f} GB, {options.results} results of {len(NAMES)} metrics")
        one = [TRACE, "details", "--page", "raw", "--csv", "--print-units", "base", "--metrics", DURATION, path]
        commands = {"cat FILE >/dev/null": ["sh", "-c", 'cat "$0" >/dev/null', path], "trace info": [TRACE, "info", path], "one metric of all: details --metrics": one,
                    "mean of all: details --print-summary": [TRACE, "details", "--print-summary", "per-kernel", path]}
        rows = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, argv in commands.items():
                rows[name].append(measured(argv))
                if argv is one:
                    found = [float(row[-1]) for row in list(csv.reader(io.StringIO(rows[name][-1][3].decode())))[2:]]
                    if found != durations:
                        raise RuntimeError("other values than those that were written")
        if os.path.exists(NCU):
            small = os.path.join(folder, "small.ncu-rep")
            make(small, options.results // 100, options.bytes)
            rows["ncu, a hundredth of the results"] = [measured([NCU, "--import", small, "--page", "raw", "--csv", "--metrics", DURATION])]
            rows["trace details, the same"] = [measured([*one[:-1], small]) for _ in range(options.rounds)]
        table(rows)
    runs = rows["one metric of all: details --metrics"]
    cpu, memory = min(run[1] for run in runs), max(run[2] for run in runs)
    kept = cpu <= LIMIT_SECONDS and memory <= LIMIT_BYTES
    print(f"limit for one metric: {LIMIT_SECONDS} s of a processor (what an idle machine takes by the clock: one thread, no waiting), {LIMIT_BYTES / 1e6:.0f} MB: "
          f"{'kept' if kept else 'MISSED'}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
