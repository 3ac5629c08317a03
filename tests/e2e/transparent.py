#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 3000
"""Check that the tracer is harmless: real and hostile programs run untraced and traced; output, exit status and produced files are equal, and nothing hangs.

Cases are the files of tests/e2e/programs (see its README), the programs of tests/apps in all their modes, and these with another
allocator preloaded before and after the tracer. Each is repeated REPEAT times (3; 50 under TORTURE) with other options each time. Arguments
choose cases by words in their names; arguments NAME=VALUE are options of the tracer in all runs, such as LIBTRACE_SAMPLE=process-tree.
"""
import fnmatch
import hashlib
import os
import re
import shutil
import socket
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import HANG_S, LIBRARY, Report, SRC, TORTURE, app, clean_env, folder, leftovers, receipts_agree, run, spool_folder, tap, traced_env, wait_spool_gone  # noqa: E402

REPEAT = int(os.environ.get("REPEAT", 50 if TORTURE else 3))
PROGRAMS = os.path.join(SRC, "tests/e2e/programs")
APPS = os.path.dirname(app("x"))
OPTIONS = (dict(threshold=None), dict(threshold=0), dict(threshold=0, LIBTRACE_OSRT_LOCKS="all", LIBTRACE_OSRT_FILE_ACCESS="1", LIBTRACE_COMPRESS="zstd",
                                                         LIBTRACE_OSRT_BACKTRACE_THRESHOLD="0", LIBTRACE_SAMPLE="process-tree",
                                                         LIBTRACE_SAMPLING_FREQUENCY="1000"))
FIXED = dict(word.split("=", 1) for word in sys.argv[1:] if word.startswith("LIBTRACE_"))  # options of all runs
INTERPRETERS = {".sh": ["bash"], ".py": [sys.executable], ".js": ["node"], ".java": ["java"], ".pl": ["perl"]}
ALLOCATORS = ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2")
FORKS = "fork vfork _Fork clone spawn spawnp system popen daemon double handler atfork thread all".split()
EXITS = "return exit _exit _Exit quick_exit abort abort_caught segv kill term pthread_exit exec thread_exit raw handler_exit last_thread".split()
MODES = {"forks": FORKS, "exits": EXITS, "memory_limit": ["as", "lock", "data"], "seccomp_filter": ["filter", "strict"], "many_calls": ["100000 4"],
         "stepped": ["fork pread 0 7"], "stepped_stacks": ["first 0 97", "second 3 97"],  # each instruction in turn takes minutes
         "sampled": ["signals", "urgent", "urgent_fd", "processes", "root", "eintr 2000"],
         "sample_hard": ["short", "exec", "reset", "least", "waitall", "fdall", "raw", "suspend"],
         "accounted": ["threads 300", "processes 200", "stopped 200", "raw 200"]}
# Files that are not programs, and programs that print addresses, or the levels that NVTX only counts for a tool.
NOT_ALONE = ("counter_workload", "static_child", "musl_child", "nvtx_memory", "nvtx_chained", "refuse")


class Case:
    def __init__(self, name, argv, preload=None, needs=(), ignore=(), numbers=False, limit=HANG_S):
        self.name, self.argv, self.preload = name, argv, preload
        self.needs, self.ignore, self.numbers, self.limit = needs, ignore, numbers, limit

    def missing(self):
        return [name for name in self.needs if not shutil.which(name, path=path())]


def path():
    return os.path.dirname(sys.executable) + ":" + os.environ.get("PATH", "/usr/bin:/bin")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def case_of_file(name):
    with open(os.path.join(PROGRAMS, name), encoding="utf-8") as file:
        head = file.read(2000)

    def line(key):
        found = re.search(rf"^(?:#|//) {key}: (.*)$", head, re.MULTILINE)
        return found.group(1).split() if found else []
    base, suffix = os.path.splitext(name)
    interpreter = INTERPRETERS[suffix]
    needs = line("needs") + [i for i in interpreter if not os.path.isabs(i)]
    return Case(base, interpreter + [os.path.join(PROGRAMS, name)], needs=needs, ignore=line("ignore"), numbers=line("numbers") == ["no"],
                limit=int((line("limit") or [HANG_S])[0]))


def app_cases():
    for name in sorted(os.listdir(APPS)):
        if "." in name or name in NOT_ALONE:
            continue
        for mode in MODES.get(name, [""]):
            yield Case(f"{name} {mode}".strip(), [app(name), *mode.split()], ignore=[".cache/pocl/*"])  # PoCL's names and keys are random


def find_library(name):
    for place in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu", "/usr/lib"):
        if os.path.exists(os.path.join(place, name)):
            return os.path.join(place, name)
    return None


def allocator_cases():
    programs = [("python_threads", [sys.executable, os.path.join(PROGRAMS, "python_threads.py")]), ("thread_churn", [app("thread_churn")]),
                ("forks all", [app("forks"), "all"]), ("fork_storm", [app("fork_storm")]), ("cxx_throw", [app("cxx_throw")])]
    for allocator in ALLOCATORS:
        library = find_library(allocator)
        for order, preload in (("before us", [library, "@"]), ("after us", ["@", library])):
            for name, argv in programs:
                yield Case(f"{allocator.split('.')[0]} {order}: {name}", argv, preload=preload, needs=() if library else (allocator,))


def interposer_cases():
    """Return the cases in which a library that is preloaded after the tracer must get the calls that it gets without the tracer."""
    for order, preload in (("before us", [app("libcount_cond.so"), "@"]), ("after us", ["@", app("libcount_cond.so")])):
        yield Case(f"interposer {order}: sanitized", [app("sanitized")], preload=preload)


