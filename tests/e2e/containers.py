#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check environments of containers: a program that is process 1 (when it ends, the kernel kills all others), a tiny
/dev/shm, no /proc, a /proc that hides processes, a read-only file system, another user.

The program ends as without the tracer, and the report is sound.
"""
import os
import shutil

from lib import BUILD, LIBRARY, SRC, TRACE, Report, clean_env, folder, main, receipts_agree, run, tap, wait_until

SHAPES = {"alone": "sleep 0.05; exit 3", "with a child that goes on": "sleep 600 & sleep 0.05; exit 3", "with children that begin": "(sleep 1; exit 5) & (exec sleep 600) & exit 3"}
NAMESPACES = ["unshare", "-rmpf", "--mount-proc"]


def preload(report):
    return ["env", f"LD_PRELOAD={LIBRARY}", f"LIBTRACE_OUTPUT={report}"]


def is_sound(path):
    return os.path.exists(path) and Report(path).check().status == 0


def first_process():
    for name, script in SHAPES.items():
        report = Report(os.path.join(folder(), "r.rep"))
        result = run([*NAMESPACES, *preload(report.path), "sh", "-c", script])
        tap.ok(result.status == 3 and not result.hung, f"process 1 {name}: it ends as it does without the tracer", result)
        sound = tap.ok(is_sound(report.path), "process 1: the report is sound", result)
        ends = [(p["end"], p["exit_status"]) for p in report.processes() if p["pid"] == 1] if sound else []
        tap.ok(ends == [("exit", 3)] and not receipts_agree(report), "process 1: the report has its exit status, and the receipts agree", ends)
    report = Report(os.path.join(folder(), "r.rep"))
    result = run([*NAMESPACES, TRACE, "run", "-o", report.path, "--", "sh", "-c", SHAPES["alone"]])
    tap.ok(result.status == 3 and is_sound(report.path), "trace run as process 1: it ends as the program does, and the report is finished", result)


def changed_mounts():
    """Check changed mounts of /dev/shm and /proc. All cases but the last need only a mount namespace."""
    inside = 'eval "$MOUNTS" && exec "$@"'
    for name, mounts, said in (("next to no /dev/shm", "mount -t tmpfs -o size=16k none /dev/shm", "shared memory is in /tmp"), ("no /proc", "mount -t tmpfs none /proc", None)):
        for how in ("preload", "run"):
            path = os.path.join(folder(), "r.rep")
            command = [*(preload(path) if how == "preload" else [TRACE, "run", "-o", path, "--"]), "sh", "-c", SHAPES["alone"]]
            result = run(["unshare", "-rm", "sh", "-c", inside, "sh", *command], env=clean_env(MOUNTS=mounts))
            sound = wait_until(lambda report=path: is_sound(report))
            tap.ok(result.status == 3 and sound, f"{name}, {how}: a sound report", result)
            if said and sound:
                told = [d["text"] for d in Report(path).info()["diagnostics"]]
                tap.ok(any(said in text for text in told), "the report says that its events wait elsewhere", told)
    if os.geteuid():
        tap.skip("hidden processes", "not root")
        return
    place = folder()
    os.chmod(place, 0o777)
    inside = 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 1234 --regid 1234 --clear-groups "$@"'
    result = run(["unshare", "-mpf", "sh", "-c", inside, "sh", TRACE, "run", "-o", f"{place}/r.rep", "--", "sh", "-c", SHAPES["alone"]])
    if result.status == 126 or result.status == 127:
        tap.skip("hidden processes", f"the build's folder is closed to others: {result.err}")
        return
    tap.ok(result.status == 3 and is_sound(f"{place}/r.rep"), "hidden processes, another user: a sound report", result)


def read_only():
    if not shutil.which("bwrap"):
        tap.skip("a read-only system", "no bwrap (bubblewrap)")
        return
    place = folder()
    base = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", SRC, SRC, "--ro-bind", BUILD, BUILD, "--bind", place, place, "--chdir", place]
    if run([*base, "true"]).status:
        tap.skip("a read-only system", "bwrap does not work here")
        return
    for name, more in (("as root", []), ("as another user, processes of its own", ["--unshare-user", "--uid", "1234", "--gid", "1234", "--unshare-pid"])):
        for how in ("preload", "run"):
            report = f"{name[:5].strip()}-{how}"
            command = [*(preload(report) if how == "preload" else [TRACE, "run", "-o", report, "--"]), "sh", "-c", SHAPES["alone"]]
            result = run([*base, *more, *command])
            tap.ok(result.status == 3, f"a read-only system {name}, {how}: it ends as it does without the tracer", result)
            sound = wait_until(lambda path=f"{place}/{report}.rep": is_sound(path))
            tap.ok(sound, "the report of a program that is pid 1 is sound", os.listdir(place))


def containers():
    if run([*NAMESPACES, "true"]).status:
        tap.skip("containers", "no namespaces here (unshare -rmpf)")
        return
    first_process()
    changed_mounts()
    read_only()


main(containers)
