#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check captures: counts, threads, names, processes, children and the reasons why they are not traced; names, modes and times of reports.

The programs of tests/apps print the counts that their report must contain ("expect COUNT FUNCTION"); these are compared with `trace dump`.
"""
import json
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Books, HANG_S, LIBRARY, Report, SRC, TRACE, app, clean_env, folder, has_pidfd, leftovers, main, program_of, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_spool_gone, wait_until, writer_of  # noqa: E402


class Traced:
    """A program run with the preload, and its report."""

    def __init__(self, argv, preload=(), facts=False, cwd=None, **options):
        self.folder, self.spool = folder(), spool_folder()
        env = traced_env(os.path.join(self.folder, "r.rep"), self.spool, preload=preload, **options)
        if facts:
            env["APP_FACTS"] = "1"
        self.result = run(argv, env=env, cwd=cwd or self.folder)
        self.text = self.result.out.decode(errors="replace")
        self.finished = wait_spool_gone(self.spool)
        self.report = Report(os.path.join(self.folder, "r.rep"))

    def fact(self, pattern):
        found = re.search(f"^facts: {pattern}", self.text, re.MULTILINE)
        return int(found.group(1)) if found else None

    def wrong(self):
        """Return None if program, writer and report are as expected."""
        if self.result.hung:
            return f"hangs\n{self.result.note}"
        if "FAIL" in self.text:
            return self.text
        if not self.finished:
            return f"the report is never finished: {leftovers(self.spool)}"
        if not self.report.exists():
            return "no report"
        check = self.report.check()
        if check.status != 0:
            return f"trace check: {check.status} {(check.out + check.err).decode(errors='replace')}"
        return receipts_agree(self.report)


def traced_ok(name, argv, **more):
    run_ = Traced(argv, **more)
    wrong = run_.wrong()
    tap.ok(not wrong, f"{name}: runs, report is sound", wrong)
    return run_ if not wrong else None


# ---- counts ----

def as_expected(word, report, held, number):
    """Return whether the report has the number of calls that the program printed. With at-most, fewer calls are allowed if the report states them as
    dropped, or names a process that could not be traced.
    """
    if word == "expect":  # one in a thousand may be missing, if that is stated
        return held == number or (number * 0.999 <= held < number <= held + report.dropped())
    if word == "expect-at-least":
        return held >= number
    names_untraced = any(p["traced"] != "yes" for p in report.processes()) or any("not traced" in d["text"] for d in report.info()["diagnostics"])
    return held <= number and (held + report.dropped() >= number or names_untraced)


def expectations(traced, name):
    report = traced.report
    for word, number, function in re.findall(r"^(expect[a-z-]*) (\d+) ?(\w*)$", traced.text, re.MULTILINE):
        number = int(number)
        if word == "expect-threads":
            held = len(report.events("--kind", "thread_start"))
            tap.ok(held == number, f"{name}: {number} threads", f"thread_start: {held}")
        elif word == "expect-abandoned":
            held = report.total(function, "abandoned")
            tap.ok(held == number, f"{name}: {number} {function} abandoned", f"abandoned: {held}")
        else:
            held = report.total(function)
            tap.ok(as_expected(word, report, held, number), f"{name}: {word[6:].replace('-', ' ').strip() or 'exactly'} {number} {function}",
                   f"in the report {held}, dropped {report.dropped()}, {report.info()['verdict']}, {report.info()['diagnostics']}\n{ {k: v.all for k, v in report.counts.items() if k[2] == function} }")


APPS = ([[name] for name in ("longjmp_over", "small_stack", "close_all", "fd_limit", "file_limit", "thread_churn", "fork_storm", "early_calls", "exec_chain",
                             "clearenv_exec", "preload_kept", "altstack_nested", "coroutines", "drop_user", "fortified", "own_read", "hidden_threads", "many_threads",
                             "lock_holder", "vfork_child", "handler_left", "user_namespace", "seccomp_filter", "late_daemon", "cancel", "cxx_throw", "atfork_first")]
        + [["seccomp_filter", "strict"], ["memory_limit", "as"], ["memory_limit", "lock"]]
        + [["forks", mode] for mode in "fork vfork _Fork clone spawn spawnp system popen daemon double handler atfork thread".split()]
        + [["exits", mode] for mode in "return exit _exit _Exit quick_exit abort abort_caught segv kill term pthread_exit exec thread_exit raw "
                                       "handler_exit last_thread".split()])


def counts_of_apps():
    for argv in APPS:
        traced = traced_ok(" ".join(argv), [app(argv[0]), *argv[1:]])
        if traced:
            expectations(traced, " ".join(argv))


def counts_with_threshold():
    """Check that totals are exact for every threshold, where calls are summed up instead of recorded."""
    for name in ("small_stack", "fork_storm", "exec_chain"):
        traced = traced_ok(f"{name}, threshold 1 s", [app(name)], threshold=10**9)
        if traced:
            expectations(traced, f"{name}, threshold 1 s")
    traced = traced_ok("default threshold", [app("small_stack")], threshold=1000)
    if traced:
        short = [e for e in traced.report.events("--kind", "osrt_call") if e["duration_ns"] < 950 and e["function"] == "pread"]
        tap.ok(not short, "no call far below the threshold is recorded", short[:5])


def reasons_of_drops_are_told():
    traced = traced_ok("more threads than places", [app("many_threads")])
    if not traced:
        return
    dropped, text = traced.report.dropped(), trace("info", traced.report.path).out.decode()
    total = text.partition("all processes together:")[2]
    tap.ok(dropped > 0 and f"dropped: {dropped} no memory for thread\n" in total, "the total names the reason of what was dropped", f"{dropped}\n{total}")


def storm_is_counted():
    traced = traced_ok("signal_storm", [app("signal_storm")], facts=True)
    if not traced:
        return
    wanted, report = traced.fact(r"pread\+pwrite (\d+)"), traced.report
    held = report.total("pread") + report.total("pwrite")
    tap.ok(held <= wanted <= held + report.dropped(), "signal_storm: every call recorded or stated as missing", f"made {wanted}, held {held}, dropped {report.dropped()}")


def forks_under_signals_are_counted():
    traced = traced_ok("signal_forks", [app("signal_forks")], facts=True)
    if traced:
        wanted, report = traced.fact(r"pread (\d+)"), traced.report
        held = report.total("pread")
        tap.ok(held <= wanted <= held + report.dropped(), "signal_forks: every call recorded or stated as missing", f"made {wanted}, held {held}, dropped {report.dropped()}")


def left_calls_harm_no_later_ones():
    traced = traced_ok("longjmp_storm", [app("longjmp_storm")], facts=True)
    if not traced:
        return
    expectations(traced, "longjmp_storm")
    done, report = traced.fact(r"done (\d+)"), traced.report
    held = report.total("pread")
    tap.ok(done <= held + report.dropped() and held <= done + 4000, "longjmp_storm: every call done is in the report or stated as missing",
           f"done {done}, held {held}, dropped {report.dropped()}")
    tap.ok(report.dropped() < done / 100, "longjmp_storm: hardly any is missing", f"done {done}, dropped {report.dropped()}")


# ---- events ----

def calls_hold_results():
    traced = traced_ok("errno_kept", [app("errno_kept")])
    if not traced:
        return
    calls = traced.report.events("--kind", "osrt_call")

    def has(function, error, value=None):
        return any(c["function"] == function and c["errno"] == error and value in (None, c["return_value"]) for c in calls)
    tap.ok(has("read", 9, -1), "a failing read has -1 and EBADF")
    tap.ok(has("open", 2, -1), "a failing open has -1 and ENOENT")
    tap.ok(has("pthread_mutex_timedlock", 0, 110) or has("pthread_mutex_timedlock", 110), "a timed lock has its error, ETIMEDOUT")
    tap.ok(has("read", 0, 4), "a successful read has no errno of an earlier call")
    tap.ok(not any(c["errno"] == 1234 for c in calls), "no call has an errno that it did not set")
    tap.ok(any(c["function"] == "close" and c["object"] in ("0x270f", 9999) for c in calls), "the descriptor is the object")
    text = trace("dump", "-k", "osrt_call", traced.report.path).out.decode()
    tap.ok("function=close return_value=-1 errno=EBADF object=9999" in text and re.search(r"function=pthread_mutex_\w+ .*object=0x", text),
           "dump prints descriptors in decimal, addresses in hexadecimal")


def times_make_sense():
    traced = traced_ok("times", ["sh", "-c", "sleep 0.2; sleep 0.1"])
    if not traced:
        return
    events = traced.report.events()
    sleeps = [e for e in events if e["kind"] == "osrt_call" and e["function"] in ("nanosleep", "clock_nanosleep")]
    first, second = [e["duration_ns"] for e in sleeps] if len(sleeps) == 2 else (0, 0)
    tap.ok(first >= 2e8 and second >= 1e8 and first + second <= traced.result.seconds * 1e9, "two sleeps of 0.2 and 0.1 s, which last no longer than the program", (sleeps, traced.result))
    tap.ok(sleeps and sleeps[0]["start_ns"] + first <= sleeps[-1]["start_ns"], "one after the other", sleeps)
    starts = [e.get("start_ns", e.get("time_ns")) for e in events]
    tap.ok(starts == sorted(starts), "dump is in order of start")
    receipts = traced.report.receipts()
    tap.ok(all(r["impossible_times"] == 0 for r in receipts), "no event has an impossible time", receipts)
    tap.ok(all(r["clock_error_ns"] < 100000 for r in receipts), "clock error bound below 100 us", receipts)


def holder_is_named():
    traced = traced_ok("lock_holder", [app("lock_holder")], facts=True)
    if not traced:
        return
    holder, waiter = traced.fact(r"holder (\d+)"), traced.fact(r"waiter (\d+)")
    waits = [e for e in traced.report.events("--kind", "osrt_call") if e["function"] == "pthread_mutex_lock"]
    tap.ok(len(waits) == 1 and waits[0]["tid"] == waiter and waits[0]["holder_tid"] == holder, "the wait for a taken lock names its holder", waits)
    tap.ok(traced.report.total("pthread_mutex_lock", "summed") == 26, "free locks are counted, not recorded")
    tap.ok(waits and waits[0]["duration_ns"] > 10e6, "the wait for a taken lock has its duration", waits)


def every_lock_on_request():
    traced = traced_ok("LIBTRACE_OSRT_LOCKS=all", [app("lock_holder")], LIBTRACE_OSRT_LOCKS="all")
    if traced:
        tap.ok(traced.report.total("pthread_mutex_lock", "recorded") == 27, "every lock is recorded on request", traced.report.total("pthread_mutex_lock", "recorded"))


def paths_on_request():
    traced = traced_ok("LIBTRACE_OSRT_FILE_ACCESS", [app("errno_kept")], threshold=10**9, LIBTRACE_OSRT_FILE_ACCESS="1")
    if not traced:
        return
    paths = {(e["path"], e["descriptor"] >= 0) for e in traced.report.events("--kind", "file_path")}
    tap.ok(("/dev/zero", True) in paths and ("/nonexistent/file", False) in paths, "paths of opened files are recorded on request", paths)
    plain = traced_ok("without it", [app("errno_kept")], threshold=10**9)
    paths = {(e["path"], e["descriptor"] >= 0) for e in plain.report.events("--kind", "file_path")} if plain else set()
    tap.ok(("/dev/zero", True) in paths and all(opened for _, opened in paths), "without the option, paths of files that were opened alone", paths)
    tables = json.loads(trace("query", "-f", "json", plain.report.path, "SELECT count(*) AS n FROM sqlite_master WHERE name GLOB 'OSRT_FILE_ACCESS_*'").out) if plain else []
    tap.ok(tables == [{"n": 0}], "without the option, no tables of file accesses", tables)


def arguments_that_are_gone():
    traced = traced_ok("paths_gone", [app("paths_gone")], threshold=10**6)
    if not traced:
        return
    paths = [e["path"] for e in traced.report.events("--kind", "file_path") if e["path"].endswith("/fifo")]
    # Of each FIFO both ends are opened: first the path of one of them is unmapped, then both stay, then both are long.
    tap.ok(len(paths) == 5 and sorted(len(p) > 700 for p in paths) == [False] * 3 + [True] * 2 and {os.path.normpath(p) for p in paths} == {paths[0]},
           "paths of calls that wait, but not one that is unmapped meanwhile", paths)
    failed = traced.report.total("accept", "recorded")
    tap.ok(failed < 10, "accept() that fails at once is recorded as other calls are, also while another call is interrupted", failed)


def threads_and_names():
    traced = traced_ok("thread_names", [app("thread_names")])
    if not traced:
        return
    report = traced.report
    starts, ends, names = (report.events("--kind", kind) for kind in ("thread_start", "thread_end", "thread_name"))
    tap.ok(len(starts) == 5 and {e["tid"] for e in starts} == {e["tid"] for e in ends}, "five threads start and end", f"{starts}\n{ends}")
    known = {e["name"] for e in names}
    tap.ok({"by-setname", "by-prctl", "by-c11", "main-renamed"} <= known, "names that threads give themselves are recorded", known)
    tap.ok("by-other" in known | {e["name"] for e in starts}, "a name given by another thread is recorded", known)
    main_tid = next((e["tid"] for e in starts if e["flags"] & 1), None)
    tap.ok(all(e["parent_tid"] == main_tid for e in starts if not e["flags"] & 1), "each thread names its creator", starts)


# ---- processes ----

def report_root(report):
    return report.info()["session"]["root_pid"]


def process_tree():
    hows = {"fork": "fork", "_Fork": "fork", "vfork": "vfork", "clone": "clone", "spawn": "posix_spawn", "spawnp": "posix_spawn", "system": "system", "popen": "popen"}
    for mode, how in hows.items():
        traced = traced_ok(f"tree: {mode}", [app("forks"), mode], facts=True)
        if not traced:
            continue
        processes, child = traced.report.processes(), traced.fact(r"child (\d+)")
        root = next((p for p in processes if p["pid"] == report_root(traced.report)), {"pid": None})
        children = traced.report.events("--kind", "child")
        tap.ok(any(str(e["how"]) == how or e["how"] == how for e in children), f"{mode}: an event says {how}", children)
        if child:
            tap.ok(any(p["pid"] == child and p["parent_pid"] == root["pid"] for p in processes), f"{mode}: the child with its parent",
                   [(p["pid"], p["parent_pid"]) for p in processes])
            tap.ok(any(e["child_pid"] == child for e in children), f"{mode}: the event names the child", children)
            ends = [(p["end"], p.get("exit_status")) for p in processes if p["pid"] == child]
            tap.ok(("exit", 5) in ends, f"{mode}: the child's end and status", ends)


def processes_are_described():
    traced = traced_ok("description", [app("stdio_untouched"), "an argument", "ü"])
    if not traced:
        return
    process = traced.report.processes()[0]
    tap.ok(process["arguments"][1:] == ["an argument", "ü"], "arguments", process)
    tap.ok(process["executable"] == os.path.realpath(app("stdio_untouched")), "executable", process["executable"])
    tap.ok(process["work_directory"] == os.path.realpath(traced.folder), "the working directory of a process is recorded", process["work_directory"])
    traced = traced_ok("many arguments", [app("stdio_untouched"), *(["x" * 1000] * 50)])
    if traced:
        process = traced.report.processes()[0]
        tap.ok(process["arguments_truncated"] is True and process["arguments"][1] == "x" * 1000, "long command lines are cut, and it is said", process["arguments_truncated"])


def exec_makes_a_new_process():
    traced = traced_ok("exec chain", [app("exec_chain")])
    if not traced:
        return
    processes = traced.report.processes()
    tap.ok(len({p["pid"] for p in processes}) == 1 and len(processes) == 10, "ten programs under one pid", [(p["id"], p["pid"], p["arguments"]) for p in processes])
    tap.ok([p["end"] for p in processes] == ["exec"] * 9 + ["exit"], "nine were replaced, the last one left", [p["end"] for p in processes])
    tap.ok([p["previous_id"] for p in processes][1:] == [p["id"] for p in processes][:-1], "each program names the one that it replaced", [p["previous_id"] for p in processes])


ENDS = {"return": ("exit", 19), "exit": ("exit", 10), "_exit": ("exit", 11), "_Exit": ("exit", 12), "quick_exit": ("exit", 13), "thread_exit": ("exit", 14),
        "abort": ("killed", None), "segv": ("killed", None), "kill": ("killed", None), "term": ("killed", None), "raw": ("exit", 18)}


def ends_are_told():
    for mode, (end, status) in ENDS.items():
        traced = Traced([app("exits"), mode])
        process = traced.report.processes()[0] if traced.report.exists() else {}
        tap.ok(process.get("end") == end and (status is None or process.get("exit_status") == status), f"end by {mode}: {end} {status or ''}", process)


def killed_children_have_their_signal():
    """Check that a child killed by a signal has it in the report. From Linux 6.15 on the kernel reports it for certain once the writer has found the
    child; before, only until the parent has waited for it.
    """
    version = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    for end, number in (("kill -SEGV $$", 11), ("kill -KILL $$", 9), ("exit 5", None)):
        place, spool = folder(), spool_folder()
        path, go = os.path.join(place, "r.rep"), os.path.join(place, "go")
        os.mkfifo(go)
        child = f"echo $$; read x < {go}; {end}"
        command = ["sh", "-c", 'sh -c "$0"; true', child]
        with subprocess.Popen(command, env=traced_env(path, spool), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            pid = int(process.stdout.readline())
            wait_until(lambda pid=pid, spool=spool: writer_of(spool) and has_pidfd(writer_of(spool), pid))
            with open(go, "w", encoding="ascii") as file:
                file.write("x\n")
            process.communicate()
        wait_spool_gone(spool)
        found = [p.get("term_signal") for p in Report(path).processes() if p["pid"] == pid and p["end"] != "exec"]
        tap.ok(found == [number] or (version < (6, 15) and found == [None]), f"a child that ends by {end}: signal {number}", (found, trace("info", path).out))


def killers_are_told():
    """Check that `trace run` reports the signal that ended its program, and the status of an exit by a raw system call."""
    for mode, number, text in (("abort", 6, "killed by signal 6 (SIGABRT)"), ("segv", 11, "killed by signal 11 (SIGSEGV)"), ("kill", 9, "killed by signal 9 (SIGKILL)"),
                               ("term", 15, "killed by signal 15 (SIGTERM)"), ("return", None, "exit 19")):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "r.rep")
            result = trace("run", "-o", path, "--", app("exits"), mode)
            process = Report(path).processes()[0]
            info, check = trace("info", path), trace("check", path)
            tap.ok(result.status == (-number if number else 19) and process.get("term_signal") == number and text in info.out.decode(), f"trace run, end by {mode}: {text}", (process, info))
            tap.ok(check.status == 0 and b"verdict:   complete" in info.out, "and the report stays sound", (check, info))


def verdicts():
    traced = traced_ok("child_kinds", [app("child_kinds")])
    if not traced:
        return
    children = traced.report.events("--kind", "child")

    def verdict_of(ending):
        return {str(e["verdict"]) for e in children if (e.get("path") or "").endswith(ending)}
    wanted = {"static_child": ("static", "1"), "/script": ("traced", "0"), "/script2": ("traced", "0"), "/nonexistent/program": ("missing", "7", "no such file")}
    if os.path.exists(app("musl_child")):
        wanted.update({"musl_child": ("musl", "2", "another C library"), "/musl_script": ("musl", "2", "another C library")})
    if os.geteuid() == 0:
        wanted["/setuid"] = ("setuid", "4", "set-user-id")
    for ending, words in wanted.items():
        got = verdict_of(ending)
        tap.ok(bool(got) and all(any(w in g for w in words) for g in got), f"verdict of {ending}: {words[0]}", f"{got}\n{children}")
    lost = {str(e["verdict"]) for e in children if (e.get("path") or "").endswith("/sh")}
    tap.ok(any("LD_PRELOAD" in v or v in ("5", "preload_lost", "preload lost") for v in lost), "verdict of a child without our environment: preload lost", lost)
    untraced = [p for p in traced.report.processes() if p.get("traced") == "no"]
    tap.ok(any(program_of(p) == "static_child" or "static" in (p.get("reason") or "") for p in untraced) or bool(verdict_of("static_child")), "children not traced are listed", untraced)


def exec_as_another_user_is_told():
    """Check that the report names a process that gives up root before an exec, and then cannot create a spool in root's folder."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        tap.skip("exec as another user", "this is not root, or there is no setpriv")
        return
    drop = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    for name, argv in (("in place", [*drop.split(), "ls", "-d", "/"]), ("as a child", ["sh", "-c", f"{drop} ls -d /; echo x"])):
        traced = traced_ok(f"exec as another user, {name}", argv)
        if traced:
            untraced = [p for p in traced.report.processes() if p.get("traced") == "no"]
            tap.ok(len(untraced) == 1 and program_of(untraced[0]) == "ls" and "no permission" in untraced[0]["reason"], f"exec as another user, {name}: reported", untraced)


