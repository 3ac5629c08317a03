#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the tracer without space: full disks for report and spool, read-only and vanished folders, limits of every kind.

The program's output and status stay as without the tracer, and the tracer prints nothing to its output. A report, if there is one, can be read, `trace check` finds it
sound or truncated at the end of a block, and its receipt states what is missing. Small disks are tmpfs mounts: as root, or in a user
namespace of its own, in which the script starts itself again; if neither is possible, the test is skipped.
"""
import os
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from lib import Books, Report, app, clean_env, folder, leftovers, main, receipts_agree, run, spool_folder, tap, trace, traced_env, wait_until  # noqa: E402

CALLS = 400000  # 12 MB of records
IN_NAMESPACE = "LIBTRACE_TEST_NAMESPACE"


def may_mount():
    place = folder()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", place], stderr=subprocess.DEVNULL, check=False).returncode:
        return False
    subprocess.run(["umount", place], check=False)
    return True


def enter_namespace():
    """Enter a mount namespace, so that no mount outlives the test."""
    if os.environ.get(IN_NAMESPACE):
        return
    for how in (["unshare", "-m"], ["unshare", "-rm"]):
        if subprocess.run([*how, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.environ[IN_NAMESPACE] = "1"
            os.execvp(how[0], [*how, sys.executable, *sys.argv])


class SmallDisk:
    """A tmpfs of a given size, filled except for `left` bytes."""

    def __init__(self, size, left):
        self.path = folder()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "none", self.path], check=True)
        self.ballast = os.path.join(self.path, "ballast")
        with open(self.ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(size - left, 4096))

    def give_room(self):
        os.unlink(self.ballast)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=False)


def unchanged(name, argv, env, **popen):
    """Run a program untraced and traced; the results must be equal. Return whether they are."""
    plain = run(argv, env=clean_env(), **popen)
    traced = run(argv, env=env, **popen)
    same = (plain.status, plain.out, plain.err) == (traced.status, traced.out, traced.err) and not traced.hung
    tap.ok(same, f"{name}: the program is unchanged", f"untraced {plain.status} {plain.out[-500:]!r} {plain.err[-300:]!r}\n"
           f"traced {traced.status} {traced.out[-500:]!r} {traced.err[-300:]!r} {traced.note}")
    return same


def settled(spool):
    """Wait until the writer has finished or given up: it must not stay forever, whatever has happened to its folder."""
    def quiet():
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read()
                if line.split(b"\0")[0].endswith(b"libtrace-writer") and spool.encode() in line:
                    return False
            except OSError:
                pass
        return True
    if not wait_until(quiet):
        tap.ok(False, "the writer ends", spool)


def stated(name, report, calls, function="pread"):
    """Check that the calls in the report and the calls that the receipt states as missing are all calls, or that the report says that the rest waits for
    recovery.
    """
    held, verdict = report.total(function), report.info()["verdict"]
    diagnostics = [d["text"] for d in report.info()["diagnostics"]]
    untraced = any("not traced" in text for text in diagnostics) or any(p["traced"] == "no" for p in report.processes())
    tap.ok(held <= calls and (held + report.dropped() >= calls or untraced or "trace recover" in verdict), f"{name}: the loss is stated",
           f"calls {calls}, in the report {held}, stated as dropped {report.dropped()}\n{verdict}\n{diagnostics}\n{report.receipts()}")
    tap.ok(held == calls or "nothing lost" not in verdict, f"{name}: the verdict is honest", f"calls {calls}, in the report {held}: {verdict}")
    wrong = None if "trace recover" in verdict else receipts_agree(report)
    tap.ok(not wrong, f"{name}: produced = written + dropped", wrong)


def judge(name, path, calls, must_exist=True, whole=False):
    """Check that the report, if there is one, can be read, and with `whole` that nothing is missing. An empty file is no report: there was not even room for
    its header.
    """
    report = Report(path)
    if not report.exists() or os.path.getsize(path) == 0:
        tap.ok(not must_exist, f"{name}: there is a report")
        return
    check = report.check()
    tap.ok(check.status in ((0,) if whole else (0, 1)), f"{name}: trace check says {check.status}", check.out + check.err)
    if check.status > 1:
        return
    info = trace("info", path)
    tap.ok(info.status == 0, f"{name}: the report opens", info.err)
    if check.status == 0 or b"did not finish" in check.err:
        stated(name, report, calls)


def workload():
    return [app("many_calls"), str(CALLS)]


PREADS = CALLS // 4


def recovered(name, spool, path, calls):
    """Check that `trace recover` adds the events that are still in the spool when there is space again."""
    for tree in [os.path.join(spool, n) for n in os.listdir(spool)]:
        result = trace("recover", tree)
        tap.ok(result.status == 0, f"{name}: trace recover", result.out + result.err)
    judge(f"{name}, recovered", path, calls, whole=True)
    tap.ok(not os.listdir(spool), f"{name}: nothing is left behind", leftovers(spool))


def report_disk_full():
    for left in (0, 8192, 300000):
        with SmallDisk(4 << 20, left) as disk:
            spool, name = spool_folder(), f"report's disk has {left} bytes left"
            path = os.path.join(disk.path, "r.rep")
            unchanged(name, workload(), traced_env(path, spool))
            settled(spool)
            judge(name, path, PREADS, must_exist=False)
            disk.give_room()
            if os.listdir(spool):
                recovered(name, spool, path, PREADS)


def old_report_survives_a_full_disk():
    """Check that a report is not replaced before the new one can be begun."""
    name = "replacing a report on a full disk"
    with SmallDisk(4 << 20, 4096) as disk:
        spool, path = spool_folder(), os.path.join(disk.path, "r.rep")
        with open(path, "wb") as file:
            file.write(b"old")
        unchanged(name, workload(), traced_env(path, spool, LIBTRACE_FORCE_OVERWRITE=1))
        settled(spool)
        with open(path, "rb") as file:
            found = file.read(100)
        names = sorted(os.listdir(disk.path))
        tap.ok(found == b"old" and names == ["ballast", "r.rep"], f"{name}: the old one is there, and nothing else", f"{found!r} {names}")
        disk.give_room()
        recovered(name, spool, path, PREADS)


def report_disk_full_for_a_while():
    """Check a disk that is full when the program starts and has room again while it runs."""
    with SmallDisk(64 << 20, 20000) as disk:
        spool, folder_ = spool_folder(), folder()
        path, books = os.path.join(disk.path, "r.rep"), os.path.join(folder_, "books")
        process = subprocess.Popen([app("counter_workload"), books, "2", "return", "600"], env=traced_env(path, spool), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            process.wait(0.3)
        except subprocess.TimeoutExpired:
            pass
        disk.give_room()
        out, _ = process.communicate(timeout=60)
        tap.ok(process.returncode == 3 and not out, "disk full for a while: the program is unchanged", f"{process.returncode} {out!r}")
        settled(spool)
        for tree in os.listdir(spool):
            trace("recover", os.path.join(spool, tree))
        report = Report(path)
        check = report.check()
        wrong = None if check.status == 0 else check.out + check.err
        tap.ok(not wrong, "disk full for a while: the report is sound in the end", wrong)
        if not wrong:
            wrong = Books(books).compare(report) or receipts_agree(report)
            tap.ok(not wrong, "disk full for a while: the receipt states the loss", wrong)


def spool_disk_full():
    for left in (0, 40000, 150000, 1400000):
        with SmallDisk(4 << 20, left) as disk:
            name, place = f"spool's disk has {left} bytes left", folder()
            path = os.path.join(place, "r.rep")
            unchanged(name, workload(), traced_env(path, disk.path))
            settled(disk.path)
            judge(name, path, PREADS, must_exist=False)
            unchanged(f"{name}, threads", [app("thread_churn")], traced_env(os.path.join(place, "t.rep"), disk.path))
            unchanged(f"{name}, forks", [app("fork_storm")], traced_env(os.path.join(place, "f.rep"), disk.path))
            settled(disk.path)
            for other in ("t.rep", "f.rep"):
                if os.path.exists(os.path.join(place, other)):
                    tap.ok(Report(os.path.join(place, other)).check().status == 0, f"{name}: {other} is sound")


def as_nobody(argv, env=None):
    """Run a command as another user, since root may write everywhere; only that command is traced."""
    given = [f"{name}={value}" for name, value in (env or {}).items()]
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", *given, *argv] if os.geteuid() == 0 else ["env", *given, *argv]


def unchanged_as_nobody(name, argv, env):
    plain, traced = run(as_nobody(argv)), run(as_nobody(argv, env))
    tap.ok((plain.status, plain.out, plain.err) == (traced.status, traced.out, traced.err) and not traced.hung, f"{name}: the program is unchanged", f"{plain}\n{traced}")


def folders_not_writable():
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        tap.skip("folders not writable", "setpriv is not installed")
        return
    free, shut, spool = folder(), folder(), folder("/dev/shm")
    for place, mode in ((free, 0o777), (shut, 0o555), (spool, 0o1777)):
        os.chmod(place, mode)
    occupied, writable = os.path.join(free, "folder.rep"), os.path.join(free, "r.rep")
    os.mkdir(occupied)
    argv = workload()
    if run(as_nobody(argv)).status != 0:
        tap.skip("folders not writable", "cannot run as another user here")
        return
    unchanged_as_nobody("report's folder not writable", argv, traced_env(os.path.join(shut, "r.rep"), spool))
    settled(spool)
    tap.ok(not os.listdir(shut), "report's folder not writable: nothing in it", os.listdir(shut))
    tap.ok(not os.listdir(spool), "nothing was begun, nothing is left", os.listdir(spool))
    for text, report, place in (("report's folder missing", "/nonexistent/folder/r.rep", spool), ("spool's folder not writable", writable, shut),
                                ("spool's folder missing", writable, "/nonexistent/spool"), ("spool's folder is a file", writable, "/etc/passwd"),
                                ("report's name is a folder", occupied, spool)):
        unchanged_as_nobody(text, argv, traced_env(report, place))
        settled(spool)
        tap.ok(os.listdir(free) == ["folder.rep"], f"{text}: no report", os.listdir(free))


def read_only_file_system():
    with SmallDisk(1 << 20, 1 << 19) as disk:
        if subprocess.run(["mount", "-o", "remount,ro", disk.path], stderr=subprocess.DEVNULL, check=False).returncode:
            tap.skip("read-only file system", "may not remount here")
            return
        spool = spool_folder()
        unchanged("report on a read-only file system", workload(), traced_env(os.path.join(disk.path, "r.rep"), spool))
        settled(spool)
        unchanged("spool on a read-only file system", workload(), traced_env(os.path.join(folder(), "r.rep"), disk.path))


def limited(kind, value):
    return lambda: resource.setrlimit(kind, (value, value))


def process_limits():
    for name, kind, values in (("RLIMIT_FSIZE", resource.RLIMIT_FSIZE, (0, 4096, 100000, 1 << 20, 3 << 20)), ("RLIMIT_NOFILE", resource.RLIMIT_NOFILE, (4, 5, 8)),
                               ("RLIMIT_MEMLOCK", resource.RLIMIT_MEMLOCK, (0,))):
        for value in values:
            place, spool = folder(), spool_folder()
            path = os.path.join(place, "r.rep")
            unchanged(f"{name} {value}", workload(), traced_env(path, spool), preexec_fn=limited(kind, value))
            settled(spool)
            judge(f"{name} {value}", path, PREADS, must_exist=False)
            if os.listdir(spool):
                recovered(f"{name} {value}", spool, path, PREADS)
            for app_name in ("forks", "thread_churn"):
                unchanged(f"{name} {value}, {app_name}", [app(app_name)], traced_env(path + app_name, spool), preexec_fn=limited(kind, max(value, 16)))
            settled(spool)


def process_number_limit():
    """Check a limit of RLIMIT_NPROC at which no writer can start."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        tap.skip("RLIMIT_NPROC", "setpriv is not installed")
        return
    place, spool = folder(), spool_folder()
    os.chmod(place, 0o777)
    os.chmod(spool, 0o777)
    path = os.path.join(place, "r.rep")
    unchanged_as_nobody("RLIMIT_NPROC 1", ["sh", "-c", 'ulimit -u 1; exec "$0" "$@"', *workload()], traced_env(path, spool))
    settled(spool)
    if os.listdir(spool):
        tap.ok(True, "RLIMIT_NPROC 1: no writer, the spool waits")
        recovered("RLIMIT_NPROC 1", spool, path, PREADS)


