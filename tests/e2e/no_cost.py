#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# alone: it counts the system calls that wake a sleeping writer
"""Check that an event takes no system call, no lock and no heap allocation.

many_calls makes COUNT wrapped calls untraced and traced. The traced run makes fewer than 200 more system calls in all (start-up, end, chunk
switches), the same number of futex calls of its own, and not one allocation more. Twice COUNT costs no more than COUNT.
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import LIBRARY, app, clean_env, folder, main, run, spool_folder, tap, traced_env, wait_spool_gone  # noqa: E402

COUNT = 100000
MORE_CALLS_MAX = 200


def system_calls(count, threads, env):
    """Return the system calls of the program's own process, by name. The writer is another process."""
    log = os.path.join(folder(), "strace")
    given = [word for name, value in env.items() for word in ("-E", f"{name}={value}")]
    result = run(["strace", "-ff", "-qq", "-o", log, *given, app("many_calls"), str(count), str(threads)], limit=120)
    if result.status != 0:
        raise RuntimeError(f"strace: {result.status} {result.err!r}")
    counts = {}
    for name in os.listdir(os.path.dirname(log)):
        with open(os.path.join(os.path.dirname(log), name), encoding="utf-8", errors="replace") as file:
            text = file.read()
        if "libtrace-writer" in text:  # a process that executes the writer, or has done so
            continue
        for call in re.findall(r"^(\w+)\(", text, re.MULTILINE):
            counts[call] = counts.get(call, 0) + 1
    return counts


def compared(count, threads, **options):
    plain = system_calls(count, threads, clean_env())
    spool, place = spool_folder(), folder()
    traced = system_calls(count, threads, traced_env(os.path.join(place, "r.rep"), spool, **options))
    wait_spool_gone(spool)
    more = {name: traced.get(name, 0) - plain.get(name, 0) for name in set(traced) | set(plain) if traced.get(name, 0) != plain.get(name, 0)}
    return sum(traced.values()) - sum(plain.values()), dict(sorted(more.items(), key=lambda item: -item[1]))


def no_system_call():
    if not shutil.which("strace"):
        tap.skip("system calls", "strace is not installed")
        return
    for threads in (1, 4):
        more, which = compared(COUNT, threads)
        limit = MORE_CALLS_MAX + (threads - 1) * MORE_CALLS_MAX // 2
        tap.ok(more < limit, f"{COUNT} recorded calls in each of {threads} threads: {more} system calls more, fewer than {limit}", f"{which}")
    more, which = compared(COUNT, 1, threshold=1000000)
    tap.ok(more < MORE_CALLS_MAX, "calls below the threshold make no system call of the tracer's", f"{more}: {which}")
    more, which = compared(COUNT, 1, LIBTRACE_OSRT_LOCKS="all")
    # There are more chunks than above, and each may wake a sleeping writer: 202 calls in a run on a busy machine.
    tap.ok(more < MORE_CALLS_MAX * 5 // 4, "recorded locks make no system call of the tracer's", f"{more}: {which}")


def no_growth():
    if not shutil.which("strace"):
        tap.skip("growth", "strace is not installed")
        return
    once, _ = compared(COUNT, 1)
    twice, which = compared(2 * COUNT, 1)
    tap.ok(twice - once < 120, f"twice the calls: {twice - once} system calls more", f"{once}, {twice}: {which}")


def allocations(env, program, *arguments):
    path = os.path.join(folder(), "count")
    env = dict(env, COUNT_MALLOC_FILE=path)
    result = run([program, *arguments], env=env)
    with open(path, encoding="ascii") as file:
        return result.status, file.read().split()


def no_allocation():
    library = app("libcount_malloc.so")
    for program, arguments in (("many_calls", (str(COUNT), "4")), ("thread_churn", ()), ("errno_kept", ()), ("forks", ("fork",)), ("forks", ("spawn",)),
                               ("exec_chain", ("9",)), ("thread_names", ())):
        plain = allocations(clean_env(LD_PRELOAD=library), app(program), *arguments)
        for order in (["@", library], [library, "@"]):
            spool, place = spool_folder(), folder()
            traced = allocations(traced_env(os.path.join(place, "r.rep"), spool, preload=order), app(program), *arguments)
            wait_spool_gone(spool)
            where = "before" if order[0] == "@" else "behind"
            tap.ok(plain == traced, f"{' '.join([program, *arguments])}, we {where} the counter: not one allocation more", f"{plain} {traced}")


if __name__ == "__main__":
    if not os.path.exists(LIBRARY):
        print(f"Bail out! no {LIBRARY}")
        sys.exit(1)
    main(no_system_call, no_growth, no_allocation)
