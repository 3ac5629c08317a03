#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of `trace merge` and `trace recipe` for many ranks, whose reports are written by this program.

Usage: tests/bench/merge_ranks.py [--ranks 1024] [--events 100000] [--meetings 1000] [--hosts 128] [--parquet] [--whole] [--folder DIR] [--keep]

Each rank has a report with `events` calls of functions and `meetings` rounds: an NVTX range, a message to the next rank and a barrier. A host has
ranks / hosts of them. Clocks of hosts differ by an offset and a rate. In each barrier another rank is late by 100 us. Prints the time and the peak memory
of trace merge, and those of trace stats -r mpi_late_sum. --parquet: instead, those of trace merge --separate, of trace export -t parquet with the tables of
the recipes (--whole: with all tables), and of the recipes mpi_late_sum, mpi_matrix and mpi_range_sum, whose results are checked. BUILD names the build
folder, LIBTRACE_PYTHON a python3 with pyarrow and duckdb.
"""
import argparse
import csv
import io
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SRC, "tests/e2e"))
import libskew  # noqa: E402
from libskew import zigzag  # noqa: E402
from libwire import put_bytes, put_number, put_varint  # noqa: E402

TRACE = os.path.join(os.environ.get("BUILD") or os.path.join(SRC, "build"), "bin", "trace")
BATCH = 2048
STEP_NS = 1_000_000  # between two barriers
NVTX_RANGE, FUNCTION_CALL, MPI_CALL, COMMUNICATOR, RANK = 12, 75, 95, 96, 97  # EVENT rows of events.def and mpi.def
RECIPES = ("mpi_late_sum", "mpi_matrix", "mpi_range_sum")


def constant(field, value):
    return put_number(1, field) + put_number(2, zigzag(value))


def deltas(field, values):
    before, out = 0, []
    for value in values:
        out.append(put_varint(zigzag(value - before)))
        before = value
    return put_number(1, field) + put_bytes(4, b"".join(out))


def batch(kind, tid, count, *columns):
    return put_bytes(4, put_number(1, kind) + put_number(2, 1) + put_number(3, tid) + put_number(4, count) + b"".join(put_bytes(5, c) for c in columns))


def block(sequence, entries, events=0, first=0, last=0):
    payload = b"".join(struct.pack("<I", len(e)) + e for e in entries)
    own = put_number(1, 1) + put_number(2, sequence) + put_varint(3 << 3 | 5) + struct.pack("<I", crc(payload)) + put_number(4, len(entries))
    if events:
        own += put_number(5, first) + put_number(6, last) + put_number(7, events)
    header = put_number(1, 0) + put_number(2, 0) + put_bytes(4, b"") + put_number(5, len(payload)) + put_bytes(6, put_number(1, 1)) + put_bytes(1000, own)
    return struct.pack("<I", len(header)) + header + payload


def crc_after(value, data):
    """Return the state of the CRC-32C after further bytes, by 8 bytes a step."""
    tables = TABLES
    whole = len(data) // 8 * 8
    for low, high in struct.iter_unpack("<II", data[:whole]):
        low ^= value
        value = (tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24]
                 ^ tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^ tables[0][high >> 24])
    for byte in data[whole:]:
        value = value >> 8 ^ tables[0][(value ^ byte) & 255]
    return value


TABLES = [libskew.TABLE]
for _ in range(7):
    TABLES.append([TABLES[-1][i] >> 8 ^ TABLES[0][TABLES[-1][i] & 255] for i in range(256)])


class Repeated:
    """Bytes that most blocks contain: what they do to the state of a CRC is linear, so it is computed once for each bit of the state."""

    def __init__(self, data):
        self.data, self.zero = data, crc_after(0, data)
        bits = [crc_after(1 << bit, data) ^ self.zero for bit in range(32)]
        self.tables = [[0] * 256 for _ in range(4)]
        for at in range(32):
            for value in range(256):
                if value >> at % 8 & 1:
                    self.tables[at // 8][value] ^= bits[at]

    def after(self, value):
        return self.zero ^ self.tables[0][value & 255] ^ self.tables[1][value >> 8 & 255] ^ self.tables[2][value >> 16 & 255] ^ self.tables[3][value >> 24]


repeated = []  # of the events, once their distance is known


def crc(data):
    """Return the CRC-32C."""
    at = data.find(repeated[0].data) if repeated else -1
    if at < 0:
        return crc_after(0xFFFFFFFF, data) ^ 0xFFFFFFFF
    return crc_after(repeated[0].after(crc_after(0xFFFFFFFF, data[:at])), data[at + len(repeated[0].data):]) ^ 0xFFFFFFFF


def report(rank, options, clock, rng, late):
    """Return the bytes of the report of a rank. clock: from the true time to that of its host. late[n]: the rank that is last at barrier n."""
    host, start, tid = rank * options.hosts // options.ranks, 10**12, 1000 + rank
    enters, ends = [], []
    for n in range(options.meetings):
        true = start + n * STEP_NS + 200_000
        enters.append(clock(true + (100_000 if late[n] == rank else rng.randrange(50_000))))
        ends.append(clock(true + 100_000 + rng.randrange(2_000, 9_000)))
    end = clock(start + options.meetings * STEP_NS)
    texts = [b"MPI_Barrier", b"app_step", b"libapp.so", b"round", b"MPI_Send"]
    session = put_bytes(1, f"boot-{host}") + put_number(2, clock(start - 10)) + put_number(3, 1_700_000_000 * 10**9) + put_bytes(4, f"n{host}") + put_number(9, tid)
    process = put_number(1, 1) + put_number(2, tid) + put_number(4, clock(start - 5)) + put_number(5, end) + put_number(10, 1) + put_number(11, 0)
    total = options.events + 3 * options.meetings + 2
    out = [b"NVR\0\2\0\0\0\x08\x07", block(0, [put_bytes(1, session), put_bytes(2, put_bytes(1, bytes(range(1, len(texts) + 1))) + b"".join(put_bytes(2, t) for t in texts)),
                                               put_bytes(3, process)])]
    first = clock(start)
    out.append(block(1, [batch(RANK, tid, 1, deltas(1, [first]), constant(2, rank), constant(3, options.ranks)),
                         batch(COMMUNICATOR, tid, 1, deltas(1, [first]), constant(2, rank), constant(3, 0x44000000), constant(5, rank),
                               constant(6, options.ranks), constant(8, 12345), constant(9, 0))], 2, first, first))
    sequence = 2
    rounds = [first, *(end + 100 for end in ends)]
    for at in range(0, options.meetings, BATCH):
        begins, some, until = (times[at:at + BATCH] for times in (rounds[:-1], enters, ends))
        durations = put_number(1, 2) + put_bytes(3, b"".join(put_varint(b - a) for a, b in zip(some, until)))
        ranges = put_number(1, 2) + put_bytes(3, b"".join(put_varint(b - a) for a, b in zip(begins, some)))
        calls = batch(MPI_CALL, tid, len(some), deltas(1, some), durations, constant(3, 1), constant(4, 2), constant(5, 0x44000000), constant(6, -1),
                      constant(7, -1), constant(8, -1), constant(9, -1), constant(10, -1))
        sends = batch(MPI_CALL, tid, len(some), deltas(1, [begin + 50 for begin in begins]), constant(2, 200), constant(3, 5), constant(4, 1), constant(5, 0x44000000),
                      constant(6, 7), constant(7, (rank + 1) % options.ranks), constant(8, -1), constant(9, 4096), constant(10, -1))
        out.append(block(sequence, [calls, sends, batch(NVTX_RANGE, tid, len(some), deltas(1, begins), ranges, constant(4, 4))], 3 * len(some), min(begins),
                         max(until)))
        sequence += 1
    gap = options.meetings * STEP_NS // options.events
    tail = put_varint(zigzag(gap)) * (BATCH - 1)
    if not repeated:
        repeated.append(Repeated(tail))
    for at in range(0, options.events, BATCH):
        count = min(BATCH, options.events - at)
        begin = first + at * gap
        starts = put_number(1, 1) + put_bytes(4, put_varint(zigzag(begin)) + tail[:(count - 1) * len(put_varint(zigzag(gap)))])
        out.append(block(sequence, [batch(FUNCTION_CALL, tid, count, starts, constant(2, gap // 2), constant(3, 2), constant(4, 3))], count, begin,
                         begin + (count - 1) * gap + gap // 2))
        sequence += 1
    receipt = put_number(1, 1) + put_number(2, total) + put_number(3, total) + put_number(9, 50)
    return b"".join([*out, block(sequence, [put_bytes(7, receipt)])])


def measured(*command):
    """Run a command. Return its seconds, its peak memory in MiB, and its output."""
    before = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[1]}: status {process.returncode}")
    return time.monotonic() - before, usage.ru_maxrss / 1024, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("ranks", 1024), ("events", 100_000), ("meetings", 1000), ("hosts", 128)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--folder")
    for name in ("parquet", "whole", "keep"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    place, rng, paths = tempfile.mkdtemp(prefix="libtrace-bench-", dir=options.folder), random.Random(1), []
    late = [rng.randrange(options.ranks) for _ in range(options.meetings)]
    clocks = [(0, 0.0)] + [(rng.randrange(10**12), rng.uniform(-5e-5, 5e-5)) for _ in range(options.hosts)]
    for rank in range(options.ranks):
        offset, drift = clocks[rank * options.hosts // options.ranks]
        paths.append(os.path.join(place, f"rank-{rank}.rep"))
        with open(paths[-1], "wb") as file:
            file.write(report(rank, options, lambda t, offset=offset, drift=drift: t + offset + round((t - 10**12) * drift), rng, late))
    print(f"{options.ranks} ranks on {options.hosts} hosts, {options.events + 3 * options.meetings} events each, {size_of(paths)} MiB", flush=True)
    (answer_by_recipes if options.parquet else answer_by_merging)(options, place, paths)
    if options.keep:
        print(place)
    else:
        shutil.rmtree(place)


def size_of(paths):
    """Return the MiB of files."""
    return sum(map(os.path.getsize, paths)) >> 20


def answer_by_recipes(options, place, paths):
    """Align the reports, write the tables as Parquet, and run the recipes."""
    folder = os.path.join(place, "aligned")
    seconds, memory, _ = measured(TRACE, "merge", "--separate", "-o", folder, *paths)
    aligned = [os.path.join(folder, os.path.basename(path)) for path in paths]
    print(f"trace merge --separate {seconds:.1f} s, {memory:.0f} MiB; {size_of(aligned)} MiB written", flush=True)
    seconds, memory, _ = measured(TRACE, "export", "-t", "parquet", *([] if options.whole else ["--tables", ",".join(RECIPES)]), *aligned)
    folders = [path.replace(".rep", ".pqtdir") for path in aligned]
    written = [os.path.join(f, name) for f in folders for name in os.listdir(f)]
    print(f"trace export -t parquet {seconds:.1f} s, {memory:.0f} MiB; {size_of(written)} MiB written", flush=True)
    answers = {}
    for name in RECIPES:
        seconds, memory, out = measured(TRACE, "recipe", name, "-f", "csv", *folders)
        answers[name] = list(csv.DictReader(io.StringIO(out.decode())))
        print(f"trace recipe {name} {seconds:.1f} s, {memory:.0f} MiB; {len(answers[name])} rows", flush=True)
    met = [sum(int(row[column]) for row in answers[name]) for name, column in (("mpi_late_sum", "Times Last"), ("mpi_matrix", "Messages"), ("mpi_range_sum", "Instances"))]
    if met != [options.meetings, options.meetings * options.ranks, options.meetings * options.ranks]:
        sys.exit(f"wrong: {met}")


def answer_by_merging(options, place, paths):
    """Merge the reports, and ask for the late ranks."""
    job = os.path.join(place, "job.rep")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))  # reports are not open at the same time
    seconds, memory, _ = measured(TRACE, "merge", "-o", job, *paths)
    print(f"trace merge {seconds:.1f} s, {memory:.0f} MiB; {size_of([job])} MiB written", flush=True)
    seconds, memory, out = measured(TRACE, "stats", "-r", "mpi_late_sum", "-f", "csv", job)
    print(f"trace stats -r mpi_late_sum {seconds:.1f} s, {memory:.0f} MiB; {out.count(b'MPI_Barrier')} ranks named", flush=True)


main()
