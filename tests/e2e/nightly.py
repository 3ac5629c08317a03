#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check `trace nightly`: a month of nights on two machines in which everything goes wrong once, a store that stays sound, ranks, stores with many
writers. The verdicts depend only on counts, so the load of the machine does not matter.
"""
import contextlib
import glob
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import lib
import lib_compare as made
import libdevice as device
from lib import tap

made.enter_interpreter("trace nightly")
import trace_tools  # noqa: E402
from trace_tools import night, nightly, profile, store  # noqa: E402

TRACE_OPTIONS = "--trace-options=-t nvtx,osrt --osrt-threshold 0"
DAYS = 30


def run(*arguments):
    """Run `trace nightly` within this process: return (exit status, output)."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = nightly.main(list(arguments))
        except trace_tools.Failure as failure:
            status = 2
            print(f"trace: {failure}", file=err)
    return status, out.getvalue() + err.getvalue()


def mount_small(folder, mib):
    """Mount a small disk at `folder`, in a new mount namespace that this process enters. Return False if that is not allowed."""
    if not hasattr(os, "unshare") or os.geteuid():
        return False  # Python 3.12 has it; else the next call
    try:
        os.unshare(os.CLONE_NEWNS)
    except OSError:
        return False
    subprocess.run(["mount", "--make-rprivate", "/"], check=False, stderr=subprocess.DEVNULL)
    return not subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "none", folder], check=False, stderr=subprocess.DEVNULL).returncode


def unshare_by_libc():
    """Call unshare() for Pythons before 3.12."""
    import ctypes
    if not hasattr(os, "unshare"):
        libc = ctypes.CDLL(None, use_errno=True)
        os.CLONE_NEWNS = 0x20000

        def unshare(flags):
            if libc.unshare(flags):
                raise OSError(ctypes.get_errno(), "unshare")
        os.unshare = unshare


