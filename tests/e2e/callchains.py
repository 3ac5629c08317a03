#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Compare callchains of real programs with the chains that the programs print, with those of libunwind, and with those of gdb.

tests/apps/callchain.c prints the chains of its calls; they are compared with `trace dump`. TORTURE=1 compares far more chains.
"""
import collections
import json
import os
import re
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import transparent  # noqa: E402
from lib import LIBRARY, SRC, TORTURE, Report, app, folder, main, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

SOURCES = {}


class Traced:
    """A program run with callchains, and its calls in order."""

    def __init__(self, argv, chains=0, depth=128, env=None, **options):
        self.folder, self.spool = folder(), spool_folder()
        self.path = os.path.join(self.folder, "r.rep")
        if chains is not None:
            options["LIBTRACE_OSRT_BACKTRACE_THRESHOLD"] = chains
        if depth is not None:
            options["LIBTRACE_OSRT_BACKTRACE_DEPTH"] = depth
        self.result = run(argv, env=traced_env(self.path, self.spool, **options, **(env or {})), cwd=self.folder)
        self.text = self.result.out.decode(errors="replace")
        self.finished = wait_spool_gone(self.spool)
        self.report = Report(self.path)
        self._calls = None

    def wrong(self):
        if self.result.hung:
            return f"hangs\n{self.result.note}"
        if "FAIL" in self.text or self.result.status != 0:
            return f"status {self.result.status}\n{self.text}{self.result.err!r}"
        if not self.finished or not self.report.exists():
            return "no finished report"
        check = self.report.check()
        if check.status != 0:
            return f"trace check: {check.status} {check.out + check.err!r}"
        return receipts_agree(self.report)

    @property
    def calls(self):
        if self._calls is None:
            self._calls = self.report.events("--kind", "osrt_call")
        return self._calls

    def marked(self, mark):
        return [c for c in self.calls if c["function"] == "pread" and c["return_value"] == mark]

    def compared(self):
        return compared(self.report)


COMPARED = re.compile(r"callchains compared with libunwind: (\d+), different: (\d+), frames without a caller: (\d+), ended early by libunwind: \d+")


def compared(report):
    """Return the numbers of check mode, over all processes: chains compared with libunwind, chains that differ, frames that cannot be unwound."""
    sums = [0, 0, 0]
    for diagnostic in report.info()["diagnostics"]:
        found = COMPARED.fullmatch(diagnostic["text"])
        if found:
            sums = [a + int(b) for a, b in zip(sums, found.groups())]
    return sums


def traced_ok(name, argv, **options):
    traced = Traced(argv, **options)
    wrong = traced.wrong()
    tap.ok(not wrong, f"{name}: runs, report is sound", wrong)
    return traced if not wrong else None


# ---- chains that programs print ----

def names(call):
    """Return the functions of a chain, innermost first, without the parameters of C++."""
    return [re.sub(r"\(.*", "", frame["function"] or "?") for frame in call["callchain"]]


def is_outermost(frame):
    """Return whether a frame belongs to the C library and the loader outside of main() or a thread's function."""
    return os.path.basename(frame["module"] or "").startswith("libc.so") or frame["function"] == "_start"


def mismatch(call, wanted):
    """Return how a chain differs from the wanted names, or None if it does not."""
    pattern = "".join(r"(?:.*\n){0,9}?" if name == "*" else re.escape(name) + r"\n" for name in wanted.split())
    found = re.match(pattern, "".join(name + "\n" for name in names(call)))
    if not found:
        return f"wanted {wanted}, got {names(call)}"
    rest = call["callchain"][found.group().count("\n"):]
    if not 1 <= len(rest) <= 4 or not all(map(is_outermost, rest)):
        return f"behind {wanted}: {names(call)}"
    if call["callchain_method"] != "rules":
        return f"{wanted}: {call['callchain_method']}"
    return wrong_line(call["function"], call["callchain"])