def files_of(base, ignore):
    """Return path, mode and content of all files that a program leaves."""
    found = {}
    for parent, _, names in os.walk(base):
        for name in names:
            full = os.path.join(parent, name)
            relative = os.path.relpath(full, base)
            if any(fnmatch.fnmatch(relative, pattern) for pattern in ignore):
                continue
            info = os.lstat(full)
            content = b""
            if stat.S_ISREG(info.st_mode):
                with open(full, "rb") as file:
                    content = file.read()
            found[relative] = (stat.filemode(info.st_mode), len(content), hashlib.sha256(content).hexdigest())
    return found


def outcome(case, place, env):
    """Run the case in an empty folder that has the same name every time."""
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place, 0o755)
    env.update(PATH=path(), HOME=place, PROGRAMS=PROGRAMS, APPS=APPS, PORT=str(free_port()), PYTHONDONTWRITEBYTECODE="1")
    for name in ("RUSTUP_HOME", "CARGO_HOME"):
        env[name] = os.environ.get(name, os.path.expanduser("~/." + name.split("_", maxsplit=1)[0].lower()))
    result = run(case.argv, env=env, cwd=place, limit=case.limit)
    texts = [text.replace(env["PORT"].encode(), b"PORT") for text in (result.out, result.err)]
    if case.numbers:
        texts = [re.sub(rb"\d+", b"N", text) for text in texts]
    return result, (result.status, texts[0], texts[1], files_of(place, case.ignore))


def differences(plain, traced):
    lines = []
    for name, a, b in zip(("status", "stdout", "stderr"), plain, traced):
        if a == b:
            continue
        if name == "status":
            lines.append(f"status: untraced {a}, traced {b}")
            continue
        a, b = a.decode(errors="replace").splitlines(), b.decode(errors="replace").splitlines()
        lines += [f"{name} untraced: {line}" for line in a if line not in b][:6] + [f"{name} traced: {line}" for line in b if line not in a][:6]
        if sorted(a) == sorted(b):
            lines.append(f"{name}: other order")
    for name in sorted(set(plain[3]) | set(traced[3])):
        if plain[3].get(name) != traced[3].get(name):
            lines.append(f"file {name}: untraced {plain[3].get(name)}, traced {traced[3].get(name)}")
    return lines


def untraced_env(case):
    libraries = [name for name in case.preload or () if name != "@"]
    return clean_env(**({"LD_PRELOAD": ":".join(libraries)} if libraries else {}))


def one_traced_run(case, place, number, known, options=None, look=None):
    """Return the differences and the defects of the report, which `look` may examine."""
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "traced.rep"))
    options = {**(options or OPTIONS[number % len(OPTIONS)]), **FIXED}
    env = traced_env(report.path, spool, preload=case.preload or (), **options)
    if options.get("threshold", 0) is None:
        env.pop("LIBTRACE_OSRT_THRESHOLD", None)
    result, got = outcome(case, place, env)
    if result.hung:
        return [f"run {number + 1} {options}: HANGS after {case.limit} s", result.note], []
    while got not in known and len(known) < 4:  # the result may vary without the tracer, too
        known.append(outcome(case, place, untraced_env(case))[1])
    wrong = [] if got in known else [f"run {number + 1} {options}:", *differences(known[0], got)]
    sound = []
    if not wait_spool_gone(spool):
        sound.append(f"run {number + 1}: the report is never finished: {leftovers(spool)}")
    elif not report.exists():
        sound.append(f"run {number + 1}: no report")
    else:
        check = report.check()
        if check.status != 0:
            sound.append(f"run {number + 1}: trace check: {check.status} {(check.out + check.err).decode(errors='replace')[:1000]}")
        else:
            sound += (receipts_agree(report) or "").splitlines()
            if look:
                look(report)
    for path_ in (work, spool):
        shutil.rmtree(path_, ignore_errors=True)
    return wrong, sound


def run_case(case):
    missing = case.missing()
    if missing:
        tap.skip(case.name, f"not installed: {' '.join(missing)}")
        return
    place = os.path.join(folder(), "work")
    plain, first = outcome(case, place, untraced_env(case))
    if plain.hung or (case.name in ("python_threads",) and plain.status != 0):
        tap.ok(False, f"{case.name}: works untraced", plain.note + plain.err.decode(errors="replace"))
        return
    known, wrong, sound = [first], [], []
    for number in range(REPEAT):
        differs, unsound = one_traced_run(case, place, number, known)
        wrong += differs
        sound += unsound
    tap.ok(not wrong, f"{case.name}: traced {REPEAT} times, the same as without the tracer", "\n".join(wrong))
    if sound:
        tap.ok(False, f"{case.name}: reports are sound", "\n".join(sound))


def program_cases():
    return [case_of_file(name) for name in sorted(os.listdir(PROGRAMS)) if os.path.splitext(name)[1] in INTERPRETERS]


def main():
    cases = [*program_cases(), *app_cases(), *allocator_cases(), *interposer_cases()]
    words = [word for word in sys.argv[1:] if not word.startswith("LIBTRACE_")]
    if not os.path.exists(LIBRARY):
        print(f"Bail out! no {LIBRARY}")
        sys.exit(1)
    for case in cases:
        if not words or any(word in case.name for word in words):
            run_case(case)
    tap.finish()


if __name__ == "__main__":
    main()