class Month:
    """Nights in March 2026, one per day; odd days on host a, even days on host b."""

    def __init__(self, folder, small):
        self.folder, self.small, self.verdicts, self.said = folder, small, {}, {}

    def night(self, day, command, *options, date=None, runs=2):
        host = "a" if day % 2 else "b"
        self.verdicts[day], self.said[day] = run(
            "run", "--name=job", f"--folder={self.folder}", f"--host={host}", f"--runs={runs}", "--alpha=0.05", "--baseline-nights=5", "--keep-mib=1", "--timeout=300",
            f"--commit={day:040x}", f"--now={date or f'2026-03-{day:02}T03:00:00'}", TRACE_OPTIONS, *options, "--", *command)

    def cut_off(self, day):
        """Kill the whole run in the middle of the night."""
        host = "a" if day % 2 else "b"
        process = subprocess.Popen([sys.executable, "-m", "trace_tools", "nightly", "run", "--name=job", f"--folder={self.folder}", f"--host={host}", "--runs=2",
                                    f"--now=2026-03-{day:02}T03:00:00", TRACE_OPTIONS, "--", "/bin/sh", "-c", "echo ready; sleep 600"],
                                   env={**os.environ, "PYTHONPATH": made.PACKAGES}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pattern = os.path.join(self.folder, "job", host, f"202603{day:02}*", "run-01.log")
        begun = lib.wait_until(lambda: any("ready" in open(p, encoding="utf-8").read() for p in glob.glob(pattern)))
        tap.ok(begun, "the night that will be cut off has begun")
        status, said = run("run", "--name=job", f"--folder={self.folder}", f"--host={host}", "--", "true")
        tap.ok(status == 2 and "another instance is running" in said, "a second instance is refused", said)
        process.kill()
        process.wait()
        for path in glob.glob(pattern):  # the benchmark runs in a session of its own
            self.end_sleeps(os.path.dirname(path))
        night.recover(os.path.abspath(self.folder))  # the report gives back the disk space that the writer had reserved

    @staticmethod
    def end_sleeps(folder):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read()
                if folder.encode() in words and b"sleep 600" in words:
                    os.killpg(int(pid), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                pass

    def full_disk(self, day, command):
        filler = os.path.join(self.folder, "filler")
        with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        os.truncate(filler, max(os.path.getsize(filler) - (100 << 10), 0))
        self.night(day, command)
        os.unlink(filler)


def live_through(month, program):
    good, worse = [program, "none", "5"], [program, "call", "5"]
    for day in range(1, DAYS + 1):
        if day == 5:
            month.night(day, ["/bin/sh", "-c", "exit 3"])
        elif day == 7:
            month.night(day, ["/bin/sh", "-c", "kill -9 $$"])
        elif day == 9:
            month.night(day, ["/bin/sh", "-c", "sleep 600"], "--timeout=0.3", runs=1)
        elif day == 11:
            month.cut_off(day)
        elif day == 12 and month.small:
            month.full_disk(day, good)
        elif day == 13:
            month.night(day, good, date="2026-02-01T03:00:00")
        elif day == 14:
            month.night(day, ["/none/such"], runs=1)
        else:
            month.night(day, worse if day >= 20 else good, runs=5 if day >= 19 else 2)


def a_month_goes_by():
    program = lib.app("regressed")
    if not os.path.exists(program):
        tap.skip("a month", "no headers of NVTX")
        return
    unshare_by_libc()
    folder = lib.folder()
    small = mount_small(folder, 12)
    month = Month(folder, small)
    live_through(month, program)
    said = month.said
    tap.ok(month.verdicts[5] == 3 and "status 3" in said[5], "the exit status of a failing command is passed on", said[5])
    tap.ok(month.verdicts[7] == 128 + 9 and "signal 9" in said[7], "a killed command gives the status that shells give", said[7])
    tap.ok("hung" in said[9] and month.verdicts[9], "a hung command is ended", said[9])
    if small:
        tap.ok(month.verdicts[12] == 2, "a full disk: cannot tell", said[12])
    else:
        tap.skip("a full disk", "no mounts here")
    tap.ok("the clock went back" in said[13], "a clock that was set back is reported", said[13])
    tap.ok(month.verdicts[14] == 127, "a command that is not there", said[14])
    tap.ok(all(month.verdicts[d] == 1 and worse_counts(folder, d) == {":item/:store write"} for d in range(20, 31)),
           "from the night on that one more call per item was made each is worse, there", [month.verdicts, *(worse_counts(folder, d) for d in range(20, 31))])
    tap.ok(not any(worse_counts(folder, d) for d in range(1, 20) if d != 13), "no earlier night is worse by counts (times depend on the machine)", month.verdicts)
    verdict_files(folder)
    bookkeeping(folder)
    history(folder)


def worse_counts(folder, day, month="03"):
    """Return what happened more often in a night than before."""
    found = set()
    for path in glob.glob(os.path.join(folder, "job", "*", f"2026{month}{day:02}*", "verdict.json")):
        with open(path, encoding="utf-8") as file:
            found |= {f"{w['place']} {w['name']}" for w in json.load(file).get("worse", []) if w["metric"] == "count"}
    return found


def verdict_files(folder):
    nights = [n for n in glob.glob(os.path.join(folder, "job", "*", "2*")) if os.path.isdir(n)]
    tap.ok(len(nights) == DAYS, "a folder for each night, also for those of a clock put back", sorted(nights))
    bad = []
    for night in nights:
        try:
            with open(os.path.join(night, "verdict.json"), encoding="utf-8") as file:
                if json.load(file)["verdict"] not in ("ok", "worse", "cannot tell"):
                    bad.append(night)
        except (OSError, ValueError, KeyError) as error:
            bad.append(f"{night}: {error}")
    tap.ok(not bad, "each night has a verdict", bad)
    used = sum(nightly.folder_bytes(n) for n in glob.glob(os.path.join(folder, "job", "a", "2*")))
    tap.ok(used <= 1 << 20, "reports stay under the limit", used)
    worse = sorted(glob.glob(os.path.join(folder, "job", "a", "20260329*")))[0]
    tap.ok(xml.parse(os.path.join(worse, "verdict.xml")).find(".//failure") is not None, "a worse night has its evidence as JUnit XML")


def bookkeeping(folder):
    database = os.path.join(folder, "nightly.sqlite")
    c = sqlite3.connect(database)
    tap.ok(c.execute("PRAGMA integrity_check").fetchone() == ("ok",), "the store is sound")
    nights = c.execute("SELECT host, begun, state, verdict FROM night ORDER BY id").fetchall()
    tap.ok(len(nights) >= DAYS - 1 and all(v for *_, v in nights), "the store has a verdict for each night", nights)
    outcomes = dict(c.execute("SELECT outcome, count(*) FROM run GROUP BY 1").fetchall())
    tap.ok(outcomes.get("failed") == 3 and outcomes.get("killed") == 2 and outcomes.get("hung") == 1, "the store has the outcome of each run", outcomes)
    tap.ok(("a", "2026-03-11T03:00:00", "cut off", "cannot tell") in [n[:2] + n[2:] for n in nights] or any(n[2] == "pruned" and n[1].startswith("2026-03-11") for n in nights),
           "the night that was cut off is listed as such", nights)
    c.close()
    status, said = run("accept", "--name=job", f"--folder={folder}", "--host=a")
    tap.ok(status == 0 and "is the baseline" in said, "a night that is worse can be accepted", said)
    status, said = run("run", "--name=job", f"--folder={folder}", "--host=a", "--runs=5", "--alpha=0.05", TRACE_OPTIONS, "--now=2026-04-01T03:00:00", "--", lib.app("regressed"), "call", "5")
    tap.ok(not worse_counts(folder, 1, "04"), "after that the same counts are not worse", said)
    status, said = run("list", "--name=job", f"--folder={folder}")
    tap.ok(status == 0 and said.count("\n") >= DAYS, "trace nightly list prints the nights", said)


def history(folder):
    status, said = run("report", "--name=job", f"--folder={folder}", "--host=b")
    with open(os.path.join(folder, "job", "b", "history.html"), encoding="utf-8") as file:
        page = file.read()
    tap.ok(status == 0 and "<svg" in page and "<script" not in page, "a history with plots", said)
    moved = [line for line in page.splitlines() if line.startswith(("<li>", "<ul><li>")) and "write: count" in line]
    tap.ok(len(moved) == 1 and f"commit {20:040x}"[:19] in moved[0] and "2026-03-20" in moved[0], "the history says in which night and with which commit an item changed", moved)
    tap.ok("/verdict.txt'" in page, "the history links to the verdicts")


LAUNCHER = """#!/bin/sh
# as mpirun: so many copies, each with its rank
n=$1; shift; i=0
while [ $i -lt $n ]; do OMPI_COMM_WORLD_RANK=$i "$@" & i=$((i + 1)); done
wait
"""


def ranks_have_reports_of_their_own():
    folder = lib.folder()
    launcher = os.path.join(folder, "launch")
    with open(launcher, "w", encoding="ascii") as file:
        file.write(LAUNCHER)
    os.chmod(launcher, 0o755)
    status, said = run("run", "--name=mpi", f"--folder={folder}", "--host=a", "--runs=1", "--ranks=0,2", "--", launcher, "4", "{trace}", "/bin/echo", "rank")
    reports = sorted(os.path.basename(p) for p in glob.glob(os.path.join(folder, "mpi/a/2*/*.rep")))
    tap.ok(status == 2 and reports == ["run-01-rank-0.rep", "run-01-rank-2.rep"], "ranks that are chosen have a report each", f"{status} {said} {reports}")
    logs = [open(p, encoding="utf-8").read() for p in glob.glob(os.path.join(folder, "mpi/a/2*/run-01.log"))]
    tap.ok(logs and logs[0].count("rank\n") == 4, "all ranks run", logs)
    c = sqlite3.connect(os.path.join(folder, "nightly.sqlite"))
    tap.ok([r[0] for r in c.execute("SELECT rank FROM run ORDER BY rank")] == ["0", "2"], "the store knows them")
    c.close()


class OldSqlite(sqlite3.Connection):
    """SQLite before 3.35, as Python of RHEL 8 and 9 has it."""
    def execute(self, sql, *values):
        if "RETURNING" in sql:
            raise sqlite3.OperationalError('near "RETURNING": syntax error')
        return super().execute(sql, *values)


def old_sqlite_is_enough():
    new = sqlite3.connect
    sqlite3.connect = lambda *arguments, **more: new(*arguments, factory=OldSqlite, **more)
    try:
        with tempfile.TemporaryDirectory() as place:
            kept = store.Store(os.path.join(place, "nights.sqlite"))
            ids = [kept.night_begin("job", "host", f"2026-01-0{day}", None, place) for day in (1, 2)]
            kept.close()
    except trace_tools.Failure as failure:
        ids = str(failure)
    finally:
        sqlite3.connect = new
    tap.ok(ids == [1, 2], "a store needs no statement that SQLite before 3.35 lacks", ids)


def options_come_from_a_file_too():
    folder = lib.folder()
    config = os.path.join(folder, "nightly.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write(f"[nightly]\nname = conf\nfolder = {folder}/kept\nruns = 7\nhost = h\ntrace-options = -t osrt\n")
    status, said = run("run", f"--config={config}", "--runs=3", "--dry-run", "--", "./bench", "--token=geheim", "PASSWORD=x")
    tap.ok(status == 0 and "would run 3 times" in said and "run -t osrt" in said and not os.path.exists(os.path.join(folder, "kept")), "a dry run says what would be done, and does nothing", said)
    tap.ok("geheim" not in said and "PASSWORD=REDACTED" in said, "secrets are not repeated", said)
    os.mkdir(os.path.join(folder, "kept"))
    status, said = run("list", f"--config={config}")
    tap.ok(status == 2 and said == "trace: no nights of 'conf'\n", "other commands read the same configuration file", said)
    status, said = run("list", f"--folder={folder}/kept")
    tap.ok(status == 0 and said.startswith("Night") and said.count("\n") == 1, "of all benchmarks there may be none yet", said)
    status, said = run("run", "--name=x", f"--folder={folder}", "--dry-run", "--trace-options", "-t nvtx", "--", "true")
    tap.ok(status == 0 and "run -t nvtx -f true" in said, "options of 'trace run' stand behind a blank or an equals sign", said)
    with open(config, "a", encoding="ascii") as file:
        file.write("colour = red\n")
    status, said = run("run", f"--config={config}", "--", "true")
    tap.ok(status == 2 and "unknown option 'colour'" in said, "an unknown option in the file is reported", said)
    for arguments, what in ((("run", "--", "true"), "--name"), (("run", "--name=x"), "no COMMAND given"), (("run", "--name=../x", "--", "true"), "invalid benchmark name"),
                            (("report", "--name=none", f"--folder={folder}"), "no nights"), (("run", "--name=x", "--runs=x", "--", "true"), "--runs: invalid value 'x': expected an integer of at least 1"),
                            (("run", "--name=x", "--alpha=2", "--", "true"), "--alpha: invalid value '2': expected a number between 0 and 1"), (("run", "--name=x", "--keep-days=nan", "--", "true"), "--keep-days: invalid value 'nan'"),
                            (("run", "--name=x", "--ranks=a", "--", "true"), "--ranks: 'a' is not a list of ranks"), (("run", "--name=x", "--trace-options='", "--", "true"), "closing quotation"),
                            (("prune", "--name=x", "--keep-nights=0"), "--keep-nights: invalid value '0'"), (("run", "--name=x", "--host=a/b", "--", "true"), "invalid host name")):
        status, said = run(*arguments)
        tap.ok(status == 2 and what in said and said.count("\n") == 1, f"one line: {what}", said)


def a_night(folder, day, *command, options=()):
    return run("run", "--name=kept", f"--folder={folder}", "--host=a", "--runs=1", f"--now=2026-05-{day:02}T03:00:00", *options, "--", *command)


def each_run_counts_another_group_of_metrics():
    folder = lib.folder()
    told = os.path.join(folder, "told")
    run("run", "--name=groups", f"--folder={folder}", "--host=a", "--runs=3", "--", "/bin/sh", "-c", f"echo $LIBTRACE_GPU_METRICS_PASS >>{told}")
    with open(told, encoding="utf-8") as file:
        found = file.read().split()
    tap.ok(found == ["1", "2", "3"], "the runs of a night count groups of hardware metrics in turn", found)
    run("run", "--name=groups", f"--folder={folder}", "--host=a", "--runs=3", "--", "/bin/true")
    verdicts = []
    for name in sorted(glob.glob(os.path.join(folder, "groups/a/*/verdict.txt"))):
        with open(name, encoding="utf-8") as file:
            verdicts.append(file.read())
    tap.ok(verdicts and "differs: " in verdicts[-1] and "gpu_metrics_pass" not in verdicts[-1], "which is not reported as a difference", verdicts)


def nights_with_reports_are_counted():
    folder = lib.folder()

    def holding():
        return [int(os.path.basename(n)[6:8]) for n in sorted(glob.glob(os.path.join(folder, "kept/a/2*"))) if glob.glob(os.path.join(n, "*.rep"))]

    a_night(folder, 1, "/bin/true", options=["--commit=1"])
    for day in range(2, 7):
        status, said = a_night(folder, day, "/bin/sh", "-c", "echo no such data >&2; exit 4", options=["--commit=1", "--keep-nights=3"])
    tap.ok(status == 4 and "run 1: failed (status 4): no such data" in said, "the last line of a run that failed is reported", said)
    tap.ok(holding() == [1, 5, 6], "--keep-nights nights have reports, those of the baseline among them", holding())
    status, said = run("prune", "--name=kept", f"--folder={folder}", "--host=a", "--keep-nights=1", "--now=2026-05-06T04:00:00", "--dry-run")
    tap.ok(status == 0 and said.startswith("would remove the reports of 1 nights;") and "/20260505-" in said and said.rstrip().endswith("MiB") and holding() == [1, 5, 6],
           "prune --dry-run says what would go, and removes nothing", f"{said} {holding()}")
    status, said = run("prune", "--name=kept", f"--folder={folder}", "--host=a", "--keep-nights=1", "--now=2026-05-06T04:00:00")
    tap.ok(status == 0 and "of 1 nights; those of the baseline and of the last night are always kept" in said and holding() == [1, 6],
           "the baseline's and the last night's stay in any case, and that is said", f"{said} {holding()}")
    tap.ok(len(glob.glob(os.path.join(folder, "kept/a/2*/verdict.json"))) == 6, "all verdicts are kept")
    before = run("list", f"--folder={folder}"), sorted(os.listdir(os.path.join(folder, "kept/a")))
    for wrong, what in (("--osrt-threshold x", "invalid argument 'x' for --osrt-threshold"), ("--colour red", "unknown option '--colour'"), ("osrt", "cannot run 'osrt'"),
                        ("-t osrt ls", "not options of 'trace run' alone"), ("--capture-range=quux", "--capture-range quux"), ("--help", "not options of 'trace run' alone")):
        status, said = a_night(folder, 7, "/bin/true", options=["--trace-options", wrong])
        tap.ok(status == 2 and "--trace-options: " in said and what in said and said.count("\n") == 1, f"wrong options of 'trace run' are refused in one line: {what}", said)
    after = run("list", f"--folder={folder}"), sorted(os.listdir(os.path.join(folder, "kept/a")))
    tap.ok(before == after, "a night that was refused is not stored", after)
    status, said = a_night(folder, 8, "/bin/sh", "-c", "pkill -KILL -P $PPID libtrace-write; kill -KILL $$")
    reports = glob.glob(os.path.join(folder, "kept/a/20260508*/*.rep"))
    tap.ok(status == 137 and len(reports) == 1 and lib.Report(reports[0]).check().status == 0, "a writer that was killed with its run: the report is recovered", f"{status} {said} {reports}")


def two_nights_at_once():
    """Check that nights of two benchmarks may run at the same time, also when both create the store."""
    folder = lib.folder()
    environment = {**os.environ, "PYTHONPATH": made.PACKAGES}
    nights = [subprocess.Popen([sys.executable, "-m", "trace_tools", "nightly", "run", f"--name={name}", f"--folder={folder}", "--host=a", "--runs=3", "--", "/bin/true"], env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for name in ("one", "two")]
    said = [night.communicate()[1] for night in nights]
    kept = store.Store(os.path.join(folder, "nightly.sqlite"))
    found = [(n["benchmark"], n["state"], len(kept.profiles(n["id"]))) for n in kept.nights()]
    kept.close()
    tap.ok(sorted(found) == [("one", "done", 3), ("two", "done", 3)] and all(night.returncode == 2 for night in nights), "nights of two benchmarks at once do not disturb each other", f"{found} {said}")


def failed_nights_are_no_baseline():
    """Check that failed nights are no baseline: 'exit 4' leaves reports, but no whole run."""
    folder = lib.folder()

    def accept(*night):
        return run("accept", "--name=kept", f"--folder={folder}", "--host=a", *night)

    def baseline():
        with contextlib.closing(sqlite3.connect(os.path.join(folder, "nightly.sqlite"))) as c:
            return [row[0] for row in c.execute("SELECT id FROM night WHERE is_baseline = 1 ORDER BY id")]

    failing = ("/bin/sh", "-c", "exit 4")
    a_night(folder, 1, *failing)
    status, said = accept()
    tap.ok(status == 2 and "no night of 'kept' on 'a' has a complete run" in said and said.count("\n") == 1 and not baseline(), "with failed nights alone there is nothing to accept", said)
    a_night(folder, 2, "/bin/true")
    a_night(folder, 3, *failing)
    before = baseline()
    status, said = accept("3")
    tap.ok(status == 2 and "night 3 has no complete run" in said and "status 4" in said and said.count("\n") == 1 and baseline() == before,
           "a night that failed is not accepted, and the baseline stays", f"{said} {before} {baseline()}")
    status, said = accept()
    tap.ok(status == 0 and said.startswith("night 2 ") and baseline() == [2], "accept without a number takes the last night that has a whole run", f"{said} {baseline()}")


WRITER = """
import sys
from trace_tools import store
from trace_tools.profile import Item, Key, Profile
kept = store.Store(sys.argv[1])
host = sys.argv[2]
for n in range(8):
    night = kept.night_begin('many', host, f'2026-03-{n + 1:02}T00:00:00', None, '/none')
    for r in range(3):
        kept.run_add(night, r, None, True, 'ok', 0, None, 5, 'x', 1, Profile('x', {Key('call', 'p', '', f'f{i}'): Item(i, i, 1.5, 0) for i in range(50)}))
    kept.night_end(night, 'ok', '', True, None, '')
"""


def many_write(url, name):
    environment = {**os.environ, "PYTHONPATH": made.PACKAGES}
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, url, f"h{i}"], env=environment, stderr=subprocess.PIPE) for i in range(4)]
    errors = [w.communicate()[1] for w in writers]
    tap.ok(not any(w.returncode for w in writers), f"{name}: four write at once", errors)
    kept = store.Store(url)
    counts = [kept.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("night", "run", "item")]
    tap.ok(counts == [32, 96, 4800], f"{name}: concurrent writers lose nothing", counts)
    read = kept.profiles(kept.nights("many", "h2")[3]["id"])
    tap.ok(len(read) == 3 and read[0].items[profile.Key("call", "p", "", "f7")] == profile.Item(7, 7, 1.5, 0), f"{name}: the store returns what was written")
    kept.night_begin("later", "h", "2026-04-01T00:00:00", None, "/none")
    kept.close()
    kept = store.Store(url)
    tap.ok(len(kept.nights("later")) == 1, f"{name}: what is written after a read stays")
    kept.close()


def many_writers_lose_nothing():
    folder = lib.folder()
    many_write(os.path.join(folder, "many.sqlite"), "SQLite")
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    try:
        import psycopg  # noqa: F401
    except ImportError:
        binaries = []
    if not binaries:
        tap.skip("PostgreSQL", "no server, or no psycopg (scripts/setup --tests --python)")
        return
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if not os.geteuid() else {}
    data = os.path.join(folder, "pg")
    os.mkdir(data)
    os.chmod(folder, 0o755)
    if user:
        shutil.chown(data, "postgres")
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": "/", **user}
    made_it = subprocess.run([f"{binaries[-1]}/initdb", "-D", f"{data}/db", "-U", "nights", "-A", "trust", "--no-sync"], check=False, **quiet)
    server = subprocess.Popen([f"{binaries[-1]}/postgres", "-D", f"{data}/db", "-k", data, "-c", "listen_addresses=", "-c", "fsync=off"], **{**quiet, "stderr": subprocess.DEVNULL})
    try:
        ready = lib.wait_until(lambda: not subprocess.run([f"{binaries[-1]}/pg_isready", "-h", data], check=False, **quiet).returncode)
        if tap.ok(ready and not made_it.returncode, "a server of PostgreSQL has begun", made_it.stderr):
            many_write(f"host={data} user=nights dbname=postgres", "PostgreSQL")
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    status, said = run("list", "--name=x", f"--store=postgresql://u:geheim@localhost:1/none?host={data}")
    tap.ok(status == 2 and "geheim" not in said and said.count("\n") == 1, "a missing server is reported in one line, without the password", said)


def facts_are_in_the_report():
    """Check the fact git_commit, which is read without git: from a plain repository, packed references, a linked working tree, and a folder deep inside."""
    folder = lib.folder()
    repository = os.path.join(folder, "repository")

    def git(*arguments, where=repository):
        return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@e", *arguments], cwd=where, capture_output=True, text=True, check=False).stdout.strip()

    os.makedirs(os.path.join(repository, "deep/er"))
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("worktree", "add", "-q", "../tree")
    cases = [("a repository", repository), ("a folder inside", os.path.join(repository, "deep/er")), ("a further working tree", os.path.join(folder, "tree"))]
    wanted = {name: git("rev-parse", "HEAD", where=where) for name, where in cases}
    if not wanted["a repository"]:
        tap.skip("git_commit", "no git")
        return

    def check(name, where, commit):
        report = os.path.join(folder, "x.rep")
        result = lib.trace("run", "-f", "true", "-o", report, "--", "/bin/true", cwd=where)
        facts = json.loads(lib.trace("info", "--json", report).out)["session"]["facts"]
        found = [f for f in facts if f.startswith("git_commit=")]
        tap.ok(found == ([f"git_commit={commit}"] if commit else []), f"the commit is in the report: {name}", f"{facts} {result.err}")
        return facts

    for name, where in cases:
        check(name, where, wanted[name])
    git("pack-refs", "--all")
    check("packed references", repository, wanted["a repository"])
    git("checkout", "-q", "--detach")
    facts = check("no branch", repository, wanted["a repository"])
    names = {f.split("=")[0] for f in facts}
    tap.ok({"memory", "cpus_allowed", "load"} <= names, "facts of the machine are in the report", facts)
    os.mkdir(os.path.join(folder, "plain"))
    check("no repository", os.path.join(folder, "plain"), None)


MACHINE = """mount -t tmpfs none /sys || exit 125
cd /sys && mkdir -p devices/system/cpu/cpu0/cpufreq devices/system/cpu/intel_pstate devices/system/cpu/smt class/powercap/intel-rapl:0 fs/cgroup/cpu fs/cgroup/memory
echo $GOVERNOR >devices/system/cpu/cpu0/cpufreq/scaling_governor
echo 1 >devices/system/cpu/intel_pstate/no_turbo
echo 1 >devices/system/cpu/smt/active
echo $LIMIT >class/powercap/intel-rapl:0/constraint_0_power_limit_uw
echo 200000000 >class/powercap/intel-rapl:0/constraint_1_power_limit_uw
echo 150000 100000 >fs/cgroup/cpu.max; echo 150000 >fs/cgroup/cpu/cpu.cfs_quota_us; echo 100000 >fs/cgroup/cpu/cpu.cfs_period_us
echo 629145600 >fs/cgroup/memory.max; echo 629145600 >fs/cgroup/memory/memory.limit_in_bytes
cd "$PLACE"; exec "$@"
"""


def machines_that_differ_are_refused():
    """Check that machines that differ are refused; a fake /sys describes the machine."""
    place = lib.folder()

    def recorded(name, governor, limit):
        environment = lib.clean_env(GOVERNOR=governor, LIMIT=limit, PLACE=place)
        return lib.run(["unshare", "-rm", "sh", "-c", MACHINE, "sh", lib.TRACE, "run", "-f", "true", "-o", name, "--", "/bin/true"], env=environment)

    results = [recorded("base", "performance", 125000000), recorded("other", "powersave", 95000000), recorded("same", "performance", 125000000)]
    if any(r.status for r in results):
        tap.skip("facts of /sys", f"no mounts here: {results[0].err}")
        return
    facts = set(json.loads(lib.trace("info", "--json", f"{place}/base.rep").out)["session"]["facts"])
    wanted = {"governor=performance", "turbo=off", "smt=1", "cpu_power_limit_long_0=125000000 uW", "cpu_power_limit_short_0=200000000 uW", "cgroup_cpu_max=150000 100000",
              "cgroup_memory_max=629145600"}
    tap.ok(wanted <= facts, "the report has the facts that the machine reports", wanted - facts)
    result = made.command("diff", f"{place}/base.rep", "--", f"{place}/other.rep")
    said = (result.out + result.err).decode()
    tap.ok(result.status == 2 and "governor: performance -> powersave" in said and "cpu_power_limit_long_0: 125000000 uW -> 95000000 uW" in said and "not comparable" in said,
           "another governor, another power limit: reported, and not compared", said)
    for options, other in ((["--force"], "other"), ([], "same")):
        result = made.command("diff", *options, f"{place}/base.rep", "--", f"{place}/{other}.rep")
        tap.ok(b"not comparable" not in result.out + result.err, f"compared: {other} {options}", result)


def gpus_that_differ_are_refused():
    """Check that GPUs that differ are refused; a fake NVML describes them, and the program runs on the simulated device."""
    reason = device.missing("driver_api")
    if reason:
        tap.skip("facts of GPUs", reason)
        return
    place = lib.folder()
    libraries = os.path.join(place, "libraries")
    shutil.copytree(device.folder(), libraries)
    shutil.copy(lib.app("libnvml.so"), os.path.join(libraries, "libnvidia-ml.so.1"))

    def recorded(name, *program, **more):
        return lib.trace("run", "-f", "true", "-o", name, "--", *program, cwd=place, env=device.env(**{"LD_LIBRARY_PATH": libraries, "NVML_GPUS": 2, **more}))

    def facts(name):
        return {f for f in json.loads(lib.trace("info", "--json", f"{place}/{name}.rep").out)["session"]["facts"] if f.startswith("gpu_")}

    program = device.app("driver_api")
    results = [recorded("base", program, NVML_POWER_MW=700000), recorded("other", program, NVML_POWER_MW=500000)]
    wanted = {"gpu_0_name=Made up", "gpu_0_power_limit=700000 mW", "gpu_0_max_clocks=graphics 1980 MHz, memory 2619 MHz", "gpu_0_application_clocks=graphics 1410 MHz, memory 1410 MHz",
              "gpu_0_ecc=on", "gpu_0_mig=off", "gpu_0_persistence=on", "gpu_1_name=Made up", "gpu_1_power_limit=700000 mW", "gpu_1_max_clocks=graphics 1980 MHz, memory 2619 MHz",
              "gpu_1_persistence=on"}
    tap.ok(not any(r.status for r in results) and facts("base") == wanted, "the report has the facts that GPUs report, and no others", facts("base") ^ wanted)
    tap.ok(lib.Report(f"{place}/base.rep").check().status == 0, "a report with facts of GPUs is sound")
    result = made.command("diff", f"{place}/base.rep", "--", f"{place}/other.rep")
    said = (result.out + result.err).decode()
    tap.ok(result.status == 2 and "gpu_0_power_limit: 700000 mW -> 500000 mW" in said and "not comparable" in said, "runs with another power limit are reported and not compared", said)
    recorded("plain", "/bin/true", NVML_HANGS=1)
    tap.ok(not facts("plain"), "a program without CUDA: nobody asks")
    result = recorded("hung", program, NVML_HANGS=1)
    tap.ok(result.status == results[0].status and not facts("hung") and lib.Report(f"{place}/hung.rep").check().status == 0, "no answer: the report is as without", result)


def secrets_are_not_in_reports():
    folder = lib.folder()
    given = ["--hf-token", "geheim1", "--API_KEY=geheim22", "PASSWORD=geheim3", "PGPASSWORD=geheim4", "--secret=g", "--max-tokens=512", "--tokenizer", "bert", "--token", "--verbose", "plain=x"]
    shown = ["--hf-token", "REDACTED", "--API_KEY=REDACTED", "PASSWORD=*******", "PGPASSWORD=*******", "--secret=*", "--max-tokens=512", "--tokenizer", "bert", "--token", "--verbose", "plain=x"]
    report = os.path.join(folder, "x.rep")
    result = lib.trace("run", "-o", report, "--", "/bin/echo", *given)
    with open(report, "rb") as file:
        content = file.read()
    arguments = json.loads(lib.trace("info", "--json", report).out)["processes"][0]["arguments"]
    tap.ok(arguments[1:] == shown and b"geheim" not in content, "arguments whose names say so are not in the report, others are", arguments)
    tap.ok(result.out.decode().split() == given, "the program gets its own arguments", result.out)


lib.main(old_sqlite_is_enough, secrets_are_not_in_reports, machines_that_differ_are_refused, gpus_that_differ_are_refused, facts_are_in_the_report, ranks_have_reports_of_their_own, each_run_counts_another_group_of_metrics, nights_with_reports_are_counted, failed_nights_are_no_baseline, two_nights_at_once, options_come_from_a_file_too, many_writers_lose_nothing, a_month_goes_by)
