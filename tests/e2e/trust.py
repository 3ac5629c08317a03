#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that another user, or a traced process that has turned hostile, can do nothing to root's reports.

docs/trust.md says who may do what; this test checks each of its promises. Without root, all but a few are skipped with a message.
"""
import ctypes
import os
import signal
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import HANG_S, TRACE, Report, app, clean_env, folder, kill_session, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone, wait_until  # noqa: E402

NOBODY = 65534
CALLS = 2000  # how many calls turncoat makes at a time
PRECIOUS = b"precious\n" * 100


def needs_root(name):
    if os.geteuid():
        tap.skip(name, "not root: there is no second user")
    return os.geteuid() == 0


def file_make(path, owner=0, mode=0o600, data=PRECIOUS):
    with open(path, "wb") as file:
        file.write(data)
    os.chown(path, owner, owner)
    os.chmod(path, mode)
    return path


def content(path):
    with open(path, "rb") as file:
        return file.read()


def own(path, owner):
    """Give a folder and its content to a user."""
    for base, _, files in os.walk(path):
        for name in [base] + [os.path.join(base, name) for name in files]:
            os.lchown(name, owner, owner)


def dead_tree(base, report, uid=0, **more):
    """Return the tree folder of a program that was killed and has no writer, with a name as if it belonged to the user `uid`."""
    inside = folder(base)
    run([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], env=traced_env(report, inside, LIBTRACE_HELPER="false", **more))
    tree = os.path.join(base, f"libtrace-{uid}-{os.path.basename(inside)}")
    os.rename(os.path.join(inside, os.listdir(inside)[0]), tree)
    return tree


def patch(path, old, new):
    """Replace bytes in place: old and new text have one length, or the new one ends with a NUL."""
    data = content(path)
    assert old in data
    with open(path, "r+b") as file:
        file.write(data.replace(old, new))


def recover(base, *arguments):
    """Run `trace recover` for the trees of `base` only; other tests have trees in /dev/shm."""
    if os.geteuid() == 0 and not arguments:
        script = 'mount -t tmpfs none /dev/shm && exec "$@"'
        return run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", TRACE, "recover"], env=clean_env(LIBTRACE_SPOOL_DIR=base))
    return run([TRACE, "recover", *arguments], env=clean_env(LIBTRACE_SPOOL_DIR=base))


def report_that_cannot_be_written():
    """Check that a recording whose report cannot be written makes `trace recover` fail only if it is asked for this one."""
    place, base = os.path.join(folder(), "gone"), folder()
    os.mkdir(place)
    tree = dead_tree(base, os.path.join(place, "r.rep"), os.geteuid())
    os.rmdir(place)
    for arguments, status in (((), 0), ((tree,), 1)):
        result = recover(base, *arguments)
        said = f"cannot write '{place}/r.rep': No such file or directory; the recording is kept".encode() in result.err
        tap.ok(result.status == status and said and os.path.isdir(tree), f"a report that cannot be written: recover {'of all' if not arguments else 'of it'} ends with {status}", result)


def strangers_folder():
    """Check a stranger's folder that names root's file as its report."""
    if not needs_root("recover leaves a stranger's folder alone"):
        return
    base, place = folder(), folder()
    report, target = os.path.join(place, "report.rep"), file_make(os.path.join(place, "target.re"))
    tree = dead_tree(base, report, LIBTRACE_FORCE_OVERWRITE="true")
    patch(os.path.join(tree, "control"), report.encode() + b"\0", target.encode() + b"\0\0")
    ours = dead_tree(base, os.path.join(place, "ours.rep"))
    own(tree, NOBODY)
    result = recover(base)
    tap.ok(content(target) == PRECIOUS and os.path.isdir(tree) and b"it belongs to user 65534" in result.err,
           "recover: a stranger's folder of root's name is left alone, and that is said", result)
    tap.ok(result.status == 0 and not os.path.exists(ours) and Report(os.path.join(place, "ours.rep")).check().status == 0,
           "root's own folder beside a stranger's is recovered, so strangers cannot disturb nightly runs", (result, os.listdir(base)))
    result = recover(base, tree)
    tap.ok(content(target) == PRECIOUS and result.status == 2 and b"it belongs to user" in result.err, "a stranger's folder is left alone when given by name", result)
    result = recover(base, tree, "-o", os.path.join(place, "new.rep"))
    tap.ok(result.status == 2 and not os.path.exists(os.path.join(place, "new.rep")), "a stranger's folder is left alone when a report is named", result)
    result = run([os.path.join(os.path.dirname(TRACE), "../lib/libtrace/libtrace-writer"), "--recover", tree])
    tap.ok(content(target) == PRECIOUS and result.status == 1 and b"Operation not permitted" in result.err, "the writer, too, does not take it", result)


def rights_of_others():
    """Check that folders that other users may write to are refused: they could put records or names into them."""
    base, place = folder(), folder()
    report = os.path.join(place, "r.rep")
    tree = dead_tree(base, report, os.geteuid())
    os.chmod(tree, 0o755)
    result = recover(base, tree)
    tap.ok(result.status == 2 and b"chmod -R go=" in result.err and not os.path.exists(report), "recover: a folder that others can enter is left alone", result)
    os.chmod(tree, 0o700)
    link = os.path.join(base, "link")
    os.symlink(tree, link)
    result = recover(base, link + "/")
    tap.ok(result.status == 2 and b"not the folder of a recording" in result.err and not os.path.exists(report), "a link to such a folder is refused, also with a slash after it", result)
    control, spool = os.path.join(tree, "control"), [os.path.join(tree, name) for name in os.listdir(tree) if name.endswith(".spool")][0]
    for name, spoil, mend in (("that others can read", lambda: os.chmod(control, 0o644), lambda: os.chmod(control, 0o600)),
                              ("with a second name", lambda: os.link(control, control + "2"), lambda: os.unlink(control + "2")),
                              ("that is a link", lambda: (os.rename(control, base + "/c"), os.symlink(base + "/c", control)),
                               lambda: os.rename(base + "/c", control))):
        spoil()
        result = recover(base, tree)
        tap.ok(result.status == 1 and b"control page" in result.err and not os.path.exists(report), f"a control page {name} is not believed", result)
        mend()
    for name, spoil, mend in (("that others can write", lambda: os.chmod(spool, 0o622), lambda: os.chmod(spool, 0o600)),
                              ("with a second name", lambda: os.link(spool, base + "/s"), lambda: os.unlink(base + "/s")),
                              ("that is a link", lambda: (os.rename(spool, base + "/s"), os.symlink(base + "/s", spool)), lambda: os.rename(base + "/s", spool))):
        spoil()
        result = recover(base, tree, "-o", os.path.join(place, "x.rep"))
        verdict = Report(os.path.join(place, "x.rep")).info()["verdict"]
        tap.ok(result.status == 1 and b"not read" in result.err and "not traced" in verdict and os.path.exists(spool), f"a spool {name} is not read, and stays",
               (result, verdict))
        os.unlink(os.path.join(place, "x.rep"))
        mend()
    result = recover(base, tree)
    tap.ok(result.status == 0 and "complete" in Report(report).info()["verdict"] and not os.path.exists(tree), "a folder that belongs to the user alone is recovered whole", result)


# ---- files that others created ----

def sticky():
    place = folder()
    os.chmod(place, 0o1777)
    return place


def owner_of(path):
    status = os.stat(path)
    return status.st_uid, stat.S_IMODE(status.st_mode)


def others_file_is_replaced():
    if not needs_root("-f true replaces another user's file"):
        return
    for name in ("file", "link"):
        place, elsewhere = sticky(), sticky()
        report, spool = os.path.join(place, "r.rep"), spool_folder()
        theirs = file_make(report if name == "file" else os.path.join(elsewhere, "theirs"), NOBODY, 0o666)
        if name == "link":
            os.link(theirs, report)
        with open(theirs, "rb") as kept:
            result = run([TRACE, "run", "-f", "true", "-o", report, "true"], env=clean_env(LIBTRACE_SPOOL_DIR=spool))
            kept.seek(0)
            tap.ok(result.status == 0 and b"; complete" in result.err and owner_of(report) == (0, 0o600) and kept.read() == PRECIOUS,
                   f"run -f true: what a stranger has created under that name ({name}) is replaced, not written to", (result, owner_of(report)))
        tap.ok(name == "file" or content(theirs) == PRECIOUS, f"{name}: the stranger's file is unchanged")
        tap.ok(os.listdir(place) == ["r.rep"], f"{name}: no other file is left in the folder", os.listdir(place))
    place = sticky()
    os.symlink(file_make(os.path.join(place, "target.rep")), os.path.join(place, "r.rep"))
    result = run([TRACE, "run", "-f", "true", "-o", os.path.join(place, "r.rep"), "true"], env=clean_env(LIBTRACE_SPOOL_DIR=spool_folder()))
    tap.ok(content(os.path.join(place, "target.rep")) == PRECIOUS and b"is incomplete" in result.err, "run -f true does not follow a link", result)


def others_file_is_no_report_of_ours():
    """Check that a writer continues the report of a killed writer, but not a file that a stranger has put in its place."""
    if not needs_root("recover replaces nothing"):
        return
    base, place = folder(), folder()
    report = os.path.join(place, "r.rep")
    tree = dead_tree(base, report)
    file_make(report, NOBODY, 0o666, b"")
    result = recover(base, tree)
    tap.ok(result.status == 1 and b"the file exists and is not the report of this recording" in result.err and owner_of(report) == (NOBODY, 0o666),
           "recover: an empty file of a stranger is no report that was begun", result)


def outputs_of_commands():
    if not needs_root("exports replace another user's file"):
        return
    report, spool = os.path.join(folder(), "r.rep"), spool_folder()
    run([app("forks"), "fork"], env=traced_env(report, spool))
    wait_spool_gone(spool)
    commands = [("export", "-t", kind, "-f", "true") for kind in ("sqlite", "perfetto", "json")] + [
        ("stats", "--format", "csv")]
    for command in commands:
        place = sticky()
        theirs = file_make(os.path.join(place, "out"), NOBODY, 0o666)
        with open(theirs, "rb") as kept:
            result = trace(command[0], report, *command[1:], "-o", theirs)
            kept.seek(0)
            tap.ok(result.status == 0 and owner_of(theirs)[0] == 0 and kept.read() == PRECIOUS, f"{' '.join(command)}: a stranger's file is replaced", result)
    place = sticky()
    pipe = os.path.join(place, "pipe")
    os.mkfifo(pipe)
    os.chown(pipe, NOBODY, NOBODY)
    for command in (("export", "-t", "perfetto", "-f", "true"), ("stats",)):
        result = trace(command[0], report, *command[1:], "-o", pipe, limit=20)
        tap.ok(result.status == 2 and not result.hung and b"Operation not permitted" in result.err, f"{command[0]}: nothing is written to a stranger's pipe", result)


# ---- files that a traced process names ----

IN_OPEN = 0x20


def devices_are_not_opened():
    """Check that root's writer, which reads the commit of the repository in the working directory, opens no device that the program has put there."""
    if not needs_root("devices named by the program are not opened"):
        return
    place, spool = folder(), spool_folder()
    os.mkdir(os.path.join(place, ".git"))
    device, head = os.path.join(place, "device"), os.path.join(place, ".git/HEAD")
    try:
        os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        os.close(os.open(device, os.O_RDONLY))
    except OSError as error:
        tap.skip("devices named by the program are not opened", f"no device can be made: {error}")
        return
    os.symlink(device, head)
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(watch, device.encode(), IN_OPEN)
    report = os.path.join(folder(), "r.rep")
    run(["true"], env=traced_env(report, spool), cwd=place)
    wait_spool_gone(spool)
    try:
        opened = os.read(watch, 4096)
    except BlockingIOError:
        opened = b""
    os.close(watch)
    tap.ok(Report(report).check().status == 0 and not opened, "a device in place of .git/HEAD is not opened", opened)


