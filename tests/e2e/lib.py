# SPDX-License-Identifier: Apache-2.0
"""Helpers of the end-to-end tests: TAP, temporary folders, running a program with a time limit, and reading a report.

Scripts get BUILD (bin/trace, lib/libtrace/libtrace.so, tests/apps/NAME), SRC and SHARED in their environment, and INSTALLED if they test
command and libraries of another folder, an installed release. Reports are read only by the
command (`trace dump --json`, `trace info --json`, `trace check`), never by code of the tests.
"""
import atexit
import collections
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

SRC = os.environ.get("SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD") or os.path.join(SRC, "build")
PRODUCTS = os.environ.get("INSTALLED") or BUILD
LIBRARY = os.path.join(PRODUCTS, "lib/libtrace/libtrace.so")
TRACE = os.path.join(PRODUCTS, "bin/trace")
TORTURE = bool(os.environ.get("TORTURE"))
HANG_S = 120  # limit of a test program; each takes less than a tenth of this, and no check needs it to be short
FUNCTIONS = ("pread", "write", "sched_yield", "read")  # calls of counter_workload, in the order of its books

# Programs under test would inherit the signals that nohup or a shell's `&` ignores.
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _usual)


def app(name):
    return os.path.join(BUILD, "tests/apps", name)


def fixtures(name):
    """Return the folder of fixtures of that kind, files that other tools wrote. It exists only if there are any."""
    return os.path.join(os.environ.get("SHARED") or os.path.join(SRC, "../shared"), "fixtures", name)


# ---- TAP ----

class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, held, name, detail=""):
        self.count += 1
        self.failed += not held
        print(f"{'ok' if held else 'not ok'} {self.count} - {name}", flush=True)
        if not held:
            for line in self.lines(detail):
                print(f"# {line}", flush=True)
        return held

    @staticmethod
    def lines(detail):
        """Return what to print of a detail: long lines folded, output of programs in lines of its own, and of much text both ends."""
        lines = [line[start:start + 400] for line in str(detail).replace("\\n", "\n").splitlines() for start in range(0, len(line) or 1, 400)]
        return lines if len(lines) <= 40 else [*lines[:15], f"... ({len(lines) - 40} lines)", *lines[-25:]]

    def skip(self, name, reason):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {reason}", flush=True)

    def finish(self):
        print(f"1..{self.count}", flush=True)
        sys.exit(1 if self.failed else 0)


tap = Tap()


def main(*functions):
    """Run the test functions, or those that the arguments name. An exception in one is a failed test and does not stop the others."""
    for function in functions:
        if len(sys.argv) > 1 and not any(word in function.__name__ for word in sys.argv[1:]):
            continue
        try:
            function()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this test's failure
            import traceback
            tap.ok(False, f"{function.__name__} runs to its end", f"{error!r}\n{traceback.format_exc()}")
    tap.finish()


# ---- folders ----

def folder(parent=None):
    """Return a new folder that is removed at the end."""
    path = tempfile.mkdtemp(prefix="libtrace-test-", dir=parent)
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(path, ignore_errors=True))
    return path


def spool_folder():
    return folder("/dev/shm")


def leftovers(spool):
    return sorted(os.path.join(base, name) for base, dirs, files in os.walk(spool) for name in dirs + files)


def wait_until(condition, seconds=HANG_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())


def wait_spool_gone(spool, seconds=HANG_S):
    """Wait until the tree's folder is removed, which happens when its report is complete."""
    return wait_until(lambda: not os.listdir(spool), seconds)


def stolen_ns():
    """Return the time that a hypervisor and interrupts have taken from all CPUs since the start of the machine: no counter of a thread has it."""
    with open("/proc/stat", encoding="ascii") as file:
        numbers = list(map(int, file.readline().split()[1:]))
    return sum(numbers[5:8]) * 10**9 // os.sysconf("SC_CLK_TCK")  # irq, softirq, steal