def a_closed_gate_keeps_children_from_the_preload_too():
    """Check that a program that cannot load the library gets no preload before recording starts either: its loader would print an error."""
    place = folder()
    shutil.copytree(os.path.dirname(LIBRARY), os.path.join(place, "libtrace"))
    script = "import os; os.chdir('/'); print(os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 3'], os.environ), 0)[1] >> 8)"
    for name, more in (("open", {}), ("closed", {"LIBTRACE_DELAY": 1000})):
        result = run([sys.executable, "-c", script], cwd=place, env=clean_env(LD_PRELOAD="./libtrace/libtrace.so", LIBTRACE_OUTPUT=os.path.join(place, name), **more))
        tap.ok((result.status, result.out, result.err) == (0, b"3\n", b""), f"posix_spawn out of the library's reach, the gate {name}: as without the tracer", result)


def children_not_followed():
    traced = traced_ok("LIBTRACE_FOLLOW=0", [app("forks"), "spawn"], LIBTRACE_FOLLOW="0")
    if traced:
        tap.ok(len(traced.report.processes()) == 1 or all(p["traced"] == "no" for p in traced.report.processes()[1:]), "children are left alone on request",
               [(p["pid"], p["traced"]) for p in traced.report.processes()])
        tap.ok(traced.report.total("pwrite") == 0, "nothing is recorded of children left alone")