def line_of(file, number):
    if file not in SOURCES:
        with open(file, encoding="utf-8") as text:
            SOURCES[file] = text.read().splitlines()
    return SOURCES[file][number - 1]


def wrong_line(function, chain):
    """Return what is wrong with the first line that does not call the function of the next inner frame, or None. Only frames in the tests' C files count."""
    for callee, frame in zip([function] + [f["function"] for f in chain], chain):
        file = os.path.join(SRC, frame["file"] or "")
        if not file.endswith(("callchain.c", "libchain_one.c")) or callee in ("__restore_rt", "raise", None) or not callee.isidentifier():
            continue
        if frame["function"] in ("spinning", "faults_at_once", "first_of_thread"):
            continue
        line = line_of(file, frame["line"])
        if not re.search(rf"\b{callee}\(|outer_of_plugin\(|not_yet_called\(|run\(\)|CHAIN_NAME\(inner\)\(", line) and not_by_kernel(chain, frame):
            return f"{frame['function']} calls {callee}, but {file}:{frame['line']} is {line!r}"
    return None


def not_by_kernel(chain, frame):
    """Return whether neither a signal nor the C library is between two frames: both are in the same file."""
    at = chain.index(frame)
    return at == 0 or chain[at - 1]["file"] == frame["file"]


def said(traced):
    return [(int(mark), wanted) for mark, wanted in re.findall(r"^chain (\d+): (.*)$", traced.text, re.MULTILINE)]


def hold(name, traced, least=None):
    """Compare every chain that the program prints with its calls."""
    promises = said(traced)
    tap.ok(len(promises) >= (least or 1), f"{name}: says its chains", traced.text)
    for mark, wanted in promises:
        calls = traced.marked(mark)
        wrong = [w for w in (mismatch(call, wanted) for call in calls) if w]
        tap.ok(calls and not wrong, f"{name}: {wanted} ({len(calls)} calls)", "\n".join(wrong) or "no such call")


MODES = {"callers": 3, "alloca": 2, "signal": 2, "altstack": 3, "threads": 4, "fork": 2, "exec": 1, "plugin": 2}


def known_callers():
    for program in ("callchain", "callchain_fp"):
        for mode, least in MODES.items():
            traced = traced_ok(f"{program} {mode}", [app(program), mode])
            if traced:
                hold(f"{program} {mode}", traced, least)


def known_callers_of_cxx():
    traced = traced_ok("callchain_cxx", [app("callchain_cxx")])
    if traced:
        hold("callchain_cxx", traced, 5)


def inlined_functions():
    traced = traced_ok("inlined", [app("callchain"), "callers"])
    if not traced:
        return
    frames = traced.marked(11)[0]["callchain"]
    flags = {f["function"]: f["inlined"] for f in frames}
    tap.ok(all(flags[n] for n in ("marked", "inner")) and not any(flags[n] for n in ("leaf", "middle", "outer", "main")), "inlined functions are marked, others not", flags)
    address = {f["function"]: f["address"] for f in frames}
    tap.ok(address["marked"] == address["leaf"] and address["inner"] == address["middle"] and len(set(address.values())) == len(frames) - 2,
           "inlined functions have the address of the function that contains them", address)


# ---- options ----

def with_chain(calls):
    return [c for c in calls if c["callchain"]]


