#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check when and how killed processes end in the report, by the times that the program itself took of each end."""
import ctypes
import os
import platform
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, app, folder, has_pidfd, main, spool_folder, tap, trace, traced_env, wait_spool_gone, wait_until, writer_of  # noqa: E402

SKEW_NS = 2000  # an event has the time of another CPU's counter, converted with an error


def without_pidfds():
    """Let pidfd_open fail with ENOSYS from now on, in programs that this one executes, too, as on Linux before 5.3: by a filter of system calls."""
    load_number, jump_equal, give_back = 0x20, 0x15, 0x06
    program = struct.pack("=HBBIHBBIHBBIHBBI", load_number, 0, 0, 0, jump_equal, 0, 1, 434, give_back, 0, 0, 0x50000 | 38, give_back, 0, 0, 0x7FFF0000)
    buffer = ctypes.create_string_buffer(program)
    filter_program = struct.pack("@HP", 4, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filter_program):
        os._exit(99)


def sleeps(pid):
    """Return whether the process is in a sleep()."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] == {"x86_64": "230", "aarch64": "115"}[platform.machine()]


def killed(mode, prepare=None, **options):
    """Run killed_children. Return the rows that it printed, with the process of each child in the report and its open call; None after a failure."""
    place, spool = folder(), spool_folder()
    report = Report(os.path.join(place, "r.rep"))
    is_recovered = "LIBTRACE_HELPER" in options
    with subprocess.Popen([app("killed_children"), mode], env=traced_env(report.path, spool, **options), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          preexec_fn=prepare) as process:  # noqa: PLW1509 - one thread
        pids = list(map(int, process.stdout.readline().split()))
        wait_until(lambda: all(sleeps(pid) for pid in pids))
        if not options:
            wait_until(lambda: all(writer_of(spool) and has_pidfd(writer_of(spool), pid) for pid in pids))
        out = process.communicate(b"\n")[0].decode()
    if is_recovered:
        tree = os.path.join(spool, os.listdir(spool)[0])
        result = trace("recover", tree)
        tap.ok(result.status == 0, f"{mode}: the report is recovered", result)
    else:
        wait_spool_gone(spool)
    processes = {p["pid"]: p for p in report.processes()}
    calls = {e["pid"]: e for e in report.events("--kind", "osrt_call", "--name", "sleep") if "unfinished" in str(e.get("flags"))}
    rows = [(*map(int, line.split()), processes.get(pid), calls.get(pid)) for line in out.splitlines() for pid in [int(line.split()[0])]]
    sound = len(rows) == 6 and all(row[4] and row[5] for row in rows) and process.returncode == 0
    tap.ok(sound, f"{mode}: six children and the calls that they left open are in the report", (out, processes, calls))
    return rows if sound else []


def signals_are_known(name, rows):
    tap.ok(all(row[4]["end"] == "killed" and row[4].get("term_signal") == signal.SIGTERM for row in rows), f"{name}: the signal is known", rows)
    starts = {p["end_ns"] - call["start_ns"] - call["duration_ns"] for *_, p, call in rows}  # events count from the start of the session
    tap.ok(rows and max(starts) - min(starts) <= SKEW_NS, f"{name}: the open calls end with their processes", (starts, rows))


def ends_are_between(name, rows):
    tap.ok(all(begin - SKEW_NS <= p["end_ns"] <= waited + SKEW_NS for _, begin, _, waited, p, _ in rows),
           f"{name}: each child ends after it was killed, and before its parent's wait for it returned", rows)


def observed():
    """The kernel notifies the writer of each end, whether or not the parent waits."""
    for mode in ("waits", "late", "never"):
        rows = killed(mode)
        signals_are_known(mode, rows)
        tap.ok(all("end_earliest_ns" not in row[4] for row in rows), f"{mode}: the ends were observed, and have no bounds", rows)
        tap.ok(all(begin - SKEW_NS <= p["end_ns"] for _, begin, _, _, p, _ in rows), f"{mode}: no child ends before it was killed", rows)
        if mode != "never":
            ends_are_between(mode, rows)


def polled():
    """Without pidfds the end is between two looks of the writer; a wait of the parent bounds it and has the signal."""
    rows = killed("waits", without_pidfds, LIBTRACE_SECCOMP="trace")
    signals_are_known("polled, waits", rows)
    ends_are_between("polled, waits", rows)
    rows = killed("never", without_pidfds, LIBTRACE_SECCOMP="trace")
    tap.ok(all(p.get("end_earliest_ns", p["end_ns"]) <= dead + SKEW_NS and p.get("end_latest_ns", p["end_ns"]) >= begin - SKEW_NS for _, begin, dead, _, p, _ in rows),
           "polled, never waited for: each child ends within the bounds of its end", rows)


def recovered():
    """Without a writer, only a wait of the parent shows when a process has ended and how."""
    rows = killed("waits", LIBTRACE_HELPER="false")
    signals_are_known("recovered, waits", rows)
    ends_are_between("recovered, waits", rows)
    rows = killed("never", LIBTRACE_HELPER="false")
    tap.ok(all(p["end_earliest_ns"] == p["end_ns"] <= dead and "end_latest_ns" not in p and p.get("term_signal", signal.SIGTERM) == signal.SIGTERM for _, _, dead, _, p, _ in rows),
           "recovered, never waited for: the end is given as a lower bound; a signal is known only of a zombie", rows)


main(observed, polled, recovered)