# ---- reports ----

def run_here(pattern, cwd, argv=("true",), more=(), **env):
    return trace("run", "-o", pattern, *more, "--", *argv, cwd=cwd, env=clean_env(**env))


def working_directory_is_a_trap():
    """Check that a file that looks like a part of a repository, but never ends, does not block the recording."""
    place = folder()
    os.mkdir(os.path.join(place, ".git"))
    os.mkfifo(os.path.join(place, ".git/HEAD"))
    result = run_here("a", place)
    tap.ok(result.status == 0 and os.path.exists(os.path.join(place, "a.rep")), "a pipe as .git/HEAD", result)
    os.unlink(os.path.join(place, ".git/HEAD"))
    with open(os.path.join(place, ".git/HEAD"), "w", encoding="utf-8") as file:
        file.write("ref: refs/heads/main\n")
    os.symlink("/dev/zero", os.path.join(place, ".git/packed-refs"))
    result = run_here("b", place)
    tap.ok(result.status == 0 and os.path.exists(os.path.join(place, "b.rep")), "a device as .git/packed-refs", result)


def names_of_reports():
    place, host = folder(), os.uname().nodename
    for pattern, wanted, env in (("a", "a.rep", {}), ("b.rep", "b.rep", {}), ("%h-x", f"{host}-x.rep", {}), ("%e", "true.rep", {}), ("100%%", "100%.rep", {}),
                                 ("v-%q{APP_NAME}", "v-value.rep", {"APP_NAME": "value"})):
        before = set(os.listdir(place))
        result = run_here(pattern, place, **env)
        made = set(os.listdir(place)) - before
        tap.ok(result.status == 0 and made == {wanted}, f"-o {pattern} makes {wanted}", f"{made} {result.err!r}")
    for n in (1, 2):
        run_here("n%n", place)
    tap.ok(sum(name.startswith("n") for name in os.listdir(place)) == 2, "%n takes a number that is free", os.listdir(place))
    inside = os.path.join(place, "inside")
    os.mkdir(inside)
    results = [run_here(pattern, place).status for pattern in ("inside", "inside/", "absent/")]
    tap.ok(results == [0, 0, 2] and sorted(os.listdir(inside)) == ["report1.rep", "report2.rep"], "a directory has the report in it", f"{results} {os.listdir(inside)}")
    run_here("p-%p", place, ("sh", "-c", "/bin/true; /bin/true; :"))
    made = [name for name in os.listdir(place) if name.startswith("p-")]
    tap.ok(len(made) == 3 and all(re.fullmatch(r"p-\d+\.rep", name) for name in made), "%p makes one report per process", made)
    tap.ok(all(Report(os.path.join(place, name)).check().status == 0 for name in made), "each report of a process is sound")