# ---- a traced process that has turned hostile ----

def honest_calls(report, dropped_by=""):
    """Return the numbers of calls of the parent and its honest children in the report; None if it cannot be read."""
    per_process = {}
    for (process, _, function), entry in report.counts.items():
        if function == "pread":
            per_process[process] = per_process.get(process, 0) + entry.all
    return sorted(per_process.values())


# The parent makes 3 * CALLS, each of its two honest children 2 * CALLS.
WANTED = [2 * CALLS, 2 * CALLS, 3 * CALLS]


def holds(counts):
    rest = list(counts)
    for number in WANTED:
        if number not in rest:
            return False
        rest.remove(number)
    return True


def turncoats():
    if not needs_root("a worker that has turned"):
        return
    for mode in ("random", "zeros"):
        for way in ("preload", "run"):
            work, spool = folder(), spool_folder()
            report = Report(os.path.join(work, "r.rep"))
            if way == "preload":
                result = run([app("turncoat"), mode], env=traced_env(report.path, spool), cwd=work)
                wait_spool_gone(spool)
            else:
                result = run([TRACE, "run", "--osrt-threshold", "0", "-o", report.path, app("turncoat"), mode], env=clean_env(LIBTRACE_SPOOL_DIR=spool), cwd=work)
            told = f"{mode}, {way}"
            tap.ok(result.status == 0 and not result.hung, f"turncoat {told}: the program works as without the tracer", result)
            if not tap.ok(report.exists() and report.check().status == 0, f"{told}: the report is written to its path, and is valid", (result, os.listdir(work))):
                continue
            info = report.info()
            tap.ok(holds(honest_calls(report)), f"{told}: the events of all others are complete", (honest_calls(report), info["verdict"], info["diagnostics"]))
            tap.ok("nothing lost" not in info["verdict"] and any("overwritten the memory" in d["text"] for d in info["diagnostics"]),
                   f"{told}: the verdict is not 'complete', and says why", (info["verdict"], info["diagnostics"]))
            tap.ok(way == "preload" or b"\x1b" not in result.err and all(c >= 32 or c == 10 for c in result.err), f"{told}: no control characters are printed", result.err)


