#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check a program whose clock_gettime() returns another time: times in the report are the kernel's, and no wait of the tracer depends on it.

The clock is replaced by tests/apps/libfake_clock.c, and by libfaketime if that is installed, preloaded before and after the tracer.
"""
import glob
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import BUILD, HANG_S, Report, app, folder, main, receipts_agree, run, spool_folder, tap, traced_env, wait_spool_gone, wait_until  # noqa: E402

READS = 50
CALLS = 400000  # calls of many_calls; its start and end make a few more
FAKE = os.path.join(BUILD, "tests/apps/libfake_clock.so")
FAKETIME = sorted(glob.glob("/usr/lib/*/faketime/libfaketime.so.1") + glob.glob("/usr/lib*/faketime/libfaketime.so.1"))
KINDS = ("frozen", "behind", "stepping")
FAKETIMES = {"frozen": "2020-01-01 00:00:00", "behind": "-1000s", "fast": "+0 x50"}


def with_clock(name, library, **variables):
    """Check that the reads of slow_reads have the durations of the kernel's clock, in sum and one by one."""
    for order in (("@", library), (library, "@")):
        spool, path = spool_folder(), os.path.join(folder(), "r.rep")
        result = run([app("slow_reads"), str(READS)], env=traced_env(path, spool, preload=order, APP_FACTS=1, **variables))
        where = f"{name}, {'behind' if order[0] == '@' else 'before'} the tracer"
        report = Report(path)
        if not tap.ok(result.status == 0 and wait_spool_gone(spool) and report.exists() and report.check().status == 0 and not receipts_agree(report),
                      f"{where}: the program ends, its report is sound", f"{result.status} {result.err!r} {result.note}"):
            continue
        begin, end = (int(word) for line in result.out.splitlines() if line.startswith(b"facts:") for word in line.split()[1:])
        receipt = report.receipts()[0]
        slack = receipt["clock_error_ns"]
        reads = [e for e in report.events("--absolute", "--kind", "osrt_call") if e["function"] == "read"]
        outside = [e for e in reads if e["start_ns"] + slack < begin or e["start_ns"] + e["duration_ns"] > end + slack]
        total = sum(e["duration_ns"] for e in reads)
        tap.ok(len(reads) == READS and not outside and READS * 1000000 <= total + slack and total <= end - begin + slack,
               f"{where}: {READS} reads lie in the time that they took", f"{len(reads)} reads, {total} ns in {end - begin} ns, outside: {outside[:3]}")
        tap.ok(slack < 1000000 and not receipt.get("clock_breaks") and not receipt["impossible_times"], f"{where}: one clock, its error below 1 ms", receipt)


def fake_clocks():
    for kind in KINDS:
        with_clock(kind, FAKE, FAKE_CLOCK=kind)


def faketime():
    for kind, value in FAKETIMES.items():
        if not FAKETIME:
            tap.skip(f"libfaketime, {kind}", "libfaketime is not installed (scripts/setup --tests)")
            continue
        with_clock(f"libfaketime, {kind}", FAKETIME[0], FAKETIME=value, FAKETIME_NO_CACHE=1)


def writer_of(spool):
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                arguments = file.read().split(b"\0")
            if arguments[0].endswith(b"libtrace-writer") and any(a.startswith(spool.encode()) for a in arguments):
                return int(name)
        except OSError:
            pass
    return None


def writer_stopped():
    """Stop the writer while the program runs: with any clock the program ends, and dropped calls are counted exactly."""
    for kind in (None, *KINDS):
        spool, path = spool_folder(), os.path.join(folder(), "r.rep")
        env = traced_env(path, spool, preload=("@", FAKE), FAKE_CLOCK=kind, LIBTRACE_MEMORY=1, LIBTRACE_EXIT_WAIT="10ms")
        # The shell waits until its writer has been stopped; the program belongs to the same tree.
        with subprocess.Popen(["/bin/sh", "-c", 'read line; "$0" "$1"; status=$?; read line; exit $status', app("many_calls"), str(CALLS)], env=env,
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, bufsize=0) as process:
            if not wait_until(lambda: writer_of(spool)):
                tap.ok(False, f"writer stopped, {kind} clock: there is a writer")
                process.kill()
                continue
            writer = writer_of(spool)
            os.kill(writer, signal.SIGSTOP)
            try:
                process.stdin.write(b"go\nend\n")
                process.wait(HANG_S)
                hung = False
            except subprocess.TimeoutExpired:
                hung = True
                process.kill()
            os.kill(writer, signal.SIGCONT)
        report = Report(path)
        gone = wait_spool_gone(spool)
        tap.ok(not hung and process.returncode == 0 and gone and report.check().status == 0 and not receipts_agree(report),
               f"writer stopped, {kind} clock: the program ends, its report is sound", f"hung: {hung}, status {process.returncode}")
        ours = [p for p in report.processes() if (p.get("executable") or "").endswith("many_calls")]
        receipt = ours[0]["receipt"] if ours else {"produced": 0, "summarized": 0, "drops": []}
        dropped, total = sum(d["count"] for d in receipt["drops"]), receipt["produced"] + receipt["summarized"]
        tap.ok(dropped > 0 and CALLS <= total <= CALLS + 50, f"writer stopped, {kind} clock: {CALLS} calls are there or counted as dropped", receipt)


main(fake_clocks, faketime, writer_stopped)
