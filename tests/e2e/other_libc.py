# SPDX-License-Identifier: Apache-2.0
"""Trace programs of another C library than that of the build: an older glibc, and musl.

Programs of a distribution older than the library run as untraced, and the report has their calls. OLD_ROOT names a folder that
contains one, as `debootstrap --variant=minbase --include=python3,perl,redis-server,g++ bullseye DIR` creates it (glibc 2.31; needs root, as
this test does). The short test checks that libtrace.so requires no symbol version, since the loader would refuse the library for one that
is missing.
"""
import os
import shutil
import subprocess

from lib import LIBRARY, SRC, Report, app, clean_env, folder, main, run, tap, traced_env

ROOT = os.environ.get("OLD_ROOT")
PYTHON = "import subprocess, threading; [t.start() or t.join() for t in [threading.Thread(target=subprocess.run, args=(['ls', '/'],)) for _ in range(8)]]"
PROGRAMS = {
    "a program without threads or plugins": ["ls", "/usr"],
    "a shell with a pipe": ["sh", "-c", "ls / | wc -l; exit 3"],
    "threads that make processes": ["python3", "-c", PYTHON],
    "forks": ["perl", "-e", "for (1..5) { fork || exit(0); wait } print qq(done\\n)"],
    "an allocator of its own": ["redis-server", "--version"],
    "a compiler": ["gcc", "-O1", "-c", "-o", "/dev/null", "-I/src", "/src/tests/apps/forks.c"],
}
APPS = ("own_malloc.c", "thread_churn.cpp", "cancel.c", "exits.c", "signal_masks.c", "variadic.c", "thread_names.c")


def asks_for_no_version():
    done = subprocess.run(["readelf", "--version-info", "--wide", LIBRARY], capture_output=True, text=True, check=True)
    tap.ok("Version definition section" in done.stdout and "Version needs section" not in done.stdout,
           "libtrace.so needs no version of the C library", done.stdout[-2000:])


def musl():
    name = app("musl_child")
    if not os.path.exists(name):
        tap.skip("a program of musl", "there is no musl-gcc")
        return
    place = folder()
    plain, traced = run([name], clean_env()), run([name], traced_env(os.path.join(place, "r.rep"), place))
    tap.ok(plain[:3] == traced[:3] and not os.listdir(place), "a program of musl runs as untraced, and nothing is recorded", f"{plain}\n{traced}")


def in_root(argv, **env):
    return run(["chroot", ROOT, "env", "-i", "PATH=/usr/bin:/bin", "HOME=/", *(f"{name}={value}" for name, value in env.items()), *argv])


def same(name, argv, place):
    inside = place[len(ROOT.rstrip("/")):]
    report = Report(os.path.join(place, "r.rep"))
    plain = in_root(argv)
    traced = in_root(argv, LD_PRELOAD=inside + "/libtrace/libtrace.so", LIBTRACE_OUTPUT=inside + "/r.rep", LIBTRACE_FORCE_OVERWRITE="true", LIBTRACE_SPOOL_DIR=inside)
    tap.ok(plain[:3] == traced[:3] and not traced.hung, f"{name}: as untraced", f"{plain}\n{traced}")
    tap.ok(report.exists() and report.check().status == 0 and report.info()["processes"], f"{name}: the report is sound")


def older_distribution():
    if not ROOT or os.geteuid() != 0:
        tap.skip("programs of an older distribution", "OLD_ROOT names none, or this is not root")
        return
    place = folder(os.path.join(ROOT, "tmp"))
    shutil.copytree(os.path.dirname(LIBRARY), os.path.join(place, "libtrace"))
    for part in ("tests/apps", "common"):
        shutil.copytree(os.path.join(SRC, part), os.path.join(place, part))
    inside = place[len(ROOT.rstrip("/")):]
    for name, argv in PROGRAMS.items():
        same(name, [word.replace("/src/", inside + "/").replace("-I/src", "-I" + inside) for word in argv], place)
    for source in APPS:
        binary = os.path.join("/tmp", os.path.splitext(source)[0])
        built = in_root(["g++" if source.endswith("pp") else "gcc", "-O1", "-g", "-w", "-I" + inside, "-o", binary, f"{inside}/tests/apps/{source}",
                         "-lpthread", "-ldl", "-lrt"])
        if tap.ok(built.status == 0, f"{source} is built on the older distribution", built.err.decode()):
            same(source, [binary], place)


if __name__ == "__main__":
    main(asks_for_no_version, musl, older_distribution)