def writer_of(spool):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if spool.encode() in content(f"/proc/{pid}/cmdline") and b"libtrace-writer" in content(f"/proc/{pid}/cmdline"):
                return int(pid)
        except OSError:
            pass
    return None


def turncoat_and_the_next_writer():
    """Check a worker that replaces the report by another file, for the writer that starts after this one has died."""
    if not needs_root("a worker that names another report"):
        return
    work, spool = folder(), spool_folder()
    report = Report(os.path.join(work, "report.rep"))
    target = file_make(os.path.join(work, "target.rep"))
    process = subprocess.Popen([app("turncoat"), "path", report.path, target, "wait"], env=traced_env(report.path, spool, LIBTRACE_FORCE_OVERWRITE="true"),
                               cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    said = b""
    try:
        while b"scribbled" not in said:
            line = process.stdout.readline()
            said += line
            if not line:
                break
        pid = writer_of(spool)
        if tap.ok(pid is not None, "turncoat: there is a writer", said):
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 10)
        said += process.communicate(b"on\n", timeout=HANG_S)[0]
    finally:
        kill_session(process.pid)
    wait_spool_gone(spool)
    tap.ok(content(target) == PRECIOUS, "turncoat: root's other file is as it was", owner_of(target))
    tap.ok(process.returncode == 0 and b"FAIL" not in said, "the program works as without the tracer", said)
    tap.ok(report.exists() and report.check().status == 0 and holds(honest_calls(report)), "the next writer continues the report that was asked for",
           (report.exists() and (honest_calls(report), report.info()["verdict"]), os.listdir(spool)))


if __name__ == "__main__":
    main(strangers_folder, report_that_cannot_be_written, rights_of_others, others_file_is_replaced, others_file_is_no_report_of_ours, outputs_of_commands, devices_are_not_opened, turncoats,
         turncoat_and_the_next_writer)