def thresholds():
    argv = [app("callchain"), "threshold"]
    for value, limit in ((None, 80000), (1000000, 1000000)):
        traced = traced_ok(f"threshold {value}", argv, chains=value)
        if not traced:
            continue
        short = [c for c in with_chain(traced.calls) if c["duration_ns"] < limit * 0.99]
        long = [c for c in traced.calls if c["duration_ns"] > limit * 1.01 and not c["callchain"]]
        tap.ok(not short and not long, f"threshold {value or 'by default'}: from {limit} ns on, and nothing below", f"{short[:2]} {long[:2]}")
        slept = [c for c in traced.calls if "nanosleep" in c["function"]]
        tap.ok(len(with_chain(slept)) == 3 and all(mismatch(c, "mode_threshold main") is None for c in slept), f"threshold {value or 'by default'}: three sleeps have one",
               slept[:1])
        below = [c for c in traced.calls if c["duration_ns"] < limit * 0.99]
        tap.ok(len(below) >= 100, f"threshold {value or 'by default'}: and some are below", len(below))
    traced = traced_ok("threshold 0", argv, chains=0)
    if traced:
        tap.ok(len(traced.calls) > 200 and len(with_chain(traced.calls)) == len(traced.calls), "threshold 0: all calls have a callchain", len(with_chain(traced.calls)))
    traced = traced_ok("threshold 10 s", argv, chains=10**10)
    if traced:
        tap.ok(len(traced.calls) > 200 and not with_chain(traced.calls), "threshold 10 s: no call has a callchain", with_chain(traced.calls)[:1])


def depths():
    argv = [app("callchain"), "recursion"]
    traced = traced_ok("depth 128", argv)
    if traced:
        calls = traced.marked(14)
        sizes = [len({(i, f["address"]) for i, f in enumerate(c["callchain"]) if not f["inlined"]}) for c in calls]
        tap.ok(sizes == [128, 128, 128], "200 functions deep, depth 128: 128 frames", sizes)
        tap.ok(all(names(c) == ["marked", "leaf"] + ["down"] * 127 for c in calls), "a cut callchain has the innermost frames", [names(c) for c in calls[:1]])
        tap.ok(all("cut" in c["callchain_method"] for c in calls), "a cut callchain is flagged", [c["callchain_method"] for c in calls])
        tap.ok(all(mismatch(c, "marked leaf" + " down" * 6 + " mode_recursion main") is None for c in traced.marked(15)) and traced.marked(15), "a short callchain after a cut one is whole",
               [(names(c), c["callchain_method"]) for c in traced.marked(15)])
    for depth in (1, 2, 24, None):
        traced = traced_ok(f"depth {depth}", argv, depth=depth)
        if traced:
            wanted = depth or 64
            sizes = [len([f for f in c["callchain"] if not f["inlined"]]) for c in traced.marked(14)]
            tap.ok(sizes == [wanted] * 3 and all("cut" in c["callchain_method"] for c in traced.marked(14)), f"depth {depth or 'by default'}: {wanted} frames", sizes)
            events = [c for c in traced.report.events() if c.get("callchain")]
            cut = sum("cut" in c["callchain_method"] for c in events)
            receipts = [p["receipt"] for p in traced.report.info()["processes"]]
            found = [sum(r[name] for r in receipts) for name in ("callchains_cut", "callchains")]
            text = trace("info", traced.path).out.decode()
            tap.ok(found == [cut, len(events)] and cut >= 3 and f"{cut} of {len(events)} callchains cut" in text, f"  {cut} of {len(events)} callchains cut, says the receipt", found)
            tap.ok(f"{cut} of {len(events)}, at the outer end" in trace("report", traced.path).out.decode(), "  so does the text report")
    traced = traced_ok("depth 0", argv, depth=0)
    if traced:
        tap.ok(traced.marked(14) and not with_chain(traced.calls), "depth 0: no call has a callchain")


