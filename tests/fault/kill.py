#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""Check that no captured event is lost: counter_workload is ended at random moments in every way, and its own books are compared with the report.

For each thread and function the report contains at least the calls done and at most the calls begun; the receipt states exactly what is
missing. Variants: the writer stays alive; no writer, and `trace recover` afterwards; the writer is killed while the program continues; both are killed.
The variants share KILLS (60; 300 under TORTURE) moments; SEED repeats a run.
"""
import collections
import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from lib import Books, HANG_S, LIBRARY, PRODUCTS, Report, TORTURE, app, folder, leftovers, main, receipts_agree, session_members, spool_folder, state_of, tap, trace, traced_env, wait_spool_gone, wait_until  # noqa: E402

KILLS = int(os.environ.get("KILLS", 300 if TORTURE else 60))
SEED = int(os.environ.get("SEED", time.time_ns() % 1000000))
THREADS = (1, 4, 16)
SIGNALS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)
INSIDE = ("_exit", "quick_exit", "exec", "exit", "return", "abort", "segv", "raw_exit")
STATUS = {"abort": -signal.SIGABRT, "segv": -signal.SIGSEGV}
random.seed(SEED)
tally = collections.Counter()  # shows whether the comparison had anything to compare


class Victim:
    """One run of counter_workload under the tracer, with folders of its own."""

    def __init__(self, threads, mode="wait", delay_ms=0, **options):
        self.folder, self.spool = folder(), options.pop("spool", None) or spool_folder()
        self.books_path, self.path = os.path.join(self.folder, "books"), os.path.join(self.folder, "victim.rep")
        self.threads = threads
        argv = [app("counter_workload"), self.books_path, str(threads), mode, str(delay_ms)]
        self.process = subprocess.Popen(argv, env=traced_env(self.path, self.spool, **options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True)

    def tell_end(self):
        """Let a program end that was started with the delay "told"."""
        Books.tell_end(self.books_path)

    def at_work(self):
        """Wait until all threads have begun, or the program has ended."""
        def begun():
            try:
                return self.process.poll() is not None or Books(self.books_path).begun_threads >= self.threads
            except Exception:  # noqa: BLE001 - the program is still writing the file
                return False
        return wait_until(begun)

    def writer(self):
        """Return the pid of this tree's writer, found by the tree's folder on its command line; None if there is none."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    arguments = file.read().split(b"\0")
                if arguments[0].endswith(b"libtrace-writer") and any(a.startswith(self.spool.encode()) for a in arguments):
                    return int(name)
            except OSError:
                pass
        return None

    def end(self):
        """Wait for the program's end. Return the defect, if any."""
        try:
            out, _ = self.process.communicate(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            note = "\n".join(line for pid in session_members(self.process.pid) for line in state_of(pid))
            self.process.kill()
            self.process.communicate()
            return f"hangs:\n{note}"
        return f"says {out!r}" if out else None

    def trees(self):
        return [os.path.join(self.spool, name) for name in os.listdir(self.spool)]

    def recover(self):
        wrong = []
        for tree in self.trees():
            result = trace("recover", tree)
            if result.status != 0:
                wrong.append(f"trace recover: {result.status} {result.err.decode(errors='replace')}")
        return "\n".join(wrong) or None

    def judge(self):
        """Return the defect of the report, or None."""
        report = Report(self.path)
        if not report.exists():
            return f"no report; in the spool: {leftovers(self.spool)}"
        check = report.check()
        if check.status != 0:
            return f"trace check: {check.status} {(check.out + check.err).decode(errors='replace')}"
        books = Books(self.books_path)
        tally.update(calls=books.done(), missing=report.dropped())
        return books.compare(report) or receipts_agree(report)


def moment_ms():
    """Return a random moment: mostly early, sometimes late enough for chunks to be switched and reused."""
    return min(random.expovariate(1 / 12), 120)


def shares(total, parts):
    return [total // parts + (i < total % parts) for i in range(parts)]


def kill_outside(threads, number, **options):
    victim = Victim(threads, **options)
    if not victim.at_work():
        return "never began", victim
    time.sleep(moment_ms() / 1000)
    os.kill(victim.process.pid, number)
    wrong = victim.end()
    if not wrong and victim.process.returncode != -number:
        wrong = f"status {victim.process.returncode}"
    return wrong, victim


def end_inside(threads, mode, **options):
    victim = Victim(threads, mode, int(moment_ms()), **options)
    wrong = victim.end()
    if not wrong and victim.process.returncode != STATUS.get(mode, 3):
        wrong = f"status {victim.process.returncode}"
    return wrong, victim


def complete(victim):
    return None if wait_spool_gone(victim.spool) else f"the report is never finished; spool: {leftovers(victim.spool)}"


def repeated(name, times, once):
    """Print one TAP line for `times` moments."""
    wrong = []
    tally.clear()
    for n in range(times):
        text = once()
        if text:
            wrong.append(f"moment {n + 1} (seed {SEED}): {text}")
    tap.ok(not wrong, f"{name}: {times} moments, {tally['calls']} calls, {tally['missing']} stated as missing", "\n".join(wrong))


def with_writer(ended):
    def once():
        wrong, victim = ended()
        return wrong or complete(victim) or victim.judge()
    return once


def with_recover(ended):
    def once():
        wrong, victim = ended()
        wrong = wrong or victim.recover() or victim.judge()
        return wrong or (f"left behind: {leftovers(victim.spool)}" if os.listdir(victim.spool) else None)
    return once


def killed_from_outside():
    cases = [(t, s) for t in THREADS for s in SIGNALS]
    for (threads, number), times in zip(cases, shares(KILLS * 3 // 5, len(cases))):
        repeated(f"{signal.Signals(number).name}, {threads} threads", times, with_writer(lambda t=threads, s=number: kill_outside(t, s)))


def ended_from_inside():
    cases = [(t, m) for t in THREADS for m in INSIDE]
    for (threads, mode), times in zip(cases, shares(max(KILLS * 2 // 5, len(cases)), len(cases))):
        repeated(f"{mode}, {threads} threads", times, with_writer(lambda t=threads, m=mode: end_inside(t, m)))


def without_writer():
    cases = [(t, end) for t in THREADS for end in (signal.SIGKILL, "return", "exec")]
    for (threads, end), times in zip(cases, shares(max(KILLS // 5, len(cases)), len(cases))):
        ended = (lambda t=threads, m=end: end_inside(t, m, LIBTRACE_HELPER="0")) if isinstance(end, str) else (
            lambda t=threads, s=end: kill_outside(t, s, LIBTRACE_HELPER="0"))
        name = end if isinstance(end, str) else end.name
        repeated(f"no writer, {name}, {threads} threads, trace recover", times, with_recover(ended))


def kill_writer(victim):
    if not victim.at_work() or not wait_until(victim.writer):
        return "no writer to kill"
    time.sleep(moment_ms() / 1000)
    writer = victim.writer()
    if writer:
        os.kill(writer, signal.SIGKILL)
        wait_until(lambda: not victim.writer())
    return None


def writer_gone(victim):
    return not os.listdir(victim.spool) or not victim.writer()


def writer_killed_once(threads, mode):
    victim = Victim(threads, mode, "told")
    wrong = kill_writer(victim)
    time.sleep(moment_ms() / 1000)
    victim.tell_end()
    wrong = wrong or victim.end()
    if wrong:
        return wrong
    wait_until(lambda: writer_gone(victim))
    return victim.recover() or victim.judge()


def writer_killed():
    for threads, times in zip(THREADS, shares(max(KILLS // 6, 3), 3)):
        mode = random.choice(("return", "_exit", "abort"))
        repeated(f"writer killed, program ends by {mode}, {threads} threads", times, lambda t=threads, m=mode: writer_killed_once(t, m))


def both_killed_once(threads):
    victim = Victim(threads)
    wrong = kill_writer(victim)
    time.sleep(moment_ms() / 1000)
    os.kill(victim.process.pid, signal.SIGKILL)
    return wrong or victim.end() or victim.recover() or victim.judge()


def both_killed():
    for threads, times in zip(THREADS, shares(max(KILLS // 6, 3), 3)):
        repeated(f"program and writer killed, {threads} threads, trace recover", times, lambda t=threads: both_killed_once(t))


def adopt_orphans():
    """Make this script the parent of orphaned writers, which it does not reap."""
    return ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER


def writer_killed_unreaped():
    """Check that a dead writer that nobody has reaped counts as dead: the program does not wait for it at its end."""
    if not adopt_orphans():
        tap.skip("dead writer not reaped", "no subreaper")
        return
    for threads, mode in ((1, "return"), (4, "_exit")):
        victim = Victim(threads, mode, "told", LIBTRACE_EXIT_WAIT=HANG_S * 2000)
        # A writer that dies before it has taken the tree is waited for, for the time of LIBTRACE_EXIT_WAIT.
        wrong = "no writer" if not victim.at_work() or not wait_until(lambda v=victim: v.writer() and os.path.exists(v.path)) else None
        if not wrong:
            os.kill(victim.writer(), signal.SIGKILL)
        victim.tell_end()
        wrong = wrong or victim.end() or victim.recover() or victim.judge()
        tap.ok(not wrong, f"dead writer not reaped, {threads} threads, {mode}: the program ends without it", wrong)


def writer_missing():
    """Check the library without the writer in its folder: the program does not wait for one."""
    home = folder()
    library = shutil.copy(LIBRARY, home)
    victim = Victim(1, "return", 20, preload=(library,), LIBTRACE_EXIT_WAIT=HANG_S * 2000)
    wrong = victim.end() or victim.recover() or victim.judge()
    tap.ok(not wrong, "no writer beside the library: the program ends, trace recover makes the report", wrong)


def writer_frozen():
    """Check that a stopped writer delays the program only by its bounded waits, and finishes the report when it runs again."""
    for threads, mode in ((1, "return"), (4, "_exit"), (4, "exec")):
        victim = Victim(threads, mode, "told")
        if not victim.at_work() or not wait_until(victim.writer):
            tap.ok(False, f"writer frozen, {threads} threads: there is a writer")
            continue
        writer = victim.writer()
        os.kill(writer, signal.SIGSTOP)
        time.sleep(0.1)  # calls that the writer does not take
        victim.tell_end()
        wrong = victim.end()
        os.kill(writer, signal.SIGCONT)
        wrong = wrong or complete(victim) or victim.judge()
        tap.ok(not wrong, f"writer frozen, {threads} threads, {mode}: the program ends, the report later", wrong)


def small_memory():
    """Check that with little memory the program waits, or the report states the missing calls: none is lost silently."""
    for options in ({"LIBTRACE_MEMORY": 1}, {"LIBTRACE_MEMORY": 1, "LIBTRACE_HELPER": 0}, {"LIBTRACE_MEMORY": 4, "LIBTRACE_COMPRESS": "zstd"},
                    {"LIBTRACE_FLUSH_INTERVAL": 1}):
        ended = lambda o=options: end_inside(16, "return", **o)  # noqa: E731
        once = with_recover(ended) if "LIBTRACE_HELPER" in options else with_writer(ended)
        repeated(" ".join(f"{name}={value}" for name, value in options.items()), max(KILLS // 30, 2), once)


def spool_on_disk():
    """Check a spool on a disk instead of in shared memory."""
    def once():
        victim = Victim(4, "return", 50, spool=folder())
        return victim.end() or complete(victim) or victim.judge()
    repeated("spool on a disk", max(KILLS // 30, 2), once)


def writer_killed_in_a_tree():
    """Check that a later process of the tree starts a new writer, which continues the work of the killed one: the report is whole without recovery."""
    def once():
        place, spool = folder(), spool_folder()
        path = os.path.join(place, "r.rep")
        script = f"read line; for i in 1 2 3 4 5 6 7 8 9 10; do {app('small_stack')} >/dev/null || exit 9; sleep 0.02; done"
        victim = Victim.__new__(Victim)
        victim.spool, victim.path = spool, path
        victim.process = subprocess.Popen(["sh", "-c", script], env=traced_env(path, spool), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, start_new_session=True, bufsize=0)
        if not wait_until(victim.writer):
            return "no writer to kill"
        victim.process.stdin.write(b"go\n")
        time.sleep(random.uniform(0, 0.15))
        if victim.writer():
            os.kill(victim.writer(), signal.SIGKILL)
        wrong = victim.end() or complete(victim)
        report = Report(path)
        check = report.check()
        if wrong or check.status != 0:
            return wrong or f"trace check: {check.status} {check.err!r}"
        held = report.total("pread")
        return f"preads made 5500, in the report {held}" if held != 5500 else receipts_agree(report)
    repeated("writer killed, the tree goes on", max(KILLS // 10, 3), once)


def recovery_killed():
    """Check that a recovery that is killed is continued by the next one: nothing is written twice."""
    def once():
        wrong, victim = kill_outside(4, signal.SIGKILL, LIBTRACE_HELPER="0")
        if wrong or not victim.trees():
            return wrong or "no spool"
        writer = os.path.join(PRODUCTS, "lib/libtrace/libtrace-writer")
        first = subprocess.Popen([writer, "--recover", victim.trees()[0]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0, 0.03))
        first.kill()
        first.wait()
        return victim.recover() or victim.judge()
    repeated("recovery killed and done again", max(KILLS // 10, 3), once)


def exact_when_it_ends_well():
    """Check that the counts are exact for a program that ends normally."""
    for threads in THREADS:
        wrong, victim = end_inside(threads, "return")
        victim = Victim(threads, "finish", 5)
        wrong = wrong or victim.end() or complete(victim) or victim.judge()
        books = Books(victim.books_path)
        same = all(begun == done for _, begun, done in books.threads)
        tap.ok(not wrong and same and books.done() == threads * 5 * 100 * 4, f"good end, {threads} threads: {books.done()} calls, all there", wrong)


if __name__ == "__main__":
    print(f"# seed {SEED}")
    main(exact_when_it_ends_well, killed_from_outside, ended_from_inside, without_writer, writer_killed, writer_killed_unreaped, writer_missing, writer_killed_in_a_tree, writer_frozen, small_memory, spool_on_disk, both_killed, recovery_killed)
