#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that a program in a special environment (a debugger, small limits, a system call filter, locks on its files) runs as without the tracer."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TRACE, Report, app, clean_env, folder, main, program_of, receipts_agree, run, spool_folder, tap, traced_env, wait_spool_gone  # noqa: E402


def both(argv, name, **options):
    """Run argv untraced and traced, compare the two runs, and return the report if it is sound."""
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    plain = run(argv, env=clean_env(), cwd=work)
    traced = run(argv, env=traced_env(report.path, spool, **options), cwd=work)
    tap.ok((plain.status, plain.out, plain.err) == (traced.status, traced.out, traced.err) and plain.status == 0, f"{name}: as without the tracer", (plain, traced))
    sound = wait_spool_gone(spool) and report.exists() and report.check().status == 0 and not receipts_agree(report)
    tap.ok(sound, f"{name}: its report is sound", receipts_agree(report) if report.exists() else "no report")
    return report if sound else None


def debugger():
    """Check a program under a debugger that is not traced itself: the writer must not wait for the debugger's end."""
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    traced = [f"{name}={value}" for name, value in traced_env(report.path, spool).items()]
    follower = [app("clone_follower"), "env"]
    plain = run([*follower, app("many_threads")], env=clean_env(), cwd=work)
    with_us = run([*follower, *traced, app("many_threads")], env=clean_env(), cwd=work)
    tap.ok((plain.status, plain.out) == (with_us.status, with_us.out), "debugger: follows the same threads as without the tracer", (plain, with_us))
    ended = wait_spool_gone(spool)
    tap.ok(ended and report.exists() and report.check().status == 0 and not receipts_agree(report), "debugger: its end does not kill the writer",
           os.listdir(spool))


def little_data():
    """Check calls with callchains, whose tables are mapped, under a limit of data memory."""
    report = both([app("memory_limit"), "data"], "RLIMIT_DATA of 1 MiB", LIBTRACE_OSRT_BACKTRACE_THRESHOLD="0")
    tap.ok(report and report.total("pread", "recorded") > 10000 and report.dropped() == 0, "RLIMIT_DATA of 1 MiB: programs executed under it are traced",
           report and report.processes())


def memory():
    """Check that the tracer adds no more memory to a process than docs/limitations.md says."""
    script = 'while read -r key value _; do case $key in VmSize:|VmData:) echo $value;; esac; done < /proc/self/status'
    plain = [int(number) for number in run(["sh", "-c", script], env=clean_env()).out.split()]
    for name, most, more in (("default", (3584, 336), {}), ("a callchain for each call", (3584, 336), {"LIBTRACE_OSRT_BACKTRACE_THRESHOLD": 0}),
                             ("samples", (3584, 336), {"LIBTRACE_SAMPLE": "process-tree"}),
                             ("libunwind", (3891, 384), {"LIBTRACE_BACKTRACE": "libunwind", "LIBTRACE_OSRT_BACKTRACE_THRESHOLD": 0})):
        spool = spool_folder()
        result = run(["sh", "-c", script], env=traced_env(os.path.join(folder(), "r.rep"), spool, **more))
        wait_spool_gone(spool)
        added = [int(number) - before for number, before in zip(result.out.split(), plain)]
        tap.ok(len(added) == 2 and 0 < added[0] <= most[0] and 0 < added[1] <= most[1], f"{name}: at most {most[0]} KiB of address space, {most[1]} KiB of data",
               added)


def exec_edges():
    report = both([app("exec_edges")], "exec with little stack or bad pointers")
    ran = [p for p in report.processes() if program_of(p) == "true"] if report else []
    tap.ok(len(ran) == 3, "exec with little stack: the programs are in the tree, although their environment did not name it", report and report.processes())


