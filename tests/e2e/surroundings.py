#!/usr/bin/env python3
# timeout: 300
"""What a program finds around it (a debugger, small limits, a system call filter, locks on its files) is as without the tracer."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, app, clean_env, folder, main, program_of, receipts_agree, run, spool_folder, tap, traced_env, wait_spool_gone  # noqa: E402


def both(argv, name, **options):
    """Runs argv untraced and traced, compares the two, and returns the report where it is sound."""
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    plain = run(argv, env=clean_env(), cwd=work)
    traced = run(argv, env=traced_env(report.path, spool, **options), cwd=work)
    tap.ok((plain.status, plain.out, plain.err) == (traced.status, traced.out, traced.err) and plain.status == 0, f"{name}: as untraced", (plain, traced))
    sound = wait_spool_gone(spool) and report.exists() and report.check().status == 0 and not receipts_agree(report)
    tap.ok(sound, f"{name}: its report is sound", receipts_agree(report) if report.exists() else "no report")
    return report if sound else None


def debugger():
    """It is not traced itself: its end must not be what the writer waits for."""
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    traced = [f"{name}={value}" for name, value in traced_env(report.path, spool).items()]
    follower = [app("clone_follower"), "env"]
    plain = run([*follower, app("many_threads")], env=clean_env(), cwd=work)
    with_us = run([*follower, *traced, app("many_threads")], env=clean_env(), cwd=work)
    tap.ok((plain.status, plain.out) == (with_us.status, with_us.out), "debugger: follows what it follows without us", (plain, with_us))
    ended = wait_spool_gone(spool, 10)
    tap.ok(ended and report.exists() and report.check().status == 0 and not receipts_agree(report), "debugger: its end does not kill the writer",
           os.listdir(spool))


def little_data():
    """Calls with callchains: their tables are mapped, too."""
    report = both([app("memory_limit"), "data"], "RLIMIT_DATA of 1 MiB", LIBTRACE_OSRT_BACKTRACE_THRESHOLD="0")
    tap.ok(report and report.total("pread", "recorded") > 10000 and report.dropped() == 0, "RLIMIT_DATA of 1 MiB: what is executed under it is traced",
           report and report.processes())


def exec_edges():
    report = both([app("exec_edges")], "exec with little stack or bad pointers")
    ran = [p for p in report.processes() if program_of(p) == "true"] if report else []
    tap.ok(len(ran) == 3, "exec with little stack: the programs are in the tree although it was not named to them", report and report.processes())


def exec_locks():
    """A child that is not traced would be listed with the reason that its file could not be examined."""
    report = both([app("exec_locks")], "exec beside locks and open()")
    tap.ok(report and all(p["traced"] == "yes" for p in report.processes()), "exec beside locks: all are traced", report and report.processes())


def ifunc():
    for more in ({}, {"LD_BIND_NOW": "1"}, {"LIBTRACE_OSRT_LOCKS": "all"}, {"LIBTRACE_TRACE": "nvtx"}):
        name = f"resolvers of indirect functions {more or ''}".strip()
        report = both([app("ifunc_early")], name, **more)
        wanted = 0 if "LIBTRACE_TRACE" in more else 100
        tap.ok(report and report.total("pread") == wanted, f"{name}: what comes later is recorded", report and report.total("pread"))


if __name__ == "__main__":
    main(debugger, little_data, exec_edges, exec_locks, ifunc)