def folders_removed_meanwhile():
    for which in ("report", "spool"):
        place, spool, books = folder(), spool_folder(), os.path.join(folder(), "books")
        path = os.path.join(place, "r.rep")
        process = subprocess.Popen([app("counter_workload"), books, "2", "return", "300"], env=traced_env(path, spool), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        wait_until(lambda p=path, b=books: os.path.exists(p) and os.path.exists(b), 10)
        shutil.rmtree(place if which == "report" else spool, ignore_errors=True)
        out, _ = process.communicate(timeout=60)
        tap.ok(process.returncode == 3 and not out, f"{which}'s folder removed meanwhile: the program is unchanged", f"{process.returncode} {out!r}")
        settled(spool)
        os.makedirs(spool, exist_ok=True)
        if which == "spool":
            report = Report(path)
            check = report.check()
            tap.ok(check.status in (0, 1), "spool's folder removed meanwhile: the report opens", check.out + check.err)
        unchanged("child after the folder was removed", [app("forks"), "all"], traced_env(path, spool, LIBTRACE_TREE=os.path.join(spool, "libtrace-gone")))


if __name__ == "__main__":
    enter_namespace()
    mounts = (report_disk_full, old_report_survives_a_full_disk, report_disk_full_for_a_while, spool_disk_full, read_only_file_system)
    if not may_mount():
        mounts = ()
        tap.skip("small disks", "MAY NOT MOUNT A TMPFS HERE, not even in a user namespace: full disks are not tested")
    main(*mounts, folders_not_writable, process_limits, process_number_limit, folders_removed_meanwhile)