def exec_locks():
    """Check that locks are kept when a program is executed; a child whose file cannot be examined would be listed as not traced."""
    report = both([app("exec_locks")], "exec beside locks and open()")
    untraced = [program_of(p) for p in report.processes() if p["traced"] != "yes"] if report else None
    tap.ok(untraced == ["true"], "exec beside locks: all are traced, but for the program that has no descriptor left", untraced)


def ifunc():
    for more in ({}, {"LD_BIND_NOW": "1"}, {"LIBTRACE_OSRT_LOCKS": "all"}, {"LIBTRACE_TRACE": "nvtx"}):
        name = f"resolvers of indirect functions {more or ''}".strip()
        report = both([app("ifunc_early")], name, **more)
        wanted = 0 if "LIBTRACE_TRACE" in more else 100
        tap.ok(report and report.total("pread") == wanted, f"{name}: later calls are recorded", report and report.total("pread"))


def filtered():
    """Check a filter that a process of the tree installs: programs that start inside it are not traced, and the report states that."""
    report = both([app("filter_exec")], "programs behind a filter")
    told = [p for p in report.processes() if p["traced"] == "no" and "seccomp" in (p["reason"] or "")] if report else []
    tap.ok(len(told) == 2, "programs behind a filter: both are listed as not traced, and why", report and report.processes())
    tap.ok(report and any(p["traced"] == "yes" for p in report.processes()), "programs behind a filter: the others are traced", report and report.processes())


def filtered_start():
    """Check a filter that existed before, as in a container: a filter that the tree's creator has, or without a tree process 1, does not prevent tracing."""
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    inside = [app("filter_exec"), app("filter_exec"), "inside"]
    plain = run(inside, env=clean_env(), cwd=work)
    env = traced_env(report.path, spool)
    first = run([app("filter_exec"), "env", *(f"{name}={value}" for name, value in env.items()), app("filter_exec"), "inside"], env=clean_env(), cwd=work)
    tap.ok(plain.status == 7 and (plain.status, plain.out, plain.err) == (first.status, first.out, first.err), "first program, behind a filter: as without the tracer", (plain, first))
    tap.ok(not os.listdir(spool) and not report.exists(), "first program, behind a filter: nothing is begun", os.listdir(spool))


def container():
    """Check a filter that all processes of a container have. Programs are traced if the process that created the tree has the same filter,
    or process 1, or if the user says so by LIBTRACE_SECCOMP=trace.
    """
    program = [app("ifunc_early")]
    own_process_1 = ["unshare", "--pid", "--fork", "--mount-proc"]
    can_unshare = run([*own_process_1, "true"], env=clean_env()).status == 0
    for name, around, more, wanted in (("trace run", [], None, True), ("LD_PRELOAD", [], {}, False), ("LIBTRACE_SECCOMP=trace", [], {"LIBTRACE_SECCOMP": "trace"}, True),
                                       ("LD_PRELOAD, process 1 has it", own_process_1, {}, True)):
        work, spool = folder(), spool_folder()
        report = Report(os.path.join(work, "r.rep"))
        if around and not can_unshare:
            tap.skip(f"container, {name}", "no pid namespaces")
            continue
        if more is None:
            command, env = [TRACE, "run", "-o", report.path, *program], clean_env(LIBTRACE_SPOOL_DIR=spool)
        else:
            command = ["env", *(f"{key}={value}" for key, value in traced_env(report.path, spool, **more).items()), *program]
            env = clean_env()
        result = run([app("filter_exec"), "deny", *around, *command], env=env, cwd=work)
        ended = wait_spool_gone(spool)
        tap.ok(result.status == 0 and ended and report.exists() == wanted, f"container, {name}: {'traced' if wanted else 'not traced'}", result)
        if wanted and report.exists():
            tap.ok(report.check().status == 0 and report.total("pread") == 100, f"container, {name}: all is recorded", report.total("pread"))


if __name__ == "__main__":
    main(debugger, little_data, memory, exec_edges, exec_locks, ifunc, filtered, filtered_start, container)
