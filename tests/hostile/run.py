#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that random hostile programs give the same lines and status untraced and traced, and that the report has all calls that they counted.

    tests/hostile/run.py                       run the seeds of the file `seeds`, then up to 300 fresh ones, for at most 30 s;
                                               with HOSTILE_SECONDS=N or TORTURE=1 (3600) as many as run in that time
    tests/hostile/run.py --seed N [...]        run these seeds and print the defects of each
    tests/hostile/run.py --seed N --shrink     find which actions and calls can be left out while the program still fails

The seed determines the program and the options of the tracer. tests/hostile/README.md describes all this.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e"))
from lib import BUILD, HANG_S, LIBRARY, TORTURE, TRACE, clean_env, tap  # noqa: E402

PROGRAM = os.path.join(BUILD, "tests/hostile/hostile")
LIMIT_S = float(os.environ.get("HOSTILE_LIMIT") or HANG_S)  # of one run, which usually takes 0.1 s, and at most a few seconds
SETTLE_S = HANG_S    # for the writer to finish after the last process
EVENT = re.compile(rb'^\{"kind":"(\w+)","process":\d+,"pid":(\d+),(?:.*?"function":"(\w+)"(?:,"count":(\d+))?)?')
SHARED = "shared thread memory"  # a reason for dropped calls in common/schema/events.def
NVTX = {b"nvtx_range", b"nvtx_mark", b"nvtx_start_end"}


