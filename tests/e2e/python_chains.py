#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 2400
"""Python frames in callchains, compared line by line with sys._getframe() in the program itself.

tests/apps/python_zoo.py and python_async.py make the calls, in each interpreter that is installed, and in those that PYTHONS=PATH:PATH names. TORTURE=1 compares
100,000 chains in each.
"""
import collections
import glob
import json
import os
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import SRC, TORTURE, Report, app, folder, main, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

from _packages import PACKAGES, fetch  # noqa: E402

ASYNC = os.path.join(SRC, "tests/apps/python_async.py")
ZOO = os.path.join(SRC, "tests/apps/python_zoo.py")
PYTHON_BIT = 1 << 62
DEPTH = 128
KNOWN = [f"3.{minor}" for minor in range(6, 15)]
NO_DEBUG = ("3.6", "3.7")  # objects of debug builds have two more words there


def is_known(version):
    """Return true if frames of this interpreter are read. From 3.8 on debug builds (3.8d) have the layout of others; free-threaded builds (3.13t) have not."""
    plain = version.split()[-1]
    return plain in KNOWN or (plain.endswith("d") and plain[:-1] in KNOWN and plain[:-1] not in NO_DEBUG)


def minor_of(version):
    return int(version.rstrip("d").split(".")[-1])


def interpreters():
    """Return one interpreter of each version, and those of the system: version -> path."""
    found = {}
    more = os.environ.get("PYTHONS", "").split(":")
    for python in [*more, "/usr/bin/python3", *sorted(glob.glob("/usr/bin/python3.*-dbg")), *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))), sys.executable]:
        said = run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2], hasattr(sys, 'abiflags') and sys.abiflags)"]) if os.path.exists(python) else None
        if said and said.status == 0:
            version, flags = (said.out.decode().split() + [""])[:2]
            found.setdefault(("system " if python.startswith("/usr/") else "") + version + flags.replace("m", ""), python)  # "m": every build before 3.8 has it
    return found


class Traced:
    def __init__(self, python, arguments, depth=DEPTH, **options):
        self.folder, self.spool = folder(), spool_folder()
        self.path = os.path.join(self.folder, "r.rep")
        env = traced_env(self.path, self.spool, LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0, LIBTRACE_OSRT_BACKTRACE_DEPTH=depth,
                         **dict({"LIBTRACE_PYTHON_BACKTRACE": "auto"}, **options))
        env.update(PYTHONDONTWRITEBYTECODE="1", PYTHONIOENCODING="utf-8")
        self.result = run([python, *arguments], env=env, cwd=self.folder, limit=600)
        self.finished = wait_spool_gone(self.spool)
        self.report = Report(self.path)

    def wrong(self):
        if self.result.hung or self.result.status:
            return f"status {self.result.status}: {self.result.out!r} {self.result.err[-2000:]!r}"
        if not self.finished or not self.report.exists():
            return "no finished report"
        check = self.report.check()
        return f"trace check: {check.out + check.err!r}" if check.status else receipts_agree(self.report)

    @property
    def diagnostics(self):
        return [d["text"] for d in self.report.info()["diagnostics"]]


def python_frames(chain):
    return [f for f in chain if int(f["address"], 16) & PYTHON_BIT]


def chains_of_program(log):
    """Return the Python frames of each call as the program saw them: (pid, number of the call) -> frames. Equal frames are one object."""
    told, shared = {}, {}
    for path in glob.glob(glob.escape(log) + ".*"):
        pid = int(path.rsplit(".", 1)[1])
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                call = json.loads(line)
                told[pid, call["call"]] = [shared.setdefault(frame, frame) for frame in map(tuple, call["frames"])]
    return told


def as_shown(name, file, line):
    return f"{name} ({os.path.basename(file)}:{line})" if line else f"{name} ({os.path.basename(file)})", file, line


