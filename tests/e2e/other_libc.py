# SPDX-License-Identifier: Apache-2.0
"""Trace programs of another C library than that of the build: an older glibc, and musl; read reports on a system of musl.

Programs of a distribution older than the library run as without the tracer, and the report has their calls. OLD_ROOT names a folder that
contains one, as `debootstrap --variant=minbase --include=python3,perl,redis-server,g++ bullseye DIR` creates it (glibc 2.31; needs root, as
this test does). The short test checks that libtrace.so requires no symbol version, since the loader would refuse the library for one that
is missing.
"""
import json
import os
import shutil
import subprocess

from lib import LIBRARY, PRODUCTS, SRC, TRACE, Report, app, clean_env, folder, main, run, tap, traced_env

ROOT = os.environ.get("OLD_ROOT")
LOADER = "/lib/ld-musl-x86_64.so.1"
OTHER_LIBRARY = b"it is linked with another C library, which cannot load the tracer\n"
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
    tap.ok(plain[:3] == traced[:3] and not os.listdir(place), "a program of musl runs as without the tracer, and nothing is recorded", f"{plain}\n{traced}")
    script = os.path.join(place, "script")
    with open(script, "w", encoding="ascii") as file:
        file.write(f"#!{name}\n")
    os.chmod(script, 0o755)
    for program, why in ((name, OTHER_LIBRARY), (script, OTHER_LIBRARY), (app("static_child"), b"it is statically linked, so that no loader runs\n")):
        plain, told = run([program], clean_env()), run([TRACE, "run", "-o", "none.rep", "--", program], clean_env(), cwd=place)
        lines = told.err.splitlines(keepends=True)
        tap.ok(told.status == plain.status and told.out == plain.out and len(lines) == 1 and lines[0].endswith(why) and os.listdir(place) == ["script"],
               f"trace run of {os.path.basename(program)}: it ends as without the tracer, there is no report, and the message says why", f"{plain}\n{told}")


def system_of_musl():
    """Run the command on a system that has musl and no glibc, as Alpine: reports are read there, programs are not traced."""
    name = app("musl_child")
    if not os.path.exists(name) or not os.path.exists(LOADER):
        tap.skip("a system of musl", "there is no musl-gcc")
        return
    if not shutil.which("bwrap") or run(["bwrap", "--ro-bind", "/", "/", "true"]).status:
        tap.skip("a system of musl", "bwrap is missing, or not permitted here")
        return
    if b"INTERP" in run(["readelf", "-lW", TRACE]).out:
        tap.skip("a system of musl", "trace is not linked statically here")
        return
    root, place = folder(), folder()
    for part in ("lib", "bin", "opt", "proc", "dev", "srv", "tmp", "var/tmp"):
        os.makedirs(os.path.join(root, part))
    shutil.copy(LOADER, os.path.join(root, "lib"))
    shutil.copy(name, os.path.join(root, "bin"))
    system = ["bwrap", "--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--bind", place, "/srv", "--tmpfs", "/opt",
              "--ro-bind", os.path.join(PRODUCTS, "bin"), "/opt/bin", "--ro-bind", os.path.join(PRODUCTS, "lib"), "/opt/lib", "--chdir", "/srv",
              "--clearenv", "--setenv", "PATH", "/bin:/opt/bin"]
    run([TRACE, "run", "-o", "r.rep", "--osrt-threshold", "0", "--osrt-backtrace-threshold", "0", "--", "sh", "-c", "ls / | cat"], clean_env(), cwd=place)
    for words in (["info", "r.rep"], ["check", "r.rep"], ["stats", "r.rep"], ["analyze", "r.rep"], ["dump", "--json", "r.rep"], ["symbolize", "r.rep"],
                  ["query", "r.rep", "SELECT COUNT(*) FROM OSRT_API"], ["export", "-t", "sqlite", "-o", "r.sqlite", "r.rep"], ["stats", "r.sqlite"],
                  ["export", "-t", "perfetto", "-o", "r.pb", "r.rep"], ["report", "--html", "-o", "r.html", "r.rep"]):
        result, here = run([*system, "trace", *words]), run([TRACE, *words], clean_env(), cwd=place) if words[0] in ("stats", "query") else None
        tap.ok(result.status == 0 and (not here or result.out == here.out), f"musl: trace {words[0]} {words[-1]}", f"{result}\n{here}")
    before = sorted(os.listdir(place))
    plain, told = run([*system, "musl_child"]), run([*system, "trace", "run", "-o", "none.rep", "--", "musl_child"])
    tap.ok(plain[:2] == told[:2] == (8, b"lost\n") and told.err.endswith(OTHER_LIBRARY) and sorted(os.listdir(place)) == before,
           "musl: a program runs as without the tracer, and trace run says why it is not recorded", f"{plain}\n{told}")
    doctor = run([*system, "trace", "doctor", "--json"])
    found = {check["name"]: check for check in json.loads(doctor.out)["checks"]}["record"]
    tap.ok(doctor.status == 1 and found["state"] == "no" and "there is no glibc here" in found["text"], "musl: trace doctor says that nothing can be recorded there", found)


def in_root(argv, **env):
    return run(["chroot", ROOT, "env", "-i", "PATH=/usr/bin:/bin", "HOME=/", *(f"{name}={value}" for name, value in env.items()), *argv])


def same(name, argv, place):
    inside = place[len(ROOT.rstrip("/")):]
    report = Report(os.path.join(place, "r.rep"))
    plain = in_root(argv)
    traced = in_root(argv, LD_PRELOAD=inside + "/libtrace/libtrace.so", LIBTRACE_OUTPUT=inside + "/r.rep", LIBTRACE_FORCE_OVERWRITE="true", LIBTRACE_SPOOL_DIR=inside)
    tap.ok(plain[:3] == traced[:3] and not traced.hung, f"{name}: as without the tracer", f"{plain}\n{traced}")
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
    main(asks_for_no_version, musl, system_of_musl, older_distribution)
