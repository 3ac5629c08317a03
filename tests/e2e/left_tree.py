#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check that a program that was started and cannot enter the tree is listed as not traced, with the reason, and the verdict is not "complete".

Each program is started by left_tree in each way, after the process has become another user's, lost its files, or changed its environment. A program that
was traced, or that was never started, is not listed.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TRACE, Report, app, clean_env, folder, main, program_of, recorded, run, spool_folder, tap, traced_env  # noqa: E402

STARTS = ("spawn", "spawnp", "system", "popen", "vfork", "clone", "fork", "double", "orphan", "exec")  # ways that start one program
STATUS = {"exec": 5, "orphan": 5}
NO_ENTRY, NO_SPOOL = "no permission for the folder of the tree", "cannot create its spool"
ROOT = ("gone", "user", "euid", "mount", "chroot", "namespace")  # surroundings that need it


def outcome(surroundings, way):
    """Run left_tree. Return the verdict, the reasons of processes that were not traced, and the programs that were; None if a test failed."""
    if (surroundings in ROOT or way in ROOT) and os.geteuid():
        tap.skip(f"{surroundings} {way}", "not root")
        return None
    report = recorded([app("left_tree"), surroundings, way], status=STATUS.get(way, 0))
    return report and facts(report)


def facts(report):
    untraced = [p.get("reason") or "" for p in report.processes() if p["traced"] == "no"]
    return report.info()["verdict"], untraced, [program_of(p) for p in report.processes() if p["traced"] == "yes"]


def listed(surroundings, way, reason, count=1):
    got = outcome(surroundings, way)
    if got:
        tap.ok(got[0].startswith(f"{count} process") and "not traced" in got[0] and len(got[1]) == count and reason in got[1][-1],
               f"{surroundings}, {way}: listed as not traced, with the reason", got)


def traced(surroundings, way, program="dash"):
    got = outcome(surroundings, way)
    if got:
        tap.ok(got[0].startswith("complete") and not got[1] and got[2].count(program) == 1, f"{surroundings}, {way}: traced, and complete", got)


SHELL = os.path.basename(os.path.realpath("/bin/sh"))


def as_usual():
    for way in (*STARTS, "reset"):
        traced("here", way, SHELL)
    for way in ("fails", "missing"):
        got = outcome("here", way)
        if got:
            tap.ok(got[0].startswith("complete") and not got[1], f"here, {way}: what was not started is not listed", got)


def another_user():
    for way in STARTS:
        listed("user", way, NO_SPOOL if way in ("fork", "double") else NO_ENTRY)
    listed("user", "forked", NO_SPOOL + ": no permission: /")
    listed("user", "reset", NO_ENTRY)


def another_effective_user():
    """Check a program whose loader ignores LD_PRELOAD, since its effective user is not the real one."""
    for way in ("spawn", "system", "popen", "vfork", "exec"):
        listed("euid", way, "the loader ignores LD_PRELOAD")
    traced("euid", "reset", SHELL)


def files_out_of_sight():
    for surroundings in ("mount", "chroot"):
        for way in ("spawn", "system", "popen", "vfork", "exec"):
            listed(surroundings, way, NO_ENTRY)
        listed(surroundings, "forked", NO_SPOOL)


def environments():
    for way in ("spawn", "system", "popen", "vfork", "exec"):
        listed("preload", way, "LD_PRELOAD is missing")
    for way in ("spawn", "vfork", "exec"):
        traced("tree", way, SHELL)
    for way in ("interrupted", "gone", "nothing"):
        listed("preload", way, "LD_PRELOAD is missing")
    for way in STARTS:
        listed("report", way, "does not lead to this tree")


def ended_in_the_loader():
    """Check programs that should have been traced, as far as their parent can know, and recorded nothing."""
    for way in STARTS:
        report = recorded([app("left_tree"), "loader", way], status={"exec": 0, "orphan": 5}.get(way, 1))
        got = report and facts(report)
        tap.ok(got and got[0] == "1 process not traced" and "it ended in its loader" in got[1][0], f"loader, {way}: listed as not traced", got)
        if got and way in ("spawn", "vfork", "fork"):
            ends = [(p.get("end"), p.get("exit_status")) for p in report.processes() if p["traced"] == "no"]
            tap.ok(ends == [("exit", 0)], f"loader, {way}: its status, since its parent has waited for it", ends)


KILLER = """import os, signal
for n in range(40):
    pid = os.posix_spawn("/bin/sleep", ["sleep", "60"], os.environ)
    os.kill(pid, (signal.SIGKILL, signal.SIGTERM)[n % 2])
    os.waitpid(pid, 0)
"""