def methods():
    functions = lambda traced: collections.Counter(c["function"] for c in traced.calls)  # noqa: E731
    traced = traced_ok("none", [app("callchain"), "callers"], LIBTRACE_BACKTRACE="none")
    if traced:
        own = functions(traced)
        tap.ok(len(traced.calls) >= 3 and not with_chain(traced.calls) and not traced.report.events("--kind", "module_load"), "none: no chains, no modules")
    traced = traced_ok("fp", [app("callchain_fp"), "callers"], LIBTRACE_BACKTRACE="fp")
    if traced:
        for mark, wanted in said(traced):
            calls = traced.marked(mark)
            tap.ok(calls and all(names(c)[:len(wanted.split())] == wanted.split() and "frame" in c["callchain_method"] for c in calls), f"fp: {wanted}",
                   [(names(c), c["callchain_method"]) for c in calls])
    traced = traced_ok("fp without frame pointers", [app("callchain")], LIBTRACE_BACKTRACE="fp")
    if traced:
        tap.ok(len(traced.calls) > 100, "fp without frame pointers: runs", len(traced.calls))
    traced_ok("fp beside data that is unmapped", [app("stack_beside")], LIBTRACE_BACKTRACE="fp")
    for method in ("dwarf", "libunwind", "check"):
        traced = traced_ok(method, [app("callchain"), "callers"], LIBTRACE_BACKTRACE=method)
        if traced:
            hold(method, traced, 3)
            tap.ok(bool(traced.compared()[0]) == (method == "check"), f"{method}: compares only if configured", traced.compared())
            tap.ok(functions(traced) == own, f"{method}: no call but the program's own", f"{functions(traced)} {own}")


# ---- libraries that are loaded and unloaded ----

def plugins():
    traced = traced_ok("plugins", [app("callchain"), "plugin"], env={"APP_FACTS": "1"})
    if not traced:
        return
    tap.ok("facts: same place 1" in traced.text, "one plugin was loaded at the address of the other", traced.text)
    rows = traced.report.events()
    seen = collections.Counter((r["kind"], os.path.basename(r.get("path") or "")) for r in rows if r["kind"] == "module_load")
    for name in ("libchain_one.so", "libchain_two.so"):
        tap.ok(seen["module_load", name] == 2, f"{name}: a row for each time that it was opened", seen)
    begins = {r["begin"] for r in rows if r["kind"] == "module_load" and "libchain_" in r["path"]}
    gone = sum(r["kind"] == "module_unload" and r["begin"] in begins for r in rows)
    tap.ok(gone == 4, "and for each time that it was closed", gone)


def loader_is_held():
    """Check a thread that holds the loader's lock and waits for another thread, which makes calls with chains."""
    for method in ("dwarf", "check", "libunwind"):
        traced = traced_ok(f"loader held, {method}", [app("callchain"), "held"], LIBTRACE_BACKTRACE=method)
        if not traced:
            continue
        hold(f"loader held, {method}", traced, 2)
        deep = [traced.marked(mark) for mark in (61, 63)]
        tap.ok(all(len(calls) == 50 and all(names(c)[:-2].count("down") == i + 1 for i, c in enumerate(calls)) for calls in deep),
               f"loader held, {method}: all calls of the thread have theirs", [len(calls) for calls in deep])


def descriptors_are_replaced():
    """Check a program that replaces the descriptors of libunwind's pipe by its own."""
    for method in ("dwarf", "libunwind", "check"):
        traced = traced_ok(f"descriptors replaced, {method}", [app("callchain"), "descriptors"], LIBTRACE_BACKTRACE=method)
        if traced:
            hold(f"descriptors replaced, {method}", traced, 1)
            tap.ok(bool(traced.compared()[0]) == (method == "check") and len(traced.marked(82)) == 5, f"descriptors replaced, {method}: all calls are there", traced.compared())


# ---- system call filters that restrict the tracer ----

def restricted():
    for mode in ("filter", "strict"):
        argv = [app("seccomp_filter"), mode]
        plain, traced = run(argv), Traced(argv)
        reads = [c for c in traced.calls if c["function"] == "read"]
        tap.ok((plain.status, plain.out) == (traced.result.status, traced.result.out) and traced.report.check().status == 0, f"seccomp {mode}: as without the tracer", traced.result)
        tap.ok((len(reads) > 1000 or mode == "strict") and not with_chain(reads), f"seccomp {mode}: calls without chains", f"{len(reads)}, {len(with_chain(reads))} with")
        opened = [c for c in traced.calls if c["function"] in ("open", "open64")]
        tap.ok(len(opened) == len(with_chain(opened)) == 1, f"seccomp {mode}: the call before has one", opened)
        told = [int(d["text"].split()[0]) for d in traced.report.info()["diagnostics"] if "(seccomp)" in d["text"]]
        wanted = [len(traced.calls) - len(with_chain(traced.calls))] if mode == "filter" else []
        tap.ok(told == wanted, f"seccomp {mode}: the report says how many calls have none, and why", f"{told}, not {wanted}")