def rows():
    """Return the program's tables of functions, actions and calls, and the layout of its file."""
    lines = dict(line.split(" ", 1) for line in subprocess.run([PROGRAM, "--rows"], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines())
    return lines["functions"].split(), lines["actions"].split(), lines["calls"].split(), [int(word) for word in lines["layout"].split()]


FUNCTIONS, ACTIONS, CALLS, LAYOUT = rows() if os.path.exists(PROGRAM) else ([], [], [], [0] * 4)


FIXED = {}  # options of all programs, by --set
NEWER = 1 << 32  # seeds from here on draw newer_options(), too; kept seeds below keep their meaning


def newer_options(seed):
    """Return the options that only seeds from NEWER on draw, from a stream of their own."""
    chance = random.Random(f"newer options of {seed}")
    return {"LIBTRACE_CPUCTXSW": chance.choice((None, "process-tree")),
            "LIBTRACE_THREAD_TIME": chance.choice((None, "process-tree", "none")),  # the writer looks at sleeping threads
            "LIBTRACE_FUNCTIONS": chance.choice((None, "*:*", "libhostile*:*")),
            "LIBTRACE_FUNCTIONS_BACKTRACE_THRESHOLD": chance.choice((None, 0)),
            "LIBTRACE_SAMPLING_TRIGGER": chance.choice((None, None, "perf"))}


def tracer_options(seed):
    """Return the tracer's options for a seed, and whether `trace run` starts the program (otherwise: LD_PRELOAD)."""
    chance = random.Random(seed)
    options = {"LIBTRACE_OSRT_THRESHOLD": chance.choice((0, 0, 1000, 1000000)),
               "LIBTRACE_OSRT_BACKTRACE_THRESHOLD": chance.choice((None, None, 0, "none")),
               "LIBTRACE_BACKTRACE": chance.choice((None, None, "fp", "libunwind")),
               "LIBTRACE_NVTX_BACKTRACE_THRESHOLD": chance.choice((None, None, 0)),
               "LIBTRACE_OSRT_LOCKS": chance.choice((None, "all")),
               "LIBTRACE_OSRT_FILE_ACCESS": chance.choice((None, "true")),
               "LIBTRACE_FLUSH_INTERVAL": chance.choice((None, 1)),
               "LIBTRACE_COMPRESS": chance.choice((None, None, "zstd"))}
    by_command = chance.random() < 0.2
    # Options that were added later are drawn last, so that those of kept seeds stay the same.
    options["LIBTRACE_MEMORY"] = chance.choice((None, None, None, 1))
    options["LIBTRACE_EXIT_WAIT"] = chance.choice((None, None, 0))
    options["LIBTRACE_SAMPLE"] = chance.choice((None, None, "process-tree"))
    options["LIBTRACE_SAMPLING_FREQUENCY"] = chance.choice((None, 1000))
    if seed >= NEWER:
        options.update(newer_options(seed))
    options.update(FIXED)
    return {name: str(value) for name, value in options.items() if value is not None}, by_command


class World:
    """The output of a program: the lines of its tasks by path, and its books."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        books_at, book_bytes, slots_at, slot_bytes = LAYOUT
        book_count, slot_count = struct.unpack_from("=II", data)
        self.lines, self.books, self.pids, self.above = {}, [], {}, {}  # above: the process that created a process
        for i in range(min(slot_count, (len(data) - slots_at) // slot_bytes)):
            path, pid, length, digest, ended, lost = struct.unpack_from("=120siIQII", data, slots_at + i * slot_bytes)
            name = path.split(b"\0")[0].decode()
            text = data[slots_at + i * slot_bytes + 144:][:length].decode("ascii", "replace")
            self.lines.setdefault(name, []).append(f"{text} ended={ended} lost={lost} hash={digest:x}")
            self.pids[name] = pid
        count = len(FUNCTIONS)
        for i in range(book_count):
            *pids, pid_count, above, slack = struct.unpack_from("=16iIiI", data, books_at + i * book_bytes)
            numbers = struct.unpack_from(f"={2 * count}I", data, books_at + i * book_bytes + 76)
            self.books.append((set(pids[:min(pid_count, 16)]), slack, numbers[:count], numbers[count:]))
            if above:
                self.above.update((pid, above) for pid in self.books[-1][0])
        for lines in self.lines.values():
            lines.sort()

    def groups(self):
        """Return [pids, slack, begun, done] for each group of books that share a process; the counts are sums over the group."""
        groups = []
        for pids, slack, begun, done in self.books:
            joined = [group for group in groups if group[0] & pids]
            merged = [set(pids), slack, list(begun), list(done)]
            for group in joined:
                groups.remove(group)
                merged[0] |= group[0]
                merged[1] += group[1]
                for at in (2, 3):
                    merged[at] = [a + b for a, b in zip(merged[at], group[at])]
            groups.append(merged)
        return groups


class Trial:
    """A seed, the two runs of its program (untraced, traced), and the defects of the second."""

    def __init__(self, seed, without=()):
        self.seed, self.masks = seed, (mask(without, ACTIONS), mask(without, CALLS))
        self.options, self.by_command = tracer_options(seed)
        if self.options.get("LIBTRACE_BACKTRACE") in without:
            del self.options["LIBTRACE_BACKTRACE"]
        self.wrong, self.verdict = [], ""
        self.place = tempfile.mkdtemp(prefix="libtrace-hostile-", dir="/dev/shm")
        os.chmod(self.place, 0o755)
        self.spool, self.report = os.path.join(self.place, "spool"), os.path.join(self.place, "r.rep")
        os.mkdir(self.spool)
        os.chmod(self.spool, 0o1777)

    def own(self):
        """Return the pids of this trial: processes with its folder in their command line or environment."""
        found, place = [], self.place.encode()
        for name in filter(str.isdigit, os.listdir("/proc")):
            for what in ("cmdline", "environ"):
                try:
                    with open(f"/proc/{name}/{what}", "rb") as file:
                        if place in file.read():
                            found.append(int(name))
                            break
                except OSError:
                    pass
        return found

    def describe(self):
        """Return a text that says where each thread of each process of the trial waits."""
        lines = []
        for pid in self.own():
            for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=int) if os.path.exists(f"/proc/{pid}") else []:
                parts = []
                for what in ("comm", "wchan", "syscall", "stack"):
                    try:
                        with open(f"/proc/{pid}/task/{tid}/{what}", encoding="ascii", errors="replace") as file:
                            parts.append(" ".join(file.read().split()))
                    except OSError:
                        parts.append("?")
                lines.append(f"pid {pid} tid {tid}: {'; '.join(parts)}")
            if shutil.which("gdb"):
                try:
                    shown = subprocess.run(["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "thread apply all bt 12"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                           stderr=subprocess.DEVNULL, timeout=20, check=False).stdout.decode(errors="replace")
                    lines += [line for line in shown.splitlines() if line.startswith(("Thread", "#"))]
                except subprocess.TimeoutExpired:
                    lines.append("gdb hangs")
        return "\n".join(lines)

    def run_one(self, name, environment, command=()):
        """Run the program; return its status and output. All its processes have ended when its output ends."""
        path = os.path.join(self.place, name)
        with open(path, "wb") as file:
            os.fchmod(file.fileno(), 0o666)
            file.truncate(LAYOUT[2] + 2048 * LAYOUT[3])
        argv = [*command, PROGRAM, path, str(self.seed), *map(str, self.masks)]
        process = subprocess.Popen(argv, env=environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            out, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"{name}: hangs\n{self.describe()}")
            for pid in self.own():
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            try:
                out, _ = process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                out = b""
        return process.returncode, out, World(path)

    def untraced(self, name="untraced"):
        return self.run_one(name, clean_env())

    def traced(self):
        if self.by_command:
            environment, command = clean_env(LIBTRACE_SPOOL_DIR=self.spool, **self.options), (TRACE, "run", "-o", self.report, "--")
        else:
            environment, command = clean_env(LD_PRELOAD=LIBRARY, LIBTRACE_OUTPUT=self.report, LIBTRACE_SPOOL_DIR=self.spool, **self.options), ()
        status, out, world = self.run_one("traced", environment, command)
        # Remove the last messages of `trace run`, and the loader's message if it had no descriptor left to open the library.
        return status, re.sub(rb"report: [^\n]*\n(?:trace: CPU samples cover [^\n]*\n)?$|ERROR: ld.so: object [^\n]*\n", b"", out), world

    def compare(self, first, second):
        """Compare status, output and lines of two runs."""
        for what, a, b in (("status", first[0], second[0]), ("output", first[1], second[1])):
            if a != b:
                self.wrong.append(f"{what}: {a!r} untraced, {b!r} traced")
        for path in sorted(first[2].lines.keys() | second[2].lines.keys()):
            a, b = first[2].lines.get(path, []), second[2].lines.get(path, [])
            if a != b:
                self.wrong.append(f"task {path}\n" + difference(" | ".join(a), " | ".join(b)))

    def settle(self):
        """Check that all processes of the trial end and that no spool is left."""
        end = time.monotonic() + SETTLE_S
        while time.monotonic() < end and os.listdir(self.spool):
            time.sleep(0.005)
        left = [os.path.join(base, name) for base, _, names in os.walk(self.spool) for name in names]
        if left or os.listdir(self.spool):
            self.wrong.append(f"spool left: {left}\n{self.describe()}")
        while time.monotonic() < end and self.own():
            time.sleep(0.005)
        if self.own():
            self.wrong.append(f"processes left\n{self.describe()}")

    def judge(self, world):
        """Compare the report with the program's books."""
        checked = subprocess.run([TRACE, "check", self.report], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if checked.returncode:
            self.wrong.append(f"trace check: {checked.returncode} {checked.stdout.decode(errors='replace')}")
            return
        info = json.loads(subprocess.run([TRACE, "info", "--json", self.report], stdout=subprocess.PIPE, check=True).stdout)
        self.verdict = info["verdict"]
        found = self.found()
        complete = self.verdict.startswith("complete")
        excused = {p["pid"] for p in info["processes"] if p.get("traced") != "yes" or p["dropped"] or not p.get("receipt") or p["receipt"].get("drops")}
        doubled = {p["pid"] for p in info["processes"] if any(drop["reason"] == SHARED for drop in (p.get("receipt") or {}).get("drops", []))}
        excused |= {pid for d in info["diagnostics"] for pid in [d.get("pid")] if isinstance(d, dict)} if not complete else set()
        for process in info["processes"]:
            receipt = process.get("receipt")
            if receipt and receipt["produced"] != receipt["written"] + sum(drop["count"] for drop in receipt["drops"]):
                self.wrong.append(f"pid {process['pid']}: receipt does not add up: {receipt}")
            if receipt and receipt.get("unaccounted") and process["pid"] not in doubled:
                self.wrong.append(f"pid {process['pid']}: the writer's own check found events that are missing without a word: {receipt}")
        for pids, slack, begun, done in world.groups():
            above = set(pids)  # the children of an untraced process are not reported
            while more := {world.above[pid] for pid in above if pid in world.above} - above:
                above |= more
            held = [sum(found[pid, function] for pid in pids) for function in FUNCTIONS]
            # Two tasks with the same thread-local variables: their calls may be recorded twice, and the report says so (SHARED).
            more = [i for i in range(len(FUNCTIONS)) if held[i] > begun[i] + slack and not pids & doubled]
            fewer = [i for i in range(len(FUNCTIONS)) if held[i] < done[i] - slack and (complete or not above & excused)]
            for what, which in (("twice", more), ("lost", fewer)):
                if which:
                    paths = [path for path, pid in world.pids.items() if pid in pids]
                    self.wrong.append(f"{what} in pids {sorted(pids)}, tasks {' '.join(paths[:6])}, verdict \"{self.verdict}\":\n  " +
                                      ", ".join(f"{FUNCTIONS[i]} {held[i]} of {done[i]}..{begun[i]}" for i in which[:12]))

    def found(self):
        """Return the number of calls in the report, by (pid, function)."""
        counts = collections.Counter()
        dump = subprocess.run([TRACE, "dump", "--json", "--no-symbols", self.report], stdout=subprocess.PIPE, check=True).stdout
        for line in dump.splitlines():
            kind, pid, function, count = EVENT.match(line).groups() if EVENT.match(line) else (None,) * 4
            if kind in NVTX:
                counts[int(pid), kind.decode()] += 1
            elif kind == b"osrt_call":
                counts[int(pid), function.decode()] += 1
            elif kind == b"osrt_summary":
                counts[int(pid), function.decode()] += int(count)
        return counts

    def run(self, only_self=False):
        try:
            first = self.untraced()
            second = self.untraced("again") if only_self else self.traced()
            self.compare(first, second)
            if not only_self:
                self.settle()
                if os.path.exists(self.report):
                    self.judge(second[2])
                else:
                    self.wrong.append("no report")
        except Exception as error:  # noqa: BLE001 - the report of a failing trial is wanted
            import traceback
            self.wrong.append(f"{error!r}\n{traceback.format_exc()}")
        return self

    def keep(self, where):
        """Move the files of a failed trial to a folder in `where`; return it."""
        to = os.path.join(where, str(self.seed))
        shutil.rmtree(to, ignore_errors=True)
        os.makedirs(where, exist_ok=True)
        for name in ("untraced", "traced", "again"):
            if os.path.exists(os.path.join(self.place, name)):
                os.unlink(os.path.join(self.place, name))
        shutil.move(self.place, to)
        with open(os.path.join(to, "wrong"), "w", encoding="utf-8") as file:
            file.write(self.text())
        return to

    def drop(self):
        shutil.rmtree(self.place, ignore_errors=True)

    def text(self):
        how = " ".join(f"{name}={value}" for name, value in self.options.items()) + (" trace run" if self.by_command else "")
        return f"seed {self.seed}: {how}\n" + "\n".join(self.wrong)


def difference(a, b):
    """Return the words of two texts around the first word that differs."""
    a, b = a.split(), b.split()
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return f"  untraced: {' '.join(a[max(at - 6, 0):at + 5])}\n  traced:   {' '.join(b[max(at - 6, 0):at + 5])}"


def mask(names, table):
    """Return a mask of the rows to leave out. With "only" among the names, the other rows occur more often."""
    bits = sum(1 << table.index(name) for name in names if name in table)
    return bits | 1 << 63 if bits and "only" in names else bits


# Some races are known and rare (README.md): `make check` fails only if a program fails again in one of REPEATS runs, or if more than
# ONCE_MAX programs fail. With TORTURE=1 every failure counts.
# The programs are counted, not only their seconds: a machine with many processors would run more of them, and so meet more of those races.
REPEATS = 5
KEPT_S = 240  # a machine that is so busy that the kept seeds take longer skips the rest; they take 20 s as a rule
CI_FIRST = NEWER + 1000
ONCE_MAX = 4
FRESH_MAX = 300
JOBS_MAX = 4  # a container may have fewer processors than it sees: with more at a time, each takes as much longer


def trial(seed, without=(), **how):
    return Trial(seed, without).run(**how)


def fails(seed, without, times):
    for _ in range(times):
        done = trial(seed, without)
        done.drop()
        if done.wrong:
            return True
    return False


def shrink(seed, without, times):
    """Return the names that can be left out while the trial still fails in one of `times` runs."""
    left = list(without)
    for name in ACTIONS + CALLS:
        if name not in left and fails(seed, left + [name], times):
            left.append(name)
    return left


def run_kept(seeds, once):
    """Run the kept seeds. One that fails is run again: it could have met a rare race that it was not kept for."""
    end = time.monotonic() + KEPT_S
    for seed, times, names, remark in seeds:
        name = f"seed {seed}: {remark}"
        if time.monotonic() > end and not TORTURE:
            tap.skip(name, f"the machine is too busy: others took {KEPT_S} s")
            continue
        for _ in range(times):
            done = trial(seed, names)
            done.drop()
            if done.wrong:
                break
        failed = done.wrong and (TORTURE or fails(seed, names, REPEATS * times))
        if done.wrong and not failed:
            once_note(done, once)
        tap.ok(not failed, name, done.text())


def once_note(done, once):
    """Note a program that failed, but not again."""
    once.append(done.seed)
    print(f"# once, not in {REPEATS} times as many repeats: " + done.text().replace("\n", "\n# "))


def names_of(text):
    """Parse a list of names to leave out, NAME,NAME or only:NAME,NAME (all actions but these, and "only")."""
    if text.startswith("only:"):
        return ["only", *(name for name in ACTIONS if name not in text[5:].split(","))]
    return [name for name in text.split(",") if name]


def kept():
    """Read the file `seeds`: return [(seed, times, names left out, remark)], and the names that fresh programs leave out."""
    seeds, left_out = [], []
    with open(os.path.join(HERE, "seeds"), encoding="utf-8") as file:
        for line in file:
            words, _, remark = line.partition("#")
            words = words.split()
            if words and words[0] == "without":
                left_out += words[1].split(",")
            elif words:
                seed, _, times = words[0].partition("x")
                seeds.append((int(seed), int(times or 1), names_of(words[1]) if len(words) > 1 else [], remark.strip()))
    return seeds, left_out


def fresh(seconds, jobs, without, first=None, only_self=False, most=None):
    """Run fresh seeds, `jobs` at a time, for some seconds, at most `most`; yield each trial."""
    end, chance = time.monotonic() + seconds, random.SystemRandom()
    numbers = itertools.islice(itertools.count(first) if first is not None else iter(lambda: NEWER + chance.randrange(1 << 32), None), most)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        going = set()
        while True:
            while len(going) < jobs and time.monotonic() < end and (number := next(numbers, None)) is not None:
                going.add(pool.submit(trial, number, without, only_self=only_self))
            if not going:
                return
            ended, going = concurrent.futures.wait(going, return_when=concurrent.futures.FIRST_COMPLETED)
            for one in ended:
                yield one.result()


def survey(given):
    for name in given.only.split(",") if given.only else ACTIONS:
        without = names_of("only:" + name)
        trials = list(fresh(given.seconds, given.jobs, without, given.first, given.self))
        failed = sorted((done for done in trials if done.wrong), key=lambda done: done.seed)
        print(f"{name}: {len(failed)} of {len(trials)} fail: {[done.seed for done in failed[:8]]}\n" + (failed[0].text() if failed else ""), flush=True)
        for done in trials:
            done.drop()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, nargs="*", help="run these seeds")
    parser.add_argument("--times", type=int, default=1, help="how often to run each seed")
    parser.add_argument("--without", default="", help="actions, calls and ways of callchains (fp, libunwind) to leave out, separated by commas")
    parser.add_argument("--only", default="", help="the only actions to keep; they occur more often than otherwise")
    parser.add_argument("--shrink", action="store_true", help="find the actions and calls that the failure does not need")
    parser.add_argument("--survey", action="store_true", help="run fresh programs of each action alone for --seconds; print how many fail, and why the first does")
    parser.add_argument("--self", action="store_true", help="compare two untraced runs, to check that the program does the same each time")
    parser.add_argument("--first", type=int, help=f"use this number and the following ones as fresh seeds; default with CI=true: {CI_FIRST}")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("HOSTILE_SECONDS") or (3600 if TORTURE else 30)), help="how long fresh seeds are run")
    parser.add_argument("--jobs", type=int, default=min(len(os.sched_getaffinity(0)), JOBS_MAX))
    parser.add_argument("--keep", default=os.path.join(BUILD, "hostile-failed"), help="folder for reports of failed seeds")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the tracer for all programs, such as LIBTRACE_SAMPLE=process-tree")
    return parser.parse_args()


