#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Play a capture of a real GPU on the simulated device, faster than it was, until it has had as many kernels as wanted; check that all of them are in the report,
and print what recording and reading cost.

    tests/bench/replay.py [--kernels N] [--speed S] [--rounds R]      (default: 10,000,000 kernels at ten times the speed, five rounds)

The defaults take a quarter of an hour: six minutes to play, the rest to read. TMPDIR needs 6 GB, /var/tmp 4 GB. Exit status 1: something is lost.

How the figures come about: the cost of a call is measured without waits between calls, in rounds that play without a client of CUPTI, with a bare one
(tests/cuda/libbare.c) and with the tracer, in turn; it is the processor time of the whole process, the threads of CUPTI and the tracer included. A bare client
shows how much of it is the simulated device's. The memory of the writer and the program is the greatest resident size. All else is of the long run.
"""
import argparse
import collections
import os
import sqlite3
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))
import libdevice as device  # noqa: E402
from lib import TRACE, Report, clean_env, fixtures, tap, wait_until, writer_of  # noqa: E402
from libreplay import COPY, EVENT, KERNEL, MANY, SET, SYNC, Capture, own_calls, played  # noqa: E402

EVENTS = {KERNEL: "cuda_kernel", COPY: "cuda_memcpy", SET: "cuda_memset", SYNC: "cuda_sync", EVENT: "cuda_event"}
CLIENTS = ("none", "bare", "tracer")
REPEATS = 24  # of a round
READ = {"trace stats -r cuda_gpu_kern_sum": ["stats", "-r", "cuda_gpu_kern_sum"], "trace stats -r cuda_gpu_kern_sum,cuda_api_sum": ["stats", "-r", "cuda_gpu_kern_sum,cuda_api_sum"]}
MIB = 1 << 20


class Writer:
    """The writer while programs are recorded: its greatest resident size and its processor time."""

    def __init__(self):
        self.kib = self.ticks = 0

    def watch(self, spool):
        try:
            wait_until(lambda: writer_of(spool))
            pid = writer_of(spool)
            while True:
                with open(f"/proc/{pid}/status", encoding="ascii") as file:
                    self.kib = next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), self.kib)
                with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                    self.ticks = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
                time.sleep(0.2)
        except OSError:
            pass  # it has ended

    def seconds(self):
        return self.ticks / os.sysconf("SC_CLK_TCK")


def expected(capture, repeats):
    """Return how many events of each kind the report must have."""
    found = collections.Counter(EVENTS[op[0]] for op in capture.operations())
    found["cuda_event"] = len(capture.rows("CUDA_EVENT", "1"))
    return {"cuda_api": repeats * len(capture.calls) + len(own_calls(1)), **{kind: repeats * count for kind, count in found.items()}}


def measured(*words):
    """Run `trace`. Return (seconds, processor seconds, greatest resident size in MiB)."""
    begin = time.monotonic()
    with subprocess.Popen([TRACE, *words], env=clean_env(TMPDIR=os.environ.get("TMPDIR", "/var/tmp")), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    tap.ok(process.returncode == 0, " ".join(["trace", *words]), process.returncode)
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10


def kernels_are_whole(path, capture, repeats, speed):
    """Check in the exported database that each kernel is there as often, and as long, as it was played."""
    wanted = collections.defaultdict(lambda: [0, 0])
    begin = capture.begin()
    for op in capture.operations():
        if op[0] == KERNEL:
            wanted[op[9][-1]][0] += repeats
            wanted[op[9][-1]][1] += repeats * ((op[2] - begin) // speed - (op[1] - begin) // speed)
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found = {name: (count, ns) for name, count, ns in db.execute(
        "SELECT (SELECT value FROM StringIds WHERE id = coalesce(mangledName, demangledName)), count(*), sum(\"end\" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1")}
    db.close()
    same = set(found) == set(wanted) and all(found[name][0] == count and abs(found[name][1] - ns) <= 2 * count for name, (count, ns) in wanted.items())
    tap.ok(same, f"{len(found)} names of kernels: as many, and together as long, as played", (found, dict(wanted)))


def costs(capture, rounds, speed):
    """Return for each client the processor time of the process in ns for a call, by round, and its greatest resident size in MiB, played at speed."""
    calls = REPEATS * len(capture.calls)
    ns = {client: [] for client in CLIENTS}
    for _ in range(rounds):
        for client in CLIENTS:
            ns[client].append(played([capture], speed, REPEATS, client, at_once=True)[1][0].used_ns / calls)
    return ns, {client: played([capture], speed, REPEATS, client)[1][0].most_kib >> 10 for client in CLIENTS[:2]}


def rows(options):
    """Play and read. Return the rows of the table."""
    capture, writer = Capture(os.path.join(fixtures("nsys"), MANY)), Writer()
    repeats = -(-options.kernels // sum(op[0] == KERNEL for op in capture.operations()))
    ns, kib = costs(capture, options.rounds, options.speed)
    begin = time.monotonic()
    report, (player,), _ = played([capture], options.speed, repeats, during=writer.watch, limit=7200)
    seconds, bytes_of_report = time.monotonic() - begin, os.path.getsize(report)
    info, wanted = Report(report).info(), expected(capture, repeats)
    found = {kind: info["events"].get(kind, 0) for kind in wanted}
    tap.ok(found == wanted, f"{wanted['cuda_kernel']} kernels and all else that was played are in the report", (found, wanted))
    tap.ok(info["verdict"].startswith("complete"), "the report is complete", info["verdict"])
    base = report + ".sqlite"
    export = measured("export", "-t", "sqlite", "-o", base, report)
    size = os.path.getsize(base)
    kernels_are_whole(base, capture, repeats, options.speed)
    os.unlink(base)
    kernels, events = found["cuda_kernel"], sum(found.values())
    yield "calls, kernels recorded", f"{found['cuda_api']:,}, {kernels:,}"
    yield "lost", f"{sum(wanted.values()) - events:,} of {sum(wanted.values()):,} events"
    yield "played in", f"{seconds:.0f} s"
    yield "report", f"{bytes_of_report / MIB:.0f} MiB: {bytes_of_report / kernels:.1f} bytes for a kernel with its calls and copy, {bytes_of_report / events:.1f} for an event"
    yield "writer", f"at most {writer.kib / 1024:.0f} MiB, {writer.seconds():.0f} s of processor time, {writer.seconds() / events * 1e9:.0f} ns for an event"
    yield "program at most, at that speed", f"{kib['none']} MiB; with a bare client {kib['bare']} MiB; traced {player.most_kib >> 10} MiB"
    launches = len(capture.calls) / sum(op[0] == KERNEL for op in capture.operations())
    for client in CLIENTS:
        yield f"ns for a call, client: {client}", f"{statistics.median(ns[client]):.0f} ({min(ns[client]):.0f} to {max(ns[client]):.0f})"
    for title, other in (("no client", "none"), ("a bare client", "bare")):
        added = [a - b for a, b in zip(ns["tracer"], ns[other])]
        yield f"added to {title}, in the same round", f"{statistics.median(added):.0f} ns for a call, {statistics.median(added) * launches:.0f} ns for a kernel with its {launches:.1f} calls"
    yield "trace export -t sqlite", f"{export[0]:.0f} s ({export[1]:.0f} s of processor time), {export[2]} MiB; {size / MIB:.0f} MiB of database"
    for title, words in READ.items():
        wall, cpu, most = measured(*words, report)
        yield title, f"{wall:.0f} s ({cpu:.0f} s of processor time), {most} MiB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=10_000_000)
    parser.add_argument("--speed", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    reason = device.missing("player") or (None if os.path.exists(os.path.join(fixtures("nsys"), MANY)) else "no fixtures of nsys")
    if reason:
        tap.skip("replay", reason)
        tap.finish()
    table = list(rows(options))
    print(f"\n| | {options.speed} times the speed, load {os.getloadavg()[0]:.0f} |\n|---|---|")
    for title, figure in table:
        print(f"| {title} | {figure} |", flush=True)
    tap.finish()


if __name__ == "__main__":
    main()