def compared(traced, log):
    """Return the number of equal chains, the program's number, and the first difference."""
    told, equal, difference = chains_of_program(log), 0, None
    for event in traced.report.each_event("--kind", "osrt_call", "--name", "lseek*"):
        frames = told.get((event["pid"], event["return_value"]))
        if frames is None:
            continue
        seen = [(f["function"], f["file"], f["line"]) for f in python_frames(event["callchain"])]
        wanted = [as_shown(*frame) for frame in frames[:DEPTH]]
        if seen == wanted:
            equal += 1
        elif difference is None:
            at = next((i for i, (a, b) in enumerate(zip(seen, wanted)) if a != b), min(len(seen), len(wanted)))
            difference = f"call {event['return_value']}: frame {at} of {len(seen)}: {seen[at:at + 3]} is not, of {len(wanted)}: {wanted[at:at + 3]}"
    return equal, len(told), difference


def zoo_of(python, calls, rounds, *torture):
    """Run the program with several seeds; a process has room for some 2,000 to 5,000 such chains. Return the number of chains, and what is wrong."""
    all_told = 0
    for seed in range(rounds):
        log = os.path.join(folder(), "log")
        traced = Traced(python, [ZOO, log, str(calls), "3", str(seed), *torture])
        if traced.wrong():
            return all_told, traced.wrong()
        equal, told, difference = compared(traced, log)
        all_told += told
        if equal != told or told < calls:
            lost = [process["receipt"]["drops"] for process in traced.report.info()["processes"] if process.get("receipt")]
            return all_told, f"seed {seed}: {equal} of {told} equal; {difference}; drops {lost}; {traced.diagnostics}"
        shutil.rmtree(traced.folder)
    return all_told, None


FREED = """
import time
s = time.sleep
small = compile("s(0.002)\\n", "small", "exec")
big = compile("s(0.002)\\n" + "x = 1\\n" * 150000, "big", "exec")
for i in range(3):
    s(0.001)
def run(c):
    exec(c)
run(big)
del big
run(small)
run(small)
print("fine")
"""


def code_is_freed():
    """Check that the code object of a frame that is gone is not read: free() has unmapped its memory."""
    script = os.path.join(folder(), "freed.py")
    with open(script, "w", encoding="utf-8") as out:
        out.write(FREED)
    for version, python in interpreters().items():
        for threshold in (131072, 32 << 20):
            traced = Traced(python, [script], MALLOC_MMAP_THRESHOLD_=threshold)
            tap.ok(not traced.wrong() and traced.result.out == b"fine\n", f"{version}: memory of code is unmapped (from {threshold} bytes)", traced.wrong())