def refused_programs():
    """Check that a child whose exec fails continues as before, and is not listed as a program that was not traced."""
    traced = traced_ok("exec_refused", [app("exec_refused")])
    if not traced:
        return
    processes = traced.report.processes()
    listed = [(p.get("traced"), p.get("reason"), p["end"], p.get("exit_status")) for p in processes]
    tap.ok(all(p["traced"] == "yes" for p in processes), "no child whose program was refused is listed as not traced", listed)
    tap.ok(sum(p["end"] == "exec" for p in processes) == 1 and any(program_of(p) == "true" for p in processes), "a child that found a program by exec is that program", listed)
    said = trace("info", traced.report.path).out.decode()
    tap.ok(said.count("exit with unknown status") == 2 and "exit 13" in said, "an exit status that nobody saw is not said to be 0", said)


def recovered_by_name():
    """Check that -o of `trace recover` names the report as -o of `trace run` does."""
    place = folder()
    os.mkdir(os.path.join(place, "mk"))
    for name, made in (("rec", "rec.rep"), ("whole.rep", "whole.rep"), ("mk", "mk/report1.rep"), ("mk", "mk/report2.rep"), ("at-%%", "at-%.rep")):
        spool = spool_folder()
        run([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], env=traced_env(os.path.join(place, "first.rep"), spool, LIBTRACE_HELPER=0))
        trees = [os.path.join(spool, tree) for tree in os.listdir(spool)]
        result = run([TRACE, "recover", *trees, "-o", name], cwd=place)
        path = os.path.join(place, made)
        tap.ok(len(trees) == 1 and result.status == 0 and f"'{path}'".encode() in result.out and os.path.exists(path) and Report(path).check().status == 0,
               f"recover -o {name} writes {made}", (trees, result, os.listdir(place)))
    spool = spool_folder()
    run([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], env=traced_env(os.path.join(place, "first.rep"), spool, LIBTRACE_HELPER=0))
    result = run([TRACE, "recover", os.path.join(spool, os.listdir(spool)[0]), "-o", "%x"], cwd=place)
    tap.ok(result.status != 0 and b"invalid report name '%x': unknown letter" in result.err and os.listdir(spool), "an invalid name is reported, and nothing is lost", result)


def recordings_that_cannot_be_recovered():
    place = folder()
    file = os.path.join(place, "file")
    with open(file, "wb"):
        pass
    result = run([TRACE, "recover", file])
    tap.ok(result.status == 2 and b"not the folder of a recording" in result.err and result.err.count(b"\n") == 1, "recover: a file", result)
    if os.geteuid():
        tap.skip("recover: a recording of another user", "not root")
        return
    os.chmod(place, 0o700)
    try:
        result = run([TRACE, "recover", place], user=65534, group=65534, extra_groups=[])
    except OSError as error:
        tap.skip("recover: a recording of another user", f"the build's folder is closed: {error}")
        return
    tap.ok(result.status == 2 and b"it belongs to user 0, who must recover it" in result.err, "recover: a recording of another user", result)


def recovered_elsewhere():
    """Check that a recording whose report cannot be written is kept, and that `trace recover` says what to do."""
    place, spool = os.path.join(folder(), "gone"), spool_folder()
    os.mkdir(place)
    run([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], env=traced_env(os.path.join(place, "r.rep"), spool, LIBTRACE_HELPER=0))
    tree = os.path.join(spool, os.listdir(spool)[0])
    kept = sorted(os.listdir(tree))
    shutil.rmtree(place)
    result = run([TRACE, "recover", tree])
    tap.ok(result.status and b"No such file or directory" in result.err and b"use --output FILE" in result.err and result.err.count(b"\n") == 1 and sorted(os.listdir(tree)) == kept,
           "recover to a deleted folder says what to do, and keeps the spools", (result, kept))
    result = run([TRACE, "recover", tree, "--output", "r.rep"], cwd=spool)
    tap.ok(result.status == 0 and Report(os.path.join(spool, "r.rep")).check().status == 0 and not os.path.exists(tree), "and with --output it recovers them", result)


def full_disk():
    """Check that `trace run` reports a full disk in one line, and keeps the recording."""
    place, spool = folder(), spool_folder()
    if run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place]).status:
        tap.skip("a full disk", "no mounts here")
        return
    try:
        with open(os.path.join(place, "filler"), "wb") as file:
            file.write(bytes(64 << 10))
        result = run([TRACE, "run", "-o", os.path.join(place, "r.rep"), "/bin/true"], env=clean_env(LIBTRACE_SPOOL_DIR=spool))
    finally:
        run(["umount", place])
    tap.ok(result.status == 0 and result.err.count(b"\n") == 1 and b"is incomplete: No space left on device; run 'trace recover'" in result.err and os.listdir(spool),
           "a full disk is reported once, with what to do", result)