def writer_of(spool):
    """Return the pid of the writer of the process tree whose spools are in the folder; None if there is none."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"libtrace-writer") and any(word.startswith(spool.encode()) for word in words[1:]):
            return int(name)
    return None


def has_pidfd(writer, pid):
    """Return whether the writer has a pidfd of the process: it has found its spool."""
    try:
        for fd in os.listdir(f"/proc/{writer}/fdinfo"):
            with open(f"/proc/{writer}/fdinfo/{fd}", encoding="ascii") as file:
                if f"\nPid:\t{pid}\n" in file.read():
                    return True
    except OSError:
        pass
    return False


# ---- running programs ----

Result = collections.namedtuple("Result", "status out err hung note seconds")


def clean_env(**more):
    # A home in which not even root can create files (compilers do that); /nonexistent would not do, since other tests need it not to exist.
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8", "TERM": "xterm", "HOME": "/dev/null", "CCACHE_DISABLE": "1"}
    env.update({name: str(value) for name, value in more.items() if value is not None})
    return env


def traced_env(report, spool, threshold=0, preload=(), **more):
    """Return the environment of a program traced by LD_PRELOAD. preload: further libraries; "@" stands for libtrace.so, to set its position."""
    libraries = [LIBRARY if name == "@" else name for name in preload] or [LIBRARY]
    return clean_env(LD_PRELOAD=":".join(libraries), LIBTRACE_OUTPUT=report, LIBTRACE_SPOOL_DIR=spool, LIBTRACE_OSRT_THRESHOLD=threshold, **more)


def state_of(pid):
    """Return where the threads of a process wait, to describe a hang."""
    lines = []
    try:
        for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
            parts = []
            for name in ("comm", "wchan", "syscall"):
                try:
                    with open(f"/proc/{pid}/task/{tid}/{name}", encoding="ascii", errors="replace") as file:
                        parts.append(file.read().strip())
                except OSError:
                    parts.append("?")
            lines.append(f"pid {pid} tid {tid}: {' '.join(parts)}")
    except OSError:
        pass
    return lines


def session_members(session):
    members = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            if int(fields[3]) == session:
                members.append(int(name))
        except (OSError, IndexError):
            pass
    return members


def kill_session(session):
    """Kill the processes that a hung program left in its session. Return where its threads were."""
    note = []
    for pid in session_members(session):
        note += state_of(pid)
    for pid in session_members(session):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    return "\n".join(note)


def run(argv, env=None, cwd=None, limit=HANG_S, stdin=None, **popen):
    """Run a program in a session of its own to its end and the end of its output. A hang is killed and described."""
    start = time.monotonic()
    process = subprocess.Popen(argv, env=clean_env() if env is None else env, cwd=cwd, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **popen)
    note, hung = "", False
    try:
        out, err = process.communicate(stdin, timeout=limit)
    except subprocess.TimeoutExpired:
        hung, note = True, "still running:\n" + kill_session(process.pid)
        try:
            out, err = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            out, err = b"", b"(output is held open by a process outside the session)"
    return Result(process.returncode, out, err, hung, note, time.monotonic() - start)


# ---- reading a report ----

def trace(*arguments, limit=HANG_S, **popen):
    return run([TRACE, *arguments], limit=limit, **popen)


class Counts:
    """The numbers of calls of one function by one thread: recorded, summed up, and of the recorded ones abandoned or unfinished."""
    __slots__ = ("recorded", "summed", "abandoned", "unfinished")

    def __init__(self):
        self.recorded = self.summed = self.abandoned = self.unfinished = 0

    @property
    def all(self):
        return self.recorded + self.summed


CALL_LINE = re.compile(rb'"process":(\d+),"pid":\d+,"tid":(\d+),.*?"function":"([^"]*)",.*?"flags":\[([^]]*)\]')


class Report:
    def __init__(self, path):
        self.path = path
        self._info = self._counts = self._gaps = None

    def exists(self):
        return os.path.exists(self.path)

    def check(self):
        return trace("check", self.path, limit=300)

    def events(self, *arguments):
        """Return the events as dictionaries, one JSON line each."""
        result = trace("dump", "--json", *arguments, self.path, limit=300)
        if result.status != 0:
            raise RuntimeError(f"trace dump: {result.status} {result.err!r}")
        return [json.loads(line) for line in result.out.splitlines()]

    def each_event(self, *arguments):
        """Yield the events as dictionaries, without holding them all."""
        with subprocess.Popen([TRACE, "dump", "--json", *arguments, self.path], stdout=subprocess.PIPE, env=clean_env()) as process:
            for line in process.stdout:
                yield json.loads(line)
        if process.returncode:
            raise RuntimeError(f"trace dump: {process.returncode}")

    def info(self):
        if self._info is None:
            result = trace("info", "--json", self.path, limit=300)
            if result.status != 0:
                raise RuntimeError(f"trace info: {result.status} {result.err!r}")
            self._info = json.loads(result.out)
        return self._info

    def processes(self):
        return self.info()["processes"]

    def receipts(self):
        return [p["receipt"] for p in self.processes() if p.get("receipt")]

    def dropped(self):
        """Return the events that all receipts state as missing."""
        return sum(drop["count"] for receipt in self.receipts() for drop in receipt.get("drops", []))

    def _read(self):
        """Read counts (by process, thread and function) and gaps (missing events by thread). The dump is searched as bytes: there may be millions of calls."""
        self._counts, self._gaps = collections.defaultdict(Counts), collections.Counter()
        for (process, tid, function, flags), number in self._call_keys().items():
            entry = self._counts[int(process), int(tid), function.decode()]
            entry.recorded += number
            entry.abandoned += number * (b"abandoned" in flags)
            entry.unfinished += number * (b"unfinished" in flags)
        for event in self.events("--kind", "osrt_summary"):
            self._counts[event["process"], event["tid"], event["function"]].summed += event["count"]
        for event in self.events("--kind", "gap"):
            self._gaps[event["tid"]] += event["count"]

    def _call_keys(self):
        keys, rest = collections.Counter(), b""
        with subprocess.Popen([TRACE, "dump", "--json", "--kind", "osrt_call", self.path], env=clean_env(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            while data := process.stdout.read(1 << 22):
                whole, newline, rest = (rest + data).rpartition(b"\n")
                found = CALL_LINE.findall(whole)
                if len(found) != whole.count(b"\n") + bool(newline):
                    raise RuntimeError(f"not the lines of calls that were expected: {whole[:300]!r}")
                keys.update(found)
        if process.returncode != 0 or rest:
            raise RuntimeError(f"trace dump: {process.returncode}")
        return keys

    @property
    def counts(self):
        if self._counts is None:
            self._read()
        return self._counts

    @property
    def gaps(self):
        if self._gaps is None:
            self._read()
        return self._gaps

    def total(self, function, what="all"):
        return sum(getattr(entry, what) for (_, _, name), entry in self.counts.items() if name == function)

    def of_thread(self, tid, function, processes=None):
        return sum(entry.all for (process, thread, name), entry in self.counts.items()
                   if thread == tid and name == function and (processes is None or process in processes))


def program_of(process):
    return os.path.basename(process.get("executable") or (process.get("arguments") or [""])[0])


def receipts_agree(report):
    """Return what is wrong with the receipts: produced = written + dropped for each process; None if nothing is."""
    wrong = []
    for process in report.processes():
        receipt = process.get("receipt")
        if not receipt:
            if process.get("traced", "yes") not in ("no", 1):
                wrong.append(f"pid {process.get('pid')}: no receipt")
            continue
        dropped = sum(drop["count"] for drop in receipt.get("drops", []))
        if receipt["produced"] != receipt["written"] + dropped:
            wrong.append(f"pid {process.get('pid')}: produced {receipt['produced']}, written {receipt['written']}, dropped {dropped}")
    return "\n".join(wrong) or None


def recorded(command, name=None, status=0, environment=dict, limit=HANG_S, **options):
    """Record a command in a folder of its own, where all its files are; return its report. If the command does not end with `status`, or the
    report is not sound, a test fails and None is returned. environment: a function that turns the traced environment into the command's; options: those of
    traced_env().
    """
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "r.rep"))
    result = run(command, env=environment(traced_env(report.path, spool, **options)), cwd=work, limit=limit)
    sound = wait_spool_gone(spool) and result.status == status and report.exists() and report.check().status == 0 and not receipts_agree(report)
    tap.ok(sound, f"{name or ' '.join([os.path.basename(command[0]), *command[1:]])[-60:]}: runs as it should, and its report is sound",
           f"status {result.status}\n{result.out.decode()}\n{result.err.decode()}")
    return report if sound else None


# ---- the books of counter_workload ----

class Books:
    """The counts of counter_workload: for each thread, calls begun and done of each function."""
    SLOT = struct.Struct("=Q4Q4Q56x")

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.pid, self.begun_threads = struct.unpack_from("=QQ", data)
        self.threads = []
        for offset in range(128, len(data) - self.SLOT.size + 1, self.SLOT.size):
            tid, *numbers = self.SLOT.unpack_from(data, offset)
            if tid:
                self.threads.append((tid, numbers[:4], numbers[4:]))

    @staticmethod
    def tell_end(path):
        """Let a program that runs until it is told ("told" instead of DELAY_MS) end."""
        with open(path, "r+b") as file:
            file.seek(16)
            file.write(struct.pack("=Q", 1))

    def done(self):
        return sum(sum(done) for _, _, done in self.threads)

    def compare(self, report):
        """Return where the counts of the report are not between done and begun, or None. Missing events that the report states are added."""
        wrong, known = [], {tid for tid, _, _ in self.threads}
        ours = {p["id"] for p in report.processes() if program_of(p) == "counter_workload"}
        stray = report.dropped() - sum(n for tid, n in report.gaps.items() if tid in known)
        for tid, begun, done in self.threads:
            held = [report.of_thread(tid, name, ours) for name in FUNCTIONS]
            gap = report.gaps[tid]
            for name, b, d, h in zip(FUNCTIONS, begun, done, held):
                if h > b or (not gap and not stray and h < d):
                    wrong.append(f"thread {tid}: {name}: done {d}, begun {b}, in the report {h}")
            if sum(held) + gap + max(stray, 0) < sum(done):
                wrong.append(f"thread {tid}: done {sum(done)}, in the report {sum(held)}, stated missing {gap}, elsewhere {stray}")
        total = sum(report.of_thread(tid, name, ours) for tid in known for name in FUNCTIONS) + report.dropped()
        begun = sum(sum(b) for _, b, _ in self.threads)
        if total > begun + 100:  # dropped events may be other calls of the program
            wrong.append(f"in the report and dropped {total}, begun {begun}: counted twice")
        if total < self.done():
            wrong.append(f"in the report and dropped {total}, done {self.done()}: lost without a word")
        return "\n".join(wrong) or None