def zoo():
    """Compare every chain of the program, in every interpreter."""
    # Before 3.11 each Python frame has C frames of its own: 2000 calls may fill a process's tree of callers.
    calls, rounds = 1000, 100 if TORTURE else 2
    for version, python in interpreters().items():
        if not is_known(version):
            traced = Traced(python, [ZOO, os.path.join(folder(), "log"), "100"])
            said = [d.split(": ")[-1] for d in traced.diagnostics if "no Python frames" in d]
            wanted = ["free-threaded build"] if version.endswith("t") else ["unknown version", "its memory does not have the layout of its version"]
            tap.ok(not traced.wrong() and len(said) == 1 and said[0] in wanted, f"{version} is not read, and the report says why: {said}",
                   traced.wrong() or traced.diagnostics)
            continue
        told, wrong = zoo_of(python, calls, rounds)
        tap.ok(told >= calls * rounds and not wrong, f"{version}: all {told} chains are those of sys._getframe()", wrong)
        told, wrong = zoo_of(python, calls // 4, rounds, "torture")
        tap.ok(told >= calls // 4 * rounds and not wrong, f"{version}: all {told} chains are those of sys._getframe(), while other threads disturb", wrong)


def asynchronous_of(python, *arguments, **options):
    """Return the number of equal chains of coroutines, that of chains in which a task is awaited, and what is wrong."""
    log, calls = os.path.join(folder(), "log"), 10000 if TORTURE else 1000
    traced = Traced(python, [ASYNC, log, str(calls), *arguments], **options)
    if traced.wrong():
        return 0, 0, traced.wrong()
    equal, told, difference = compared(traced, log)
    awaited = sum(any(name.startswith("await ") for name, _, _ in frames) for frames in chains_of_program(log).values())
    return equal, awaited, None if equal == told >= calls and not traced.diagnostics else f"{equal} of {told} equal; {difference}; {traced.diagnostics}"


def asynchronous():
    """Compare the chains of coroutines, and, from 3.14 on, the frames of the tasks that await the running one."""
    for version, python in interpreters().items():
        if not is_known(version):
            continue
        equal, awaited, wrong = asynchronous_of(python)
        tap.ok(not wrong and (awaited > equal // 10) == (minor_of(version) >= 14), f"{version}: all {equal} chains of coroutines, {awaited} of them with awaiting tasks",
               wrong or awaited)
    reason = fetch(("uvloop==0.23.0",))
    if reason or sys.version_info < (3, 8):
        tap.skip("coroutines in uvloop", reason or "too old a Python")
        return
    equal, awaited, wrong = asynchronous_of(sys.executable, "1", "uvloop", PYTHONPATH=PACKAGES)
    tap.ok(not wrong, f"uvloop: all {equal} chains of coroutines", wrong)


def greenlets():
    """Compare chains in greenlets: several threads of control use the same addresses of a thread's stack in turn."""
    reason = fetch(("greenlet==3.1.1",))  # its last version for CPython 3.7 to 3.13
    if reason or sys.version_info < (3, 7):
        tap.skip("chains in greenlets", reason or "too old a Python")
        return
    log = os.path.join(folder(), "log")
    traced = Traced(sys.executable, [ZOO, log, "1000", "3"], PYTHONPATH=PACKAGES)
    if traced.wrong():
        tap.ok(False, "chains in greenlets", traced.wrong())
        return
    equal, told, difference = compared(traced, log)
    inside = sum(any(name.endswith("below") for name, _, _ in frames) for frames in chains_of_program(log).values())
    tap.ok(equal == told >= 999 and inside > 100, f"all {equal} chains, {inside} of them in greenlets", difference or (told, inside))


SMALL = """
import os, time
class Work:
    def inner(self):
        time.sleep(0.001)
    def outer(self):
        list(map(lambda n: self.inner(), [1]))
Work().outer()
"""


def small(**options):
    script = os.path.join(folder(), "small.py")
    with open(script, "w", encoding="utf-8") as out:
        out.write(SMALL)
    known = {v: p for v, p in interpreters().items() if is_known(v)}
    version = sorted(known)[-1]
    return Traced(known[version], [script], **options), script


def sleeps_of(traced):
    return [e for e in traced.report.events("--kind", "osrt_call") if e["function"] in ("clock_nanosleep", "select") and e["callchain"]]


def sleep_of(traced):
    return next(iter(sleeps_of(traced)), None)


def views():
    """Check that dump, statistics and the database have the same chain."""
    traced, script = small()
    event = sleep_of(traced)
    chain = [f["function"] for f in event["callchain"]] if event else []
    tap.ok(not traced.wrong() and chain and chain[0].endswith("inner (small.py:5)"), "a chain begins with the Python function", traced.wrong() or chain)
    tap.ok(not any(str(f).startswith(("_PyEval", "_PyObject", "PyObject", "_PyFunction")) for f in chain), "frames of the interpreter are folded away", chain)
    tap.ok(any("__libc_start" in str(f) for f in chain), "frames of the C library are not", chain)
    text = trace("dump", "-n", event["function"], traced.path).out.decode()
    tap.ok(" at small.py:5 " in text, "the text names the place in the program", text)
    stats = trace("stats", "-r", "callchain_flat", traced.path)
    if stats.status:
        stats = trace("stats", "-r", "callchain_top_down", traced.path)
    tap.ok(b"(small.py:5)" in stats.out, "statistics have the Python function", stats.out[-3000:] + stats.err)
    database = os.path.join(traced.folder, "r.sqlite")
    made = trace("export", "-t", "sqlite", "-o", database, traced.path)
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT s.value, m.value FROM OSRT_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol JOIN StringIds m ON m.id = c.module "
                                  "WHERE s.value LIKE '%(small.py:5)'").fetchall()
    tap.ok(made.status == 0 and rows and rows[0][1] == script, "the database's module is the file", (made.err, rows))
    symbolized = trace("symbolize", traced.path)
    again = sleep_of(traced)
    tap.ok(symbolized.status == 0 and again and [f["function"] for f in again["callchain"]][0] == chain[0], "they stay as they are when names are stored", symbolized.err)


def options():
    traced, _ = small(LIBTRACE_PYTHON_BACKTRACE="off")
    event = sleep_of(traced)
    tap.ok(not traced.wrong() and event and not python_frames(event["callchain"]), "off: no Python frames", traced.wrong() or event)
    tap.ok(not traced.report.events("--kind", "python_code"), "and no code objects")
    traced, _ = small(depth=2)
    event = sleep_of(traced)
    functions = [f["function"] for f in python_frames(event["callchain"])] if event else []
    tap.ok(len(functions) == 2 and functions[0].endswith("inner (small.py:5)"), "the depth holds for Python frames, too", functions)


def small_stack():
    """Check that no Python frames are read on a signal stack without room for a chain."""
    known = {v: p for v, p in interpreters().items() if is_known(v)}
    for version in sorted(known)[-1], sorted(known)[0]:
        traced = Traced(known[version], [os.path.join(SRC, "tests/apps/python_small_stack.py")], threshold=0, LD_BIND_NOW="1")
        wrong = traced.wrong()
        writes = [] if wrong else [e["callchain"] for e in traced.report.events("--kind", "osrt_call", "--name", "write") if e["callchain"] == []]
        tap.ok(not wrong and traced.result.out == b"3 3\n" and len(writes) >= 3, f"{version}: a small signal stack is not read on", wrong or (traced.result.out, writes))


def embedded():
    """Check an interpreter that the program loads at run time, and unloads."""
    script = os.path.join(folder(), "small.py")
    with open(script, "w", encoding="utf-8") as out:
        out.write(SMALL)
    for library in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/lib/libpython3.*.so.1.0"))):
        version = os.path.basename(library)[len("libpython"):-len(".so.1.0")]
        if version not in KNOWN:
            continue
        traced = Traced(app("python_embedded"), [library, script, "2"], PYTHONHOME=os.path.dirname(os.path.dirname(library)))
        events = [] if traced.wrong() else sleeps_of(traced)
        chains = [[f["function"] for f in python_frames(e["callchain"])][:2] for e in events]
        tap.ok(len(chains) == 2 and all(chain[:1] and chain[0].endswith("inner (small.py:5)") for chain in chains) and not traced.diagnostics,
               f"{version}: an interpreter that is loaded at run time", traced.wrong() or (chains, traced.diagnostics))


OTHER = """
import os
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
run = getattr(interpreters, "exec", None) or interpreters.run_string
made = interpreters.create()
def outer():
    run(made, "def work(n):\\n  import os\\n  n and work(n - 1)\\n  os.lseek(0, 0, 1)\\nwork(1)\\n")
    os.lseek(0, 0, 1)
outer()
interpreters.destroy(made)
"""


def sub_interpreters():
    """Check that, from 3.12 on, a thread's frames are those of the interpreter that it runs."""
    script = os.path.join(folder(), "other.py")
    with open(script, "w", encoding="utf-8") as out:
        out.write(OTHER)
    for version, python in interpreters().items():
        if not is_known(version) or minor_of(version) < 12:
            continue
        traced = Traced(python, [script])
        events = [] if traced.wrong() else traced.report.events("--kind", "osrt_call", "--name", "lseek*")
        chains = [[f["function"].split(" ")[0] for f in python_frames(e["callchain"])] for e in events]
        wanted = [["work", "work", "<module>"], ["work", "<module>"], ["outer", "<module>"]]
        tap.ok([c for c in chains if c in wanted] == wanted and not traced.diagnostics, f"{version}: the frames of a sub-interpreter", traced.wrong() or chains)


def definitions():
    """Check that a code object is defined once, however many chains contain it."""
    traced, _ = small()
    rows = collections.Counter((r["file"], r["name"], r["first_line"]) for r in traced.report.events("--kind", "python_code"))
    mine = {key: count for key, count in rows.items() if key[0].endswith("small.py")}
    tap.ok(len(mine) >= 4 and set(mine.values()) == {1}, "each code object is defined once", mine)


if __name__ == "__main__":
    if os.uname().machine != "x86_64" or os.environ.get("SAN"):
        tap.skip("Python frames", "another machine, or a library with sanitizers, which Python cannot load")
        tap.finish()
    main(code_is_freed, zoo, asynchronous, greenlets, views, options, small_stack, embedded, sub_interpreters, definitions)