def main():
    given = arguments()
    chosen = given.first is not None
    if not chosen and os.environ.get("CI"):
        given.first = CI_FIRST
    FIXED.update(text.split("=", 1) for text in given.set)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    without = names_of(given.without) + (names_of("only:" + given.only) if given.only else [])
    seeds, left_out = kept()
    if given.seed and given.shrink:
        for seed in given.seed:
            left = shrink(seed, without, given.times)
            print(f"{seed} {','.join(left)}  # needs {' '.join(name for name in ACTIONS + CALLS if name not in left)}")
        return
    if given.survey:
        survey(given)
        return
    if given.seed:
        for seed in given.seed * given.times:
            done = trial(seed, without, only_self=given.self)
            print(done.text(), done.verdict)
            done.drop() if not done.wrong else print(done.keep(given.keep))
        return
    once = []
    if not chosen and not without and not given.self:
        run_kept(seeds, once)
    verdicts, count = collections.Counter(), 0
    most = None if TORTURE or os.environ.get("HOSTILE_SECONDS") or chosen or without or given.self else FRESH_MAX
    for done in fresh(given.seconds, given.jobs, without or left_out, given.first, given.self, most):
        count += 1
        verdicts[re.sub(r"\d+", "N", done.verdict)] += 1
        if done.wrong and (TORTURE or fails(done.seed, without or left_out, REPEATS)):
            tap.ok(False, f"seed {done.seed}", done.text())
            done.keep(given.keep)
        elif done.wrong:
            once_note(done, once)
            done.keep(given.keep)
        else:
            done.drop()
    print("# " + "\n# ".join(f"{number} x {verdict}" for verdict, number in verdicts.most_common()))
    tap.ok(count > 0 and len(once) <= ONCE_MAX, f"{count} fresh programs ran, {len(once)} failed once", once)
    tap.finish()


if __name__ == "__main__":
    main()