def vfork_children():
    """Check chains of vfork children, which run in their parent's memory and use its modules and nodes."""
    traced = traced_ok("vfork_child", [app("vfork_child")])
    if not traced:
        return
    processes = traced.report.info()["processes"]
    parent = next(p["id"] for p in processes if "vfork_child" in (p["executable"] or ""))
    calls = [c for c in traced.calls if c["function"] == "pread"]
    wanted = {True: "work run", False: "work one_child run"}
    wrong = [c for c in calls if not " ".join(names(c)).startswith(wanted[c["process"] == parent])]
    children = {c["process"] for c in calls if c["process"] != parent}
    tap.ok(len(calls) == 720 and len(children) == 60 and not wrong, "vfork children: their calls have chains of their own", [names(c) for c in wrong[:3]] or len(calls))
    left = [c for c in traced.calls if c["function"].startswith("exec") and c["flags"]]
    tap.ok(left and not with_chain(left), "an exec that did not return has none", left[:2])
    database = os.path.join(traced.folder, "r.sqlite")
    trace("export", "-t", "sqlite", "-o", database, traced.path)
    with sqlite3.connect(database) as db:
        found = db.execute("""SELECT count(DISTINCT a.rowid) FROM OSRT_API a JOIN StringIds n ON n.id = a.nameId AND n.value = 'pread'
            JOIN OSRT_CALLCHAINS c ON c.id = a.callchainId JOIN StringIds s ON s.id = c.symbol AND s.value = 'one_child'""").fetchone()
    tap.ok(found == (240,), "the database has them, too", found)


# ---- names stored in the report ----

def names_are_kept():
    place = folder()
    for name in ("callchain", "libchain_one.so", "libchain_two.so"):
        shutil.copy(app(name), place)
    program = os.path.join(place, "callchain")
    traced = traced_ok("copied program", [program, "plugin"])
    if not traced:
        return
    before = [c["callchain"] for c in traced.calls]
    result = trace("symbolize", traced.path)
    tap.ok(result.status == 0 and b" 0 not resolved," in result.out, "symbolize finds every name", result)
    os.rename(place, place + "-away")
    after = [c["callchain"] for c in traced.report.events("--kind", "osrt_call")]
    os.rename(place + "-away", place)
    tap.ok(before == after and len(before) >= 4, "the names are there when the programs are not", [(a, b) for a, b in zip(before, after) if a != b][:1])
    hold("after symbolize", traced, 2)


# ---- compared with gdb ----

def walked_by_gdb(argv, env):
    """Return the callers of each call of pread that gdb finds: by thread, in order."""
    output = os.path.join(folder(), "walked")
    commands = ["set debuginfod enabled off", "set startup-with-shell off", "set confirm off", "set print thread-events off", "set backtrace past-main on",
                "set backtrace past-entry on", "set breakpoint pending on", "set disable-randomization on", "handle SIGUSR1 nostop noprint pass",
                f"set $output = \"{output}\""] + [f"set environment {name} {value}" for name, value in env.items()]
    argv = ["gdb", "-nx", "-batch"] + [part for command in commands for part in ("-ex", command)] + ["-x", os.path.join(SRC, "tests/e2e/_walk_gdb.py"), "--args", *argv]
    result = run(argv, limit=3000)
    threads = collections.defaultdict(list)
    if os.path.exists(output):
        with open(output, encoding="ascii") as file:
            for line in file:
                tid, addresses = json.loads(line)
                threads[tid].append(addresses)
    return result, threads