def bad_names():
    place = folder()
    os.mkdir(os.path.join(place, "inner"))
    for pattern, env in (("%q{APP_NAME}", {"APP_NAME": "../outside"}), ("%q{APP_NAME}", {"APP_NAME": "/tmp/outside"}), ("%q{APP_NAME}", {}), ("%z", {}), ("%q{APP_NAME", {"APP_NAME": "a"}),
                         ("x%", {}), ("%q{APP_NAME}", {"APP_NAME": ".."})):
        result = run_here(pattern, os.path.join(place, "inner"), **env)
        made = leftovers(place)
        tap.ok(result.status != 0 and result.err and made == [os.path.join(place, "inner")], f"-o {pattern} with {env or 'nothing'}: refused, and it is said why",
               f"{result.status} {result.err!r} {made}")
        for path in made:
            if path.endswith(".rep"):
                os.unlink(path)
    for pattern, env in (("%q{APP_NAME}", {"APP_NAME": "../outside"}), ("%z", {})):
        spool = spool_folder()
        result = run(["sh", "-c", "echo unchanged; exit 3"], env=dict(traced_env(pattern, spool), **env), cwd=os.path.join(place, "inner"))
        tap.ok((result.status, result.out, result.err) == (3, b"unchanged\n", b"") and not any("outside" in p for p in leftovers(place)),
               f"preload alone, {pattern}: the program is unchanged, nothing outside", f"{result} {leftovers(place)}")


def nothing_is_overwritten():
    place = folder()
    path = os.path.join(place, "r.rep")
    with open(path, "wb") as file:
        file.write(b"precious")
    result = run_here("r.rep", place, ("sh", "-c", "echo ran; exit 3"))
    with open(path, "rb") as file:
        kept = file.read() == b"precious"
    tap.ok(kept, "an existing file is kept")
    tap.ok(result.status != 0 and b"r.rep" in result.err, "the refusal to overwrite a report is explained", f"{result.status} {result.err!r}")
    spool = spool_folder()
    result = run(["sh", "-c", "echo ran; exit 3"], env=traced_env(path, spool))
    wait_until(lambda: not os.listdir(spool), 3)
    with open(path, "rb") as file:
        kept = file.read() == b"precious"
    tap.ok(kept and (result.status, result.out, result.err) == (3, b"ran\n", b""), "preload alone: an existing file is kept, and the program is unchanged", f"{kept} {result}")
    result = run_here("r.rep", place, more=("--force-overwrite", "true"))
    tap.ok(result.status == 0 and Report(path).check().status == 0, "an existing report is replaced with -f true", result.err)
    target = os.path.join(place, "target")
    os.symlink(target, os.path.join(place, "link.rep"))
    run_here("link.rep", place, more=("--force-overwrite", "true"), LIBTRACE_SPOOL_DIR=spool)
    tap.ok(not os.path.exists(target), "a symbolic link is not followed")


def modes_of_files():
    os.umask(0)
    place, spool = folder(), spool_folder()
    path = os.path.join(place, "r.rep")
    process = subprocess.Popen(["sleep", "600"], env=traced_env(path, spool), stdin=subprocess.DEVNULL)
    wait_until(lambda: os.path.exists(path))
    modes = {name: stat.S_IMODE(os.lstat(name).st_mode) for name in [path, *leftovers(spool)]}
    process.terminate()
    process.wait()
    wait_spool_gone(spool)
    tap.ok(all(mode in (0o600, 0o700) for mode in modes.values()) and len(modes) >= 3, "report and spool are for their owner only", {k: oct(v) for k, v in modes.items()})
    os.umask(0o022)


# ---- trace run ----

def run_passes_status():
    place = folder()
    for script, status in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", -9), ("kill -TERM $$", -15), ("kill -SEGV $$", -11)):
        result = run_here("s", place, ("sh", "-c", script), more=("-f", "true"))
        tap.ok(result.status == status, f"trace run: {script} gives {status}", f"{result.status} {result.err!r}")
    result = run_here("s", place, ("/nonexistent/program",), more=("-f", "true"))
    tap.ok(result.status == 127 and result.err, "a program that is not there: 127 and a message", f"{result.status} {result.err!r}")
    result = run_here("s", place, ("/dev/null",), more=("-f", "true"))
    tap.ok(result.status == 126 and result.err, "a program that cannot be executed: 126", f"{result.status} {result.err!r}")
    result = trace("run", "-f", "true", "-o", "s", "cat", cwd=place, stdin=b"through")
    tap.ok(result.out == b"through", "standard input and output are the program's, -- may be left out", result)
    result = run_here("s", place, ("sh", "-c", "echo out; echo err >&2"), more=("-f", "true"))
    tap.ok(result.out == b"out\n" and result.err.startswith(b"err\n"), "trace run prints nothing on standard output", result)
    tap.ok(trace("run").status == 2 and trace("run", "--no-such-option").status == 2, "wrong usage ends with status 2")


def closed_standard_descriptors():
    """Check that files that `trace run` opens do not get the numbers of standard descriptors of the program or the writer."""
    place = folder()
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        ended = []
        for i in range(8):
            done = run(["sh", "-c", f'"$0" run -o r{i} -- sh -c "exit 3" {closed}', TRACE], cwd=place, env=clean_env())
            ended.append((done.status, b"another writer" in done.err or b"still being" in done.err, trace("check", os.path.join(place, f"r{i}.rep")).status))
            os.unlink(os.path.join(place, f"r{i}.rep"))
        tap.ok(ended == [(3, False, 0)] * 8, f"trace run with {closed}", ended)


