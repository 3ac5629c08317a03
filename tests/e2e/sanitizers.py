#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that programs built with a sanitizer run traced as without the tracer: same output, same exit status, and the sanitizer finds the same fault.

tests/apps/sanitized.cpp is compiled with every sanitizer that is installed, with gcc and clang, shared and static runtimes. Each program
runs untraced, with LD_PRELOAD, as the child of a traced process and under `trace run`.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, SRC, app, clean_env, folder, main, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

FAULTS = {"address": ("overflow", "freed", "leak"), "thread": ("race",), "undefined": ("undefined",), "leak": ("leak",), "memory": ("uninitialized",)}
BUILDS = ([("g++", s) for s in ("address", "thread", "undefined", "leak", "address -static-libasan")]
          + [("clang++", s) for s in ("address", "thread", "undefined", "memory", "address -shared-libasan")])
PREADS = 200 * 4 + 20


def compile_with(compiler, flags, name="sanitized"):
    """Compile the program; return its path, or skip the test and return None."""
    path = os.path.join(folder(), name)
    try:
        done = subprocess.run([compiler, "-O1", "-g", "-pthread", *("-fsanitize=" + flags).split(), "-o", path, os.path.join(SRC, "tests/apps/sanitized.cpp")],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode == 0:
            return path
        why = done.stdout.decode(errors="replace").strip().splitlines()[-1:]
    except OSError as error:
        why = error
    tap.skip(f"{compiler} -fsanitize={flags}", f"not installed: {why}")
    return None


def runtime_folder(compiler):
    """Return the folder of clang's shared runtimes, which the loader does not search by default."""
    if not compiler.startswith("clang"):
        return None
    found = subprocess.run([compiler, "-print-file-name=libclang_rt.asan-x86_64.so"], stdout=subprocess.PIPE, check=False).stdout.decode().strip()
    return os.path.dirname(found) or None


def essence(text):
    """Return what a sanitizer prints, without addresses, pids and the frames of its stacks, which include ours."""
    lines = [re.sub(r"==\d+==|0x[0-9a-f]+|\(?pid=?\s*\d+\)?|tid=?\d+", "N", line) for line in text.decode(errors="replace").splitlines()]
    return sorted({line for line in lines if re.search(r"ERROR|WARNING|SUMMARY|runtime error", line)}) or lines


def same(plain, other):
    if (plain.status, plain.out, essence(plain.err)) == (other.status, other.out, essence(other.err)):
        return None
    return f"untraced {plain.status} {plain.out!r} {plain.err[-1500:]!r}\ntraced {other.status} {other.out!r} {other.err[-1500:]!r} {other.note}"


def traced_run(argv, **env):
    """Run a program with LD_PRELOAD; return its result and its report."""
    spool, path = spool_folder(), os.path.join(folder(), "r.rep")
    result = run(argv, env=dict(traced_env(path, spool), **env))
    wait_spool_gone(spool)
    return result, Report(path)


def reads_of(report, path):
    ids = {p["id"] for p in report.processes() if (p.get("executable") or "").endswith(os.path.basename(path))}
    return sum(c.all for (process, _, name), c in report.counts.items() if name == "read" and process in ids)


def is_traced(name, report, program):
    check = report.check()
    wrong = f"{check.out!r} {check.err!r}" if check.status else receipts_agree(report)
    held = 0 if wrong else reads_of(report, program)
    tap.ok(not wrong and held >= PREADS, f"{name}: traced", wrong or f"reads made {PREADS}, in the report {held}\n{report.info()['verdict']}")


def environment(compiler):
    place = runtime_folder(compiler)
    return {"LD_LIBRARY_PATH": place} if place else {}


def every_sanitizer():
    for compiler, flags in BUILDS:
        program, name = compile_with(compiler, flags), f"{compiler} -fsanitize={flags}"
        if not program:
            continue
        env = environment(compiler)
        plain = run([program], env=clean_env(**env))
        tap.ok(plain.status == 6, f"{name}: runs untraced", plain)
        for how, argv in (("preload", [program]), ("child", ["sh", "-c", f"{program}; exit $?"])):
            result, report = traced_run(argv, **env)
            tap.ok(not same(plain, result), f"{name}, {how}: as without the tracer", same(plain, result))
            is_traced(f"{name}, {how}", report, program)
        for fault in FAULTS[flags.split()[0]]:
            plain = run([program, fault], env=clean_env(**env))
            result, _ = traced_run([program, fault], **env)
            tap.ok(b"SUMMARY" in plain.err or b"runtime error" in plain.err, f"{name}: finds the fault {fault}", plain)
            tap.ok(not same(plain, result), f"{name}: finds it traced, too: {fault}", same(plain, result))


def options_of_the_user():
    """Check that options that the user has set are kept, even verify_asan_link_order=1, which refuses the preload."""
    program = compile_with("g++", "address")
    if not program:
        return
    result, report = traced_run([program, "overflow"], ASAN_OPTIONS="exitcode=55")
    tap.ok(result.status == 55, "ASAN_OPTIONS of the user are kept", result)
    is_traced("with ASAN_OPTIONS", report, program)
    result, _ = traced_run([program], ASAN_OPTIONS="verify_asan_link_order=1")
    tap.ok(b"does not come first" in result.err, "a program that defines __asan_default_options() refuses the preload", result)


def options_of_the_program():
    """Check a program with its own __asan_default_options(): as a child it is listed but not traced, unless ASAN_OPTIONS or `trace run` allow it."""
    program = compile_with("g++", "address -DOWN_OPTIONS", "own_options")
    if not program:
        return
    plain = run([program, "overflow"], env=clean_env())
    tap.ok(plain.status == 77, "a program with options of its own", plain)
    for how, argv in (("exec", ["env", program, "overflow"]), ("spawn", [sys.executable, "-c", "import os, sys\n"
                      "pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)\n"
                      "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))", program, "overflow"])):
        result, report = traced_run(argv)
        tap.ok(not same(plain, result), f"{how}: as without the tracer", same(plain, result))
        verdicts = [str(e["verdict"]) for e in report.events("--kind", "child") if (e.get("path") or "") == program]
        tap.ok(len(verdicts) == 1 and "__asan_default_options" in verdicts[0], f"{how}: listed with the reason", verdicts)
    result, report = traced_run(["env", program], ASAN_OPTIONS="verify_asan_link_order=0")
    tap.ok(result.status == 6, "such a program runs with ASAN_OPTIONS=verify_asan_link_order=0", result)
    is_traced("such a program runs with ASAN_OPTIONS=verify_asan_link_order=0", report, program)
    path = os.path.join(folder(), "r.rep")
    result = trace("run", "-o", path, "--osrt-threshold", "0", "--", program, env=clean_env())
    tap.ok(result.status == 6, "such a program runs under trace run", result)
    is_traced("trace run", Report(path), program)


if __name__ == "__main__":
    assert os.path.exists(app("sanitized"))
    main(every_sanitizer, options_of_the_user, options_of_the_program)