def as_gdb_walks():
    if not shutil.which("gdb"):
        tap.skip("chains as gdb walks them", "no gdb")
        return
    place, spool = folder(), spool_folder()
    report = Report(os.path.join(place, "r.rep"))
    env = traced_env(report.path, spool, LIBTRACE_OSRT_BACKTRACE_THRESHOLD=0, LIBTRACE_OSRT_BACKTRACE_DEPTH=128, LIBTRACE_EXIT_WAIT=20000)
    result, threads = walked_by_gdb([app("many_paths"), str(2000 if TORTURE else 200), "2"], env)
    wait_spool_gone(spool)
    if not tap.ok(report.exists() and report.check().status == 0 and b"pass: paths" in result.out and len(threads) == 3, "many_paths under gdb", result):
        return
    compared, wrong, cut = 0, [], 0
    calls = collections.defaultdict(list)
    for event in report.events("--kind", "osrt_call", "--name", "pread", "--no-symbols"):
        calls[event["tid"]].append(event)
    row = next(e for e in report.events("--kind", "module_load") if e["path"] == LIBRARY)
    own = range(int(row["begin"], 16), int(row["end"], 16))
    for tid, walks in threads.items():
        if len(walks) != len(calls[tid]):
            wrong.append(f"thread {tid}: {len(walks)} calls seen by gdb, {len(calls[tid])} in the report")
        for walk, call in zip(walks, calls[tid]):
            ours = [int(frame["address"], 16) for frame in call["callchain"]]
            walk = [address for address in walk if address not in own]  # the wrapper of the function that sends the signal
            compared += 1
            cut += len(walk) > 128
            if ours != walk[:128]:
                wrong.append(f"gdb {list(map(hex, walk))}\n ours {list(map(hex, ours))} {call['callchain_method']}")
    longest = max((len(walk) for walks in threads.values() for walk in walks), default=0)
    tap.ok(compared >= 400 and not wrong, f"{compared} chains of up to {longest} frames as gdb walks them, {cut} cut; {len(wrong)} differ", "\n".join(wrong[:6]))


# ---- compared with libunwind ----

# Cases in which check mode is visible: libunwind calls the program's read(), leaves a pipe open, needs 15 KiB of stack, is slower than a timer of 0.1 ms.
NOT_CHECKED = ("own_read", "close_all", "exec_chain", "python_subprocess", "small_stack", "limits", "signal_forks", "longjmp_storm")
CHECKED_BY_DEFAULT = ("many_paths", "callchain", "callchain_cxx", "callchain_fp", "cxx_throw", "coroutines", "dlopen_storm", "atfork_first", "forks", "seccomp_filter",
                      "python_threads", "strace_run", "perl_all")
CHECKED = dict(threshold=0, LIBTRACE_OSRT_BACKTRACE_THRESHOLD="0", LIBTRACE_OSRT_BACKTRACE_DEPTH="128", LIBTRACE_BACKTRACE="check")


def one_checked(case):
    """Run a case of transparent.py in check mode. Return what was compared, or None if it cannot run."""
    if case.missing():
        return None
    sums, place = [0, 0, 0], os.path.join(folder(), "work")
    plain, first = transparent.outcome(case, place, transparent.untraced_env(case))
    if plain.hung:
        return None

    def look(report):
        sums[:] = compared(report)
    differs, unsound = transparent.one_traced_run(case, place, 0, [first], CHECKED, look)
    tap.ok(not differs and not unsound and not sums[1], f"check mode, {case.name}: as without the tracer; compared {sums[0]}, different {sums[1]}, frames without a way on {sums[2]}",
           "\n".join(differs + unsound))
    return sums