def killed_before_they_began():
    """Check that programs that are killed before they reach the tracer are listed with that reason."""
    script = os.path.join(folder(), "killer.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(KILLER)
    report = recorded([sys.executable, script])
    untraced = [p for p in report.processes() if p["traced"] == "no"] if report else []
    tap.ok(untraced and {(p["reason"], p["end"]) for p in untraced} == {("it was killed before it began", "killed")}, f"{len(untraced)} of 40 were killed before they began, and that is said", untraced[:3])


def only_a_static_program():
    """Check that `trace run` says why a statically linked program has no report, and that with the preload alone it leaves nothing."""
    place = folder()
    result = run([TRACE, "run", "-o", os.path.join(place, "r"), "--", app("static_child")], env=clean_env())
    said = f"trace: no report: '{app('static_child')}' did not load the tracer: it is statically linked, so that no loader runs\n"
    tap.ok(result.err.decode().endswith(said) and not os.listdir(place), "a statically linked program: no report, and why", result)
    spool = spool_folder()
    result = run([app("static_child")], env=traced_env(os.path.join(place, "r.rep"), spool, LIBTRACE_LOG="stderr"))
    tap.ok(b"libtrace" not in result.err and not os.listdir(place) and not os.listdir(spool), "with the preload alone: nothing, as docs/limitations.md says", result)


def the_first_program():
    """Check that `trace run` lists a first program that cannot load the tracer, though its children are traced, and no other first program."""
    loader = re.search(rb"interpreter: (.*?)\]", run(["readelf", "-lW", app("left_tree")]).out).group(1).decode()
    for words, status, listed_end in ((["spawn"], 7, ("exit", 7)), (["/dev/null"], 3, (None, None))):
        report = Report(os.path.join(folder(), "r.rep"))
        result = run([TRACE, "run", "-o", report.path, "--", app("static_child"), *words, "/bin/sh", "-c", "exit 3"], env=clean_env())
        got = result.status == status and report.check().status == 0 and facts(report)
        untraced, others = ([p for p in report.processes() if (p["traced"] == "no") == is_it] for is_it in (True, False)) if got else ([], [])
        tap.ok(got and got[0] == "1 process not traced" and "statically linked" in got[1][0] and got[2] == [SHELL] and [program_of(p) for p in untraced] == ["static_child"],
               f"the first program is linked statically, {words[0]}: listed as not traced", (result, got))
        tap.ok(untraced and others and (untraced[0].get("end"), untraced[0].get("exit_status")) == listed_end and
               (others[0]["parent_pid"] if status == 7 else others[0]["pid"]) == untraced[0]["pid"] == report.info()["session"]["root_pid"],
               f"the first program is linked statically, {words[0]}: its end, and its place in the tree", (untraced, others))
    for command in ([loader, "/bin/true"], ["/bin/sh", "-c", f"{loader} /bin/true; true"]):
        report = Report(os.path.join(folder(), "r.rep"))
        result = run([TRACE, "run", "-o", report.path, "--", *command], env=clean_env())
        got = result.status == 0 and report.check().status == 0 and facts(report)
        tap.ok(got and got[0].startswith("complete") and not got[1], f"a program that {command[0]} starts by its loader: traced, and complete", (result, got))


def a_directory_of_its_own():
    """Check a program whose file the parent does not find, since it is started in another directory."""
    listed("here", "directory", "it recorded nothing")
    for way in ("same_file", "same_path"):
        traced("here", way, SHELL)


def a_pid_used_again():
    """Check that a program which never appears is not taken for an earlier one that had its pid."""
    if os.geteuid() or not os.path.exists("/proc/sys/kernel/ns_last_pid"):
        tap.skip("a pid used again", "not root, or the kernel does not let a pid be chosen")
        return
    report = Report(os.path.join(folder(), "r.rep"))
    command = [TRACE, "run", "-o", report.path, app("left_tree"), "here", "reused"]
    result = run(["unshare", "-pf", "--mount-proc", *command], env=clean_env())
    got = result.status == 0 and report.check().status == 0 and facts(report)
    tap.ok(got and got[0] == "1 process not traced" and "it recorded nothing" in got[1][0] and got[2].count(SHELL) == 1,
           "a pid used again: listed as not traced", (result, got))


def behind_a_filter():
    for way in ("spawn", "system", "popen", "vfork", "exec"):
        listed("filter", way, "behind a system call filter")
    listed("filter", "forked", "behind a system call filter")
    listed("filter", "fork", "it started behind a system call filter")  # the copy of its parent is the same process


def pids_of_another_namespace():
    """Check children whose pid is another one in their own eyes: they are not missing."""
    for way in ("spawn", "system", "popen", "vfork", "fork", "orphan"):
        traced("namespace", way, SHELL)


def no_space():
    """Check programs that find the tree and have no space for a spool."""
    if os.geteuid():
        tap.skip("no space", "not root")
        return
    script = 'mount -t tmpfs -o size=8m none /dev/shm && exec "$@"'
    for way in ("spawn", "system", "popen", "vfork", "forked"):
        report = Report(os.path.join(folder(), "r.rep"))
        command = [TRACE, "run", "-o", report.path, app("left_tree"), "full", way]
        result = run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *command], env=clean_env(TMPDIR="/nonexistent"))
        got = result.status == 0 and report.check().status == 0 and facts(report)
        tap.ok(got and not got[0].startswith("complete") and any(NO_SPOOL in reason for reason in got[1]), f"no space, {way}: listed as not traced", (result, got))


def a_report_for_each():
    """Check that programs with a report of their own (%p) are not listed as missing from that of their parent."""
    place = folder()
    result = run([TRACE, "run", "-o", os.path.join(place, "r-%p"), app("left_tree")], env=clean_env(), cwd=place)
    reports = [Report(os.path.join(place, name)) for name in os.listdir(place)]
    wrong = [facts(report) for report in reports if not report.info()["verdict"].startswith("complete")]
    tap.ok(result.status == 0 and len(reports) > 5 and not wrong, "a report for each process: each is complete", (result, wrong))


if __name__ == "__main__":
    main(as_usual, another_user, another_effective_user, files_out_of_sight, environments, ended_in_the_loader, killed_before_they_began, only_a_static_program, the_first_program, a_directory_of_its_own,
         a_pid_used_again, behind_a_filter, pids_of_another_namespace,
         no_space, a_report_for_each)