def run_forwards_signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        place = folder()
        script = f"trap 'echo got; exit 9' {number.name[3:]}; echo ready; while :; do sleep 0.05; done"
        process = subprocess.Popen([TRACE, "run", "-o", "r", "--", "sh", "-c", script], cwd=place, env=clean_env(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        process.stdout.readline()
        process.send_signal(number)
        try:
            out, _ = process.communicate(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
        tap.ok(out == b"got\n" and process.returncode == 9, f"{number.name} reaches the program", f"{process.returncode} {out!r}")
        tap.ok(Report(os.path.join(place, "r.rep")).check().status == 0, f"{number.name}: the report is sound")


def run_waits_for_the_tree():
    place = folder()
    result = run_here("r", place, ("sh", "-c", "(sleep 0.5; /bin/true) >/dev/null 2>&1 & exit 4"))
    report = Report(os.path.join(place, "r.rep"))
    tap.ok(result.status == 4 and result.seconds > 0.45, "trace run waits for the whole tree", f"{result.status} {result.seconds}")
    tap.ok(any(program_of(p) == "true" for p in report.processes()), "the last of it is in the report", [program_of(p) for p in report.processes()])
    result = run_here("r", place, ("sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $! >left; exit 4"), more=("-f", "true", "--wait", "primary"))
    with open(os.path.join(place, "left"), encoding="ascii") as file:
        left = int(file.read())
    try:
        os.kill(left, signal.SIGKILL)
        lives = True
    except ProcessLookupError:
        lives = False
    tap.ok(result.status == 4 and lives, "--wait primary: for the program only", f"{result.status} {result.seconds} {result.note}")


# Prints begin and end of each of its sleeps. It goes on until it can read from its standard input, and for 50 sleeps more.
SLEEPS = """import select, time
left, asked = 50, select.poll()
asked.register(0, select.POLLIN)
while left:
    begin = time.monotonic_ns()
    time.sleep(0.01)
    print(begin, time.monotonic_ns())
    if left < 50 or asked.poll(0): left -= 1
"""


def windows_so_far(path):
    """Return the number of windows that have ended, from a report that is still being written."""
    text = trace("info", "--json", "--no-wait", path).out
    return json.loads(text).get("windows", {"told": 0})["told"] if text else 0


def delay_and_duration():
    place = folder()
    report = Report(os.path.join(place, "r.rep"))
    options = ("--delay", "0.5", "--duration", "2", "--osrt-threshold", "0", "--flush-interval", "1")
    with subprocess.Popen([TRACE, "run", "-o", "r", *options, "--", sys.executable, "-c", SLEEPS], cwd=place, env=clean_env(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: process.poll() is not None or windows_so_far(report.path))
        out, _ = process.communicate(b"end\n")
    told = report.info()["windows"]
    window, start = told["first"][0], report.info()["session"]["start_ns"]
    begin, end = (window[key] - start for key in ("start_ns", "end_ns"))
    # A busy machine may open and close the window later, by much; 0.5 and 2 of another unit would be more. A writer that gets no CPU for 2 s would open none.
    tap.ok(process.returncode == 0 and told["count"] == 1 and 0.499e9 <= begin < 30e9 and end - begin < 30e9 and 2.499e9 <= end, "--delay 0.5 --duration 2: recorded from 0.5 s on, to 2.5 s", (told, start))
    sleeps = [tuple(map(int, line.split())) for line in out.splitlines()]
    inside = [1 for began, ended in sleeps if window["start_ns"] + 1e6 < began and ended < window["end_ns"] - 1e6]
    touched = [1 for began, ended in sleeps if window["start_ns"] - 1e6 < ended and began < window["end_ns"] + 1e6]
    held = sum(e["function"] in ("clock_nanosleep", "select", "nanosleep") for e in report.events("--kind", "osrt_call"))
    tap.ok(len(inside) <= held <= len(touched) < len(sleeps), "the calls of that time, and no others", (len(inside), held, len(touched), len(sleeps)))
    place = folder()
    result = run_here("r", place, ("sleep", "600"), more=("--duration", "0.3", "--kill", "sigterm"))
    tap.ok(result.status == -15 and not result.hung, "--duration with --kill sigterm ends the program", f"{result.status} {result.seconds}")
    place = folder()
    result = run_here("r", place, ("sh", "-c", "sleep 0.6; exit 5"), more=("--duration", "0.2", "--kill", "none"))
    tap.ok(result.status == 5, "--kill none lets it go on", result)


def run_options_reach_the_library():
    place = folder()
    result = run_here("r", place, (app("small_stack"),), more=("--osrt-threshold", "0", "-e", "APP_X=1,APP_Y=2", "--compress", "zstd"))
    report = Report(os.path.join(place, "r.rep"))
    tap.ok(result.status == 0 and report.total("pread", "recorded") == 550, "--osrt-threshold 0 and --compress zstd", f"{result.err!r}")
    result = run_here("e", place, ("sh", "-c", "echo $APP_X$APP_Y"), more=("-e", "APP_X=1,APP_Y=2"))
    tap.ok(result.out == b"12\n", "--env-var", result)
    result = run_here("t", place, (app("small_stack"),), more=("-t", "none"))
    tap.ok(result.status == 0 and (not os.path.exists(os.path.join(place, "t.rep")) or Report(os.path.join(place, "t.rep")).total("pread") == 0), "-t none records nothing", result)


def numbers_that_are_cut_are_told():
    place, spool = folder(), spool_folder()
    path = os.path.join(place, "r.rep")
    most = {"LIBTRACE_OSRT_BACKTRACE_DEPTH": 128, "LIBTRACE_MEMORY": 1024, "LIBTRACE_CUDA_BUFFERS": 256, "LIBTRACE_FLUSH_INTERVAL": 1000000}
    run(["/bin/true"], env=traced_env(path, spool, **{name: 2 * number for name, number in most.items()}))
    wait_spool_gone(spool)
    told = sorted(d["text"] for d in Report(path).info()["diagnostics"])
    tap.ok(told == sorted(f"{name} exceeds {number}; using {number}" for name, number in most.items()), "a number beyond its limit is reported", told)
    run(["/bin/true"], env=traced_env(path, spool, LIBTRACE_FORCE_OVERWRITE=1, **most))
    wait_spool_gone(spool)
    tap.ok(not Report(path).info()["diagnostics"], "the limits themselves are not cut", Report(path).info()["diagnostics"])
    result = run_here("m", place, ("true",), more=("--memory", "1025"))
    tap.ok(result.status == 2 and b"invalid argument '1025' for --memory: expected an unsigned integer, 1 to 1024; see 'trace help run'" in result.err, "as an option it is refused", result)
    result = run_here("m", place, ("true",), more=("--memory", "0"))
    tap.ok(result.status == 2 and b"invalid argument '0' for --memory" in result.err and result.err.count(b"\n") == 1, "so is no memory", result)
    result = run_here("m", place, ("true",), LIBTRACE_TRACE="osrt,foo")
    tap.ok(result.status == 2 and b"invalid value 'osrt,foo' of LIBTRACE_TRACE: expected a list of: " in result.err and result.err.count(b"\n") == 1 and not os.path.exists(os.path.join(place, "m.rep")),
           "so is an unknown source in LIBTRACE_TRACE", result)
    run(["/bin/true"], env=traced_env(path, spool, LIBTRACE_FORCE_OVERWRITE=1, LIBTRACE_TRACE="osrt,foo"))
    wait_spool_gone(spool)
    said = Report(path).info()
    tap.ok("trace=cuda,nvtx,osrt" in said["session"]["options"] and "LIBTRACE_TRACE has an invalid value; using its default" in str(said), "the report has the sources that were recorded, and says why", said)


# ---- trees ----

def one_report_per_tree():
    place, spool = folder(), spool_folder()
    path = os.path.join(place, "r.rep")
    result = run(["sh", "-c", f"{app('forks')} all >/dev/null; (sh -c 'sleep 0.3; /bin/true' &) ; exit 2"], env=traced_env(path, spool))
    tap.ok(result.status == 2 and wait_spool_gone(spool), "a tree with a straggler ends", leftovers(spool))
    report = Report(path)
    tap.ok(os.listdir(place) == ["r.rep"] and report.check().status == 0, "a process tree has one report", os.listdir(place))
    tap.ok(sum(program_of(p) == "true" for p in report.processes()) == 1, "the report has the child of a process that outlived the program", [program_of(p) for p in report.processes()])


def trees_of(path):
    """Return the folders of trees in /dev/shm whose control page names this report: other tests may have trees there, too."""
    found = []
    for name in os.listdir("/dev/shm"):
        try:
            with open(os.path.join("/dev/shm", name, "control"), "rb") as file:
                found += [name] if path.encode() in file.read() else []
        except OSError:
            pass
    return found


def nothing_left_in_shared_memory():
    path = os.path.join(folder(), "r.rep")
    env = traced_env(path, "")
    del env["LIBTRACE_SPOOL_DIR"]
    with subprocess.Popen(["cat"], env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        tap.ok(wait_until(lambda: len(trees_of(path)) == 1), "a tree is in /dev/shm while its program runs", os.listdir("/dev/shm"))
        process.stdin.close()
        process.wait()
    wait_until(lambda: not trees_of(path))
    run([app("forks"), "all"], env=dict(env, LIBTRACE_FORCE_OVERWRITE="true"))
    held = wait_until(lambda: not trees_of(path))
    tap.ok(held and Report(path).check().status == 0, "nothing is left in /dev/shm after a clean end", trees_of(path))


def tracing_inside_tracing():
    place = folder()
    result = run_here("outer", place, ("sh", "-c", '"$0" run -o inner -- "$1"; exit $?', TRACE, app("small_stack")), more=("--osrt-threshold", "0"))
    inner, outer = (Report(os.path.join(place, name)) for name in ("inner.rep", "outer.rep"))
    tap.ok(result.status == 0 and inner.exists() and outer.exists(), "trace run inside trace run", f"{result} {os.listdir(place)}")
    tap.ok(inner.exists() and any(program_of(p) == "small_stack" for p in inner.processes()), "the inner report has the program")


def library_cannot_be_fooled():
    """Check that names of trees and libraries that do not exist, or belong to another user, have no effect."""
    plain = run([app("forks"), "all"])
    for tree in ("/nonexistent/tree", "/tmp", "/dev/null", "relative", "x" * 3000, "/proc/self"):
        place, spool = folder(), spool_folder()
        traced = run([app("forks"), "all"], env=traced_env(os.path.join(place, "r.rep"), spool, LIBTRACE_TREE=tree))
        tap.ok((plain.status, plain.out, plain.err) == (traced.status, traced.out, traced.err), f"LIBTRACE_TREE={tree[:20]}: the program is unchanged", f"{traced}")
        wait_until(lambda s=spool: not os.listdir(s), 5)
    for name, value in (("LIBTRACE_OSRT_THRESHOLD", "abc"), ("LIBTRACE_MEMORY", "-1"), ("LIBTRACE_MEMORY", "0"), ("LIBTRACE_DELAY", "99999999999999999999"), ("LIBTRACE_MEMORY", "999999999"),
                        ("LIBTRACE_FLUSH_INTERVAL", "0"), ("LIBTRACE_EXIT_WAIT", "0"), ("LIBTRACE_TRACE", "nonsense"), ("LIBTRACE_COMPRESS", "nonsense")):
        place, spool = folder(), spool_folder()
        traced = run([app("forks"), "all"], env=traced_env(os.path.join(place, "r.rep"), spool, **{"threshold" if name == "LIBTRACE_OSRT_THRESHOLD" else name: value}))
        tap.ok((plain.status, plain.out, plain.err) == (traced.status, traced.out, traced.err), f"{name}={value}: the program is unchanged", f"{traced}")
        wait_until(lambda s=spool: not os.listdir(s), 5)


def library_folder_can_be_moved():
    """Check that the library's folder works when it is copied and named by a relative path, also after the program has changed its directory."""
    place, spool = folder(), spool_folder()
    shutil.copytree(os.path.dirname(LIBRARY), os.path.join(place, "moved"))
    path = os.path.join(place, "r.rep")
    env = dict(traced_env(path, spool), LD_PRELOAD="./moved/libtrace.so")
    result = run(["sh", "-c", f"cd /; {app('small_stack')} >/dev/null; {app('forks')} fork"], env=env, cwd=place)
    wait_spool_gone(spool)
    tap.ok(result.status == 0 and Report(path).check().status == 0, "moved library, relative path: the report is sound", f"{result}")
    report = Report(path)
    if report.exists():
        tap.ok(report.total("pread") == 0 or report.total("pread") == 550, "either a child is traced whole or not at all", report.total("pread"))
    path = os.path.join(place, "absolute.rep")
    env = dict(traced_env(path, spool), LD_PRELOAD=os.path.join(place, "moved/libtrace.so"))
    result = run([app("small_stack")], env=env)
    wait_spool_gone(spool)
    tap.ok(result.status == 0 and Report(path).total("pread") == 550, "moved library, absolute path: all there", f"{result}")


def shell_wrapper():
    """Check that scripts/libtrace-run works if only the library is installed."""
    wrapper = os.path.join(SRC, "scripts/libtrace-run")
    with open(os.path.join(SRC, "reader/cli/base/options.def"), encoding="utf-8") as file:
        rows = [row for row in file.read().split("\nOPTION(") if row.startswith("run, ")]
    options = [(re.search(r'"([a-z-]+)"', row)[1], *variable) for row in rows if (variable := re.findall(r'"(LIBTRACE_\w+)"', row))]
    with open(wrapper, encoding="utf-8") as file:
        text = file.read()
    missing = [name for name, variable in options if f'--{name}) export {variable}="$2"' not in text or f"--{name} " not in text]
    tap.ok(len(options) > 25 and not missing, "libtrace-run: the options of trace run that have a variable", (len(options), missing))
    place, spool = folder(), spool_folder()
    env = clean_env(LIBTRACE_HOME=os.path.dirname(LIBRARY), LIBTRACE_SPOOL_DIR=spool)
    result = run([wrapper, "-o", os.path.join(place, "r.rep"), "--osrt-threshold", "0", "--", "sh", "-c", f"{app('small_stack')} >/dev/null; exit 7"], env=env, cwd=place)
    wait_spool_gone(spool)
    report = Report(os.path.join(place, "r.rep"))
    tap.ok(result.status == 7 and not result.out and report.exists() and report.check().status == 0, "libtrace-run: status and report", f"{result}")
    tap.ok(report.exists() and report.total("pread") == 550, "libtrace-run: all calls are there")
    result = run([wrapper, "--", "/nonexistent/program"], env=env, cwd=place)
    tap.ok(result.status == 127, "libtrace-run: a program that is not there: 127", f"{result}")
    taken = os.path.join(place, "taken.rep")
    with open(taken, "w", encoding="ascii"):
        pass
    for argv, word in ((["-o", taken[:-4]], "exists"), (["-o", os.path.join(place, "none", "x")], "its folder does not exist"), (["--home", place], "LIBTRACE_HOME")):
        result = run([wrapper, *argv, "true"], env=env, cwd=place)
        tap.ok(result.status == 2 and word.encode() in result.err, f"libtrace-run {argv[0]}: says before it runs anything that it cannot: {word}", f"{result}")


def reading_while_it_grows():
    place, spool = folder(), spool_folder()
    path = os.path.join(place, "r.rep")
    books = os.path.join(place, "books")
    process = subprocess.Popen([app("counter_workload"), books, "2", "return", "told"], env=traced_env(path, spool, LIBTRACE_FLUSH_INTERVAL=50), stdin=subprocess.DEVNULL)
    wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 100000)
    result = trace("check", "--no-wait", path)
    tap.ok(result.status == 0, "a report that is being written can be checked", f"{result}")
    result = trace("info", "--no-wait", path)
    tap.ok(result.status == 0 and f"still being written: the program is still running, PID {process.pid}\n".encode() in result.out, "and read: it says so, and names the program", result)
    cut = shutil.copy(path, os.path.join(place, "cut.rep"))
    Books.tell_end(books)
    process.wait()
    wait_spool_gone(spool)
    tap.ok(Report(path).check().status == 0, "and is sound in the end")
    for command in ("check", "info"):
        result = trace(command, cut)
        tap.ok(result.status == (command == "check") and b"did not finish" in result.out + result.err, f"trace {command} of a report that nobody finishes says so", result)
    for command in (("stats",), ("dump",), ("export", "-o", "-"), ("export", "-t", "folded", "-o", "-"), ("export", "-t", "sqlite", "-o", cut + ".sqlite")):
        result = trace(*command, cut)
        tap.ok(result.status == 0 and result.err.count(b"is truncated") == 1, f"trace {' '.join(command[:3])} of it: a warning", result.err)
    with open(cut, "rb") as file:
        start = file.read(500)
    with open(cut, "wb") as file:
        file.write(start)
    for command in (("export", "-t", "perfetto", "-o", "-"), ("export", "-t", "folded", "-o", "-"), ("what-if", "call read x0.5"), ("why",)):
        result = trace(command[0], cut, *command[1:])
        tap.ok(result.err.count(b"is truncated") == 1, f"trace {' '.join(command[:3])} of its first bytes: they are truncated", result)
    tap.ok(b"is truncated" not in trace("stats", path).err, "and none when it was finished")


# ---- the commands ----

def several_files():
    """Check that `trace check`, `info` and `stats` take several files and return the highest status."""
    place = folder()
    for name in ("a", "b"):
        run_here(name, place, ("sh", "-c", "sleep 0.01"))
    with open(os.path.join(place, "b.rep"), "rb") as file:
        whole = file.read()
    with open(os.path.join(place, "torn.rep"), "wb") as file:
        file.write(whole[:-10])
    result = trace("check", "a.rep", "b.rep", cwd=place)
    tap.ok(result.status == 0 and result.out.count(b"a.rep") >= 1 and result.out.count(b"b.rep") >= 1, "trace check of two files", result)
    result = trace("check", "a.rep", "missing.rep", "b.rep", cwd=place)
    tap.ok(result.status == 2 and b"missing.rep" in result.err and b"b.rep" in result.out, "trace check: a file that is not there stops no other", result)
    for command in ("info", "stats"):
        result = trace(command, "a.rep", "b.rep", cwd=place)
        tap.ok(result.status == 0 and b"a.rep and 1 more" in result.out and b"each began after the one before had ended" in result.err,
               f"trace {command} of two files: one answer for both, with a note, since they are two runs", result)
        result = trace(command, "a.rep", "missing.rep", "b.rep", cwd=place)
        tap.ok(result.status == 2 and b"missing.rep" in result.err and not result.out, f"trace {command}: no answer for all if a file is not there", result)
    result = trace("check", "torn.rep", "a.rep", cwd=place)
    tap.ok(result.status == 1 and b"a.rep" in result.out, "trace check: one damaged, one sound: 1", result)
    for name in ("a", "b"):
        trace("export", "-t", "sqlite", "-o", f"{name}.sqlite", f"{name}.rep", cwd=place)
    result = trace("stats", "--format", "csv", "a.sqlite", "b.sqlite", cwd=place)
    tap.ok(result.out.startswith(b"a.sqlite\n") and b"\n\nb.sqlite\n" in result.out, "trace stats --format csv of two databases: a heading for each", result)
    tap.ok(trace("check").status == 2, "trace check without a file ends with status 2")


def hints():
    """Check that hints for the user are printed in one line on standard error."""
    place = folder()
    run_here("r", place, (app("small_stack"),), more=("--osrt-threshold", "1000000000"))
    result = trace("stats", "r.rep", cwd=place)
    tap.ok(result.status == 0 and b"osrt_totals" in result.err, "stats: the short calls are elsewhere", result)
    tap.ok(b"osrt_totals" not in trace("stats", "-r", "osrt_totals", "r.rep", cwd=place).err, "unless they were asked for")
    run_here("r", place, (app("small_stack"),), more=("--osrt-threshold", "0", "-f", "true"))
    tap.ok(not trace("stats", "r.rep", cwd=place).err, "or there are few")
    for arguments, wanted in ((("--process", "4194303"), b"4194303"), (("--name", "no_such_*"), b"no_such_*"), (("--name", "pread"), b""), (("--name", "pread", "--kind", "gap"), b"")):
        result = trace("dump", *arguments, "r.rep", cwd=place)
        tap.ok(result.status == 0 and (wanted in result.err if wanted else not result.err), f"dump {' '.join(arguments)}: {'not there, it says' if wanted else 'nothing to say'}", result.err)


def completion():
    script = trace("help", "--completion", "bash").out.decode() + """
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _trace; echo "${COMPREPLY[*]}"; }
complete_words trace run --out
complete_words trace run -- --out
complete_words trace run -o x -- prog --out
"""
    result = run(["bash", "-c", script])
    tap.ok(result.out == b"--output\n\n\n", "completion: the options of trace, none behind --", result)


def quickstart():
    """Check that scripts/quickstart prints a summary and returns the status of the program."""
    place = folder()
    os.mkdir(os.path.join(place, "scripts"))
    shutil.copy(os.path.join(SRC, "scripts/quickstart"), os.path.join(place, "scripts/quickstart"))
    with open(os.path.join(place, "scripts/setup"), "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n")
    os.chmod(os.path.join(place, "scripts/setup"), 0o755)
    with open(os.path.join(place, "Makefile"), "w", encoding="ascii") as file:
        file.write("all:\n")
    os.mkdir(os.path.join(place, "build"))
    os.symlink(os.path.dirname(TRACE), os.path.join(place, "build/bin"))
    os.symlink(os.path.dirname(os.path.dirname(LIBRARY)), os.path.join(place, "build/lib"))
    for argv, status in ((["sh", "-c", "sleep 0.01; exit 3"], 3), (["true"], 0), (["/nonexistent/program"], 127)):
        result = run([os.path.join(place, "scripts/quickstart"), *argv])
        tap.ok(result.status == status and (b"verdict" in result.out) == (status != 127), f"quickstart with {' '.join(argv)}: {status}", result)
    shown, unknown = (run([os.path.join(place, "scripts/quickstart"), option]) for option in ("--help", "--nothing"))
    tap.ok(shown.status == 0 and b"Usage: scripts/quickstart" in shown.out and b"verdict" not in shown.out, "quickstart --help: its usage, and nothing run", shown)
    tap.ok(unknown.status == 2 and unknown.err == b"quickstart: unknown option '--nothing'\n" and not unknown.out, "quickstart: an unknown option", unknown)


if __name__ == "__main__":
    if not os.path.exists(LIBRARY):
        print(f"Bail out! no {LIBRARY}")
        sys.exit(1)
    main(killed_children_have_their_signal, killers_are_told, working_directory_is_a_trap, counts_of_apps, counts_with_threshold, reasons_of_drops_are_told, storm_is_counted, forks_under_signals_are_counted, left_calls_harm_no_later_ones, calls_hold_results, times_make_sense, holder_is_named, every_lock_on_request, paths_on_request, arguments_that_are_gone,
         threads_and_names, process_tree, processes_are_described, exec_makes_a_new_process, ends_are_told, verdicts, exec_as_another_user_is_told,
         a_closed_gate_keeps_children_from_the_preload_too, children_not_followed,
         names_of_reports, refused_programs, recovered_by_name, recordings_that_cannot_be_recovered, recovered_elsewhere, full_disk, bad_names, nothing_is_overwritten, modes_of_files, run_passes_status, closed_standard_descriptors, run_forwards_signals, run_waits_for_the_tree,
         delay_and_duration, run_options_reach_the_library, numbers_that_are_cut_are_told, one_report_per_tree, nothing_left_in_shared_memory, tracing_inside_tracing,
         library_cannot_be_fooled, library_folder_can_be_moved, shell_wrapper, reading_while_it_grows,
         several_files, hints, completion, quickstart)