def as_libunwind_walks():
    """Compare chains with libunwind, in all programs of transparent.py under TORTURE, otherwise in a few with many frames."""
    cases = [case for case in [*transparent.program_cases(), *transparent.app_cases()]
             if not case.name.startswith(NOT_CHECKED) and (TORTURE or case.name.split()[0] in CHECKED_BY_DEFAULT)]
    total = [sum(column) for column in zip(*filter(None, map(one_checked, cases)))]
    tap.ok(total[0] >= 10000 and not total[1], f"check mode, {len(cases)} programs: compared {total[0]}, different {total[1]}, frames without a way on {total[2]}")


# ---- the vdso ----

def tree_is_full():
    traced = Traced([app("chains_full")], chains=0)
    wrong = traced.wrong()
    tap.ok(not wrong, "more than 2^20 callers: as without the tracer", wrong)
    info = traced.report.info()
    rows = json.loads(trace("stats", "-r", "osrt_sum", "-f", "json", traced.path).out)
    calls = sum(row["Num Calls"] for row in rows)
    kept = sum(process["receipt"]["callchains"] for process in info["processes"])
    noted = [int(d["text"].split()[0]) for d in info["diagnostics"] if "have no callchain, since the process has more than 1048576" in d["text"]]
    tap.ok(kept > 1 << 18 and noted == [calls - kept] and noted[0] > 0, "the report says how many calls have no callchain, and why", (calls, kept, noted))


def spool_is_full():
    traced = Traced([app("chains_full")], chains=0, LIBTRACE_MEMORY=4)
    wrong = traced.wrong()
    tap.ok(not wrong, "more callers than the spool has room for: as untraced", wrong)
    info = traced.report.info()
    calls = sum(row["Num Calls"] for row in json.loads(trace("stats", "-r", "osrt_sum", "-f", "json", traced.path).out))
    kept = sum(process["receipt"]["callchains"] for process in info["processes"])
    noted = [int(d["text"].split()[0]) for d in info["diagnostics"] if "have no callchain, since the spool had no room" in d["text"]]
    tap.ok(0 < kept < calls and noted == [calls - kept], "the report says how many calls have no callchain, and why", (calls, kept, noted, info["diagnostics"]))


def vdso():
    """Check that functions of the vdso have names if the report is read under the kernel under which it was recorded."""
    traced = traced_ok("vdso_frames", [app("vdso_frames")])
    if not traced or traced.text != "hit\n":
        tap.skip("a handler's chain leads through the vdso", "no signal interrupted it")
        return
    chains = [c["callchain"] for c in traced.calls if c["function"] == "nanosleep" and c["callchain"]]
    inside = [f for chain in chains for f in chain if (f["module"] or "").startswith("linux-vdso")]
    tap.ok(len(chains) == 1 and len(inside) == 1 and inside[0]["function"] and [f["function"] for f in chains[0][-5:-2]] == ["asks", "main", "__libc_start_call_main"],
           "a handler's chain leads through the vdso, whose function has a name", chains)


# ---- little stack ----

def little_stack():
    """Check that a handler whose stack has no room for a chain records none, and that nothing below its stack is written."""
    for method in ("dwarf", "fp", "libunwind"):
        argv = [app("small_stack")]
        plain, traced = run(argv), traced_ok(f"small_stack, {method}", argv, LIBTRACE_BACKTRACE=method)
        if not traced:
            continue
        calls = traced.marked(1)
        without = [c for c in calls if not c["callchain"]]
        tap.ok(plain.out == traced.result.out and len(calls) == 550 and 1 <= len(without) <= 50 and not any("handler" in names(c) for c in with_chain(calls)),
               f"small_stack, {method}: as without the tracer, no chain on the least signal stack, one elsewhere", f"{len(calls)} {len(without)} {traced.text}")


main(known_callers, known_callers_of_cxx, inlined_functions, thresholds, depths, methods, plugins, loader_is_held, descriptors_are_replaced, restricted, vfork_children, tree_is_full, spool_is_full, vdso, little_stack, names_are_kept,
     as_gdb_walks, as_libunwind_walks)
