#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""`trace analyze`: each rule finds the defect planted for it, and nothing in a program without one.

CPU rules run on programs that are traced here (tests/apps/planted.c), GPU rules on generated databases and on exports of nsys. If nsys
has been fetched (PEERS, default /tmp/peers), `nsys analyze` runs on them, too.
"""
import contextlib
import csv
import fcntl
import glob
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import TRACE, app, clean_env, fixtures, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402
from libpeers import NSYS  # noqa: E402
import _made_database as made  # noqa: E402

PLACE = folder()
FIXTURES = fixtures("nsys")
MADE, QUIET = (os.path.join(PLACE, name + ".sqlite") for name in ("made", "quiet"))
GPU_RULES = ("cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync", "cuda_api_sync", "gpu_gaps:gap=0", "gpu_time_util")
made.make(MADE)
made.make_quiet(QUIET)


def findings(path, *options):
    """Return the rows by rule."""
    result = trace("analyze", "-f", "json", *options, path)
    if result.status not in (0, 3):
        raise RuntimeError(f"trace analyze: {result.status} {result.err!r}")
    return {rule["rule"]: rule["rows"] for rule in json.loads(result.out)}


def found(path, *options):
    return {rule for rule, rows in findings(path, *options).items() if rows}


def traced(mode, name=None, program=None, **options):
    spool, report = spool_folder(), os.path.join(PLACE, (name or mode) + ".rep")
    result = run([program or app("planted"), mode], env=traced_env(report, spool, threshold=0, **options))
    wait_spool_gone(spool)
    if result.status != 0:
        raise RuntimeError(f"planted {mode}: {result}")
    return report


# ---- planted defects ----

def on_programs():
    """Check each mode of planted.c. thread_waits reports any thread that waits, so it may find one in other modes, too."""
    for mode, rule in (("calm", None), ("convoy", "lock_convoy"), ("waits", "thread_waits"), ("tiny", "tiny_io"), ("crowd", "oversubscription"), ("starts", "startup_cost")):
        have, expected = found(traced(mode)), {rule} if rule else set()
        more = {"thread_waits"} if mode in ("convoy", "starts") else set()
        tap.ok(expected <= have <= expected | more, f"planted {mode}: {rule or 'nothing'} is found", have)


def on_samples():
    """Check the rules about CPU samples and threads' counters: each finds its defect, and none where there is no such defect."""
    sampled = {"LIBTRACE_SAMPLE": "process-tree"}
    rules = {"hot_function", "kernel_occupancy", "migrations", "page_faults"}
    for mode, expected, name in (("hot", {"hot_function"}, "spin"), ("faults", {"page_faults"}, None), ("even", set(), None), ("waits", set(), None)):
        have = findings(traced(mode, **sampled))
        # Others may make a thread wait for a CPU, or move it.
        tap.ok({rule for rule in rules - {"migrations"} if have[rule]} - ({"hot_function"} if mode == "faults" else set()) == expected, f"planted {mode}: {sorted(expected) or 'nothing'} is found", have)
        if name:
            tap.ok([row["Function"] for row in have["hot_function"]] == [name] and f"{name} < hot < main" in have["hot_function"][0]["Most Frequent Callchain"], "the hot function is named, with its callers", have["hot_function"])
        if mode == "faults":
            tap.ok(have["page_faults"] and have["page_faults"][0]["Minor Faults"] >= 60 * 1024, "page faults are counted", have["page_faults"])
    stripped = os.path.join(PLACE, "stripped")
    if shutil.which("strip"):
        subprocess.run(["strip", "-s", "-o", stripped, app("planted")], check=True)
        row = findings(traced("hot", "hot-stripped", stripped, **sampled))["hot_function"]
        tap.ok([(r["Function"], os.path.basename(r["Module"])) for r in row] == [("[no symbol]", "stripped")] and row[0]["Most Frequent Callchain"].startswith("[no symbol] < "),
               "the code of a module without symbols counts as one function", row)
    else:
        tap.skip("a program without symbols", "no strip")
    if len(os.sched_getaffinity(0)) > 1:
        row = findings(traced("moves", LIBTRACE_SAMPLING_FREQUENCY="250", **sampled))["migrations"]
        tap.ok(len(row) == 1 and row[0]["CPUs Seen"] == len(os.sched_getaffinity(0)), "a thread that migrates is found", row)
    else:
        tap.skip("a thread that migrates", "needs two CPUs")


def says_why_nothing_is_found():
    """Check that a rule without data names the option that records it, and that a rule with too few samples says so."""
    text = trace("analyze", traced("calm")).out.decode()
    tap.ok("hot_function: no data: CPU samples (--sample=process-tree)\n" in text and "page_faults: no data: threads' counters (--thread-time=process-tree)\n" in text,
           "a rule without data says how to record it", text)
    text = trace("analyze", "-r", "hot_function", traced("even", "few", LIBTRACE_SAMPLE="process-tree", LIBTRACE_SAMPLING_FREQUENCY="1")).out.decode()
    tap.ok("hot_function: nothing found: no process has 50 CPU samples, which are needed to tell; the most are " in text, "with too few samples nothing can be found", text)


SPINS = "import time\nwhile time.process_time() < 1: pass"
BLOCKS = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])\n"


def says_why_there_are_no_samples():
    """Check that a program whose threads block SIGURG is not said to lack --sample, which was given."""
    for name, code, block in (("always", SPINS, {signal.SIGURG}), ("later", BLOCKS + SPINS, ())):
        report = os.path.join(PLACE, f"blocks-{name}.rep")
        command = [TRACE, "run", "-o", report, "--sample=process-tree", "--sampling-frequency=50", "--", sys.executable, "-c", code]
        done = subprocess.run(command, env=clean_env(), stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              preexec_fn=lambda mask=block: signal.pthread_sigmask(signal.SIG_BLOCK, mask))
        cause = rb"CPU samples were requested and cover \d\.\d+ s of \d\.\d+ s of processor time; threads blocked SIGURG, the signal that takes them, "
        text = trace("analyze", report).out
        wanted = rb"hot_function: no data: " if block else rb"hot_function: nothing found: no process has 50 CPU samples, .*; "
        tap.ok(re.search(wanted + cause, text), f"a program that blocks SIGURG {name}: analyze says so", text)
        tap.ok(re.search(rb"trace: CPU samples cover \d\.\d+ s of \d\.\d+ s of processor time, since threads blocked SIGURG", done.stderr), "run says so, too", done.stderr)
        skipped = trace("stats", "-r", "cpu_by_function", report).out
        tap.ok(not block or re.search(rb"SKIPPED: .* does not contain CPU samples data: " + cause, skipped), "and stats", skipped)


def says_nothing_of_an_unknown_time():
    """Check that the processor time of processes, which is not known if one was killed, is not printed as 0."""
    report = os.path.join(PLACE, "killed-sampled.rep")
    code = "import os, time\npid = os.fork()\nwhile not pid: pass\ntime.sleep(0.3); os.kill(pid, 9); os.wait()"
    trace("run", "-o", report, "--sample=process-tree", "--", sys.executable, "-c", code)
    text = trace("analyze", "-r", "hot_function", report).out
    tap.ok(b"; CPU samples were requested and cover " in text and b"of processor time" not in text, "an unknown processor time is left out", text)


def waits_of_a_replaced_program():
    """Check that a wait has the name of the program that waited, though its process executed another one later."""
    report = os.path.join(PLACE, "replaced.rep")
    trace("run", "-o", report, "--", "sh", "-c", "sleep 0.3; exec sleep 0.01")
    rows = findings(report, "-r", "thread_waits")["thread_waits"]
    tap.ok(sorted(row["Thread Name"] for row in rows) == ["sh", "sleep"], "a wait has the name of the program that waited", rows)


def by_the_counters():
    """Check the rule about more threads than CPUs, by the kernel's counters: a thread that wants no CPU does not count, although it is in no recorded call."""
    report = traced("crowd", "crowd-counted", LIBTRACE_THREAD_TIME="process-tree")
    have = findings(report)
    row = have["oversubscription"][0] if have["oversubscription"] else {}
    tap.ok(row and row["Most Running"] >= row["Avg Running"] > row["CPUs"] >= 1, "too many threads are found", have["oversubscription"])
    # The last reading of a thread often lacks its time without a CPU.
    tap.ok(row.get("Share (%)", 0) >= 75, "until they end", have["oversubscription"])
    tap.ok(len(have["cpu_waits"]) >= 2 * row.get("CPUs", 1) and all(r["Waited (ns)"] >= 1e8 for r in have["cpu_waits"]), "they wait for CPUs", have["cpu_waits"])
    for options, expected in (({}, True), ({"LIBTRACE_THREAD_TIME": "process-tree"}, False)):
        rows = findings(traced("rawsleep", f"raw-{expected}", **options))
        tap.ok(bool(rows["oversubscription"]) == expected and not rows["cpu_waits"], f"threads that sleep in no recorded call {'look as if they ran' if expected else 'do not run, by their counters'}", rows["oversubscription"])


def convoy_told():
    report = os.path.join(PLACE, "convoy.rep")
    row = findings(report, "-r", "lock_convoy")["lock_convoy"][0]
    tap.ok(row["Threads"] == 3 and row["Waits"] >= 20 and row["Function"] == "pthread_mutex_lock", "a convoy is reported with its threads and waits", row)
    tap.ok("convoy_member" in row["Waiter Callchain"], "a convoy names the waiting call", row)
    tap.ok(row["Holder Call"] == "nanosleep" and "write_the_log < convoy_member" in row["Holder Callchain"], "a convoy says what the holder did, with its callchain", row)
    tap.ok(row["Holder TID"] > 0 and row["Holder Name"] == "planted", "a convoy names the holder", row)
    row = findings(os.path.join(PLACE, "tiny.rep"), "-r", "tiny_io")["tiny_io"]
    tap.ok({r["Function"] for r in row} == {"read", "write"} and all(r["Calls"] == 20000 and r["Avg Bytes"] == 1.0 for r in row), "tiny I/O is reported with its number of calls", row)
    row = findings(os.path.join(PLACE, "starts.rep"), "-r", "startup_cost")["startup_cost"][0]
    tap.ok(row["Count"] == 30 and row["Of"] == "true", "short processes are reported by program and number", row)
    row = findings(os.path.join(PLACE, "crowd.rep"), "-r", "oversubscription")["oversubscription"][0]
    tap.ok(row["Most Running"] >= row["Avg Running"] > row["CPUs"] >= 1, "too many threads are reported with their number", row)


SLEEPERS = """import os, threading, time
def sleep(end): os.read(end, 1)
ends = os.pipe()
for i in range(8 * os.cpu_count() + 8): threading.Thread(target=sleep, args=(ends[0],), daemon=True).start()
end = time.monotonic() + 0.5
while time.monotonic() < end: pass
os._exit(0)
"""


def sleepers_do_not_run():
    """Check that threads do not count as running while they sleep in a call that has not returned when the process ends."""
    report = os.path.join(PLACE, "sleepers.rep")
    done = trace("run", "-o", report, "--", sys.executable, "-c", SLEEPERS)
    unfinished = trace("query", report, "SELECT count(*) > 8 FROM LIBTRACE_OSRT_UNFINISHED WHERE duration > 300000000", "-f", "csv")
    tap.ok(done.status == 0 and unfinished.out.split()[-1:] == [b"1"], "more threads than CPUs sleep in unfinished calls", (done, unfinished))
    rows = findings(report, "-r", "oversubscription")["oversubscription"]
    tap.ok(not rows, "they do not count as running", rows)


COMPUTES = """import os, time
time.sleep(0.3)
end = time.monotonic() + 1
while time.monotonic() < end: pass
os._exit(0)
"""


def time_after_the_last_call_counts():
    """Check that a thread counts until its end, not until its last recorded call: it may compute after that call."""
    report = os.path.join(PLACE, "computes.rep")
    done = trace("run", "-o", report, "--", sys.executable, "-S", "-c", COMPUTES)
    lives = trace("query", report, 'SELECT max(e.timestamp) - max(o."end") > 500000000 FROM LIBTRACE_THREAD_END AS e, OSRT_API AS o', "-f", "csv")
    tap.ok(done.status == 0 and lives.out.split()[-1:] == [b"1"], "a thread ends long after its last call", (done, lives))
    rows = findings(report, "-r", "thread_waits")["thread_waits"]
    tap.ok(not rows, "a thread that computes after its last call does not wait most of its time", rows)


def no_word_of_cuda():
    """Check that programs without CUDA get no advice about it: its rules print one line."""
    report = os.path.join(PLACE, "starts.rep")
    result = trace("analyze", report)
    lines = result.out.decode().splitlines()
    tap.ok([line for line in lines if "cuda" in line.lower()] == ["No CUDA data: CUDA was not used or not recorded; its rules are skipped"]
           and not any("gpu_" in line for line in lines if not line.startswith("gpu_throttled: no data: samples of the machine")) and "Start-up Cost (startup_cost)" in result.out.decode(), "analyze of a report without CUDA", lines)
    tap.ok(set(findings(report)) >= {"cuda_api_sync", "gpu_gaps", "startup_cost"}, "as JSON all rules are there", sorted(findings(report)))
    made_too = os.path.join(PLACE, "starts_cuda.sqlite")
    trace("export", "-t", "sqlite", "-o", made_too, report)
    with contextlib.closing(sqlite3.connect(made_too)) as c, c:
        c.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, "
                  "returnValue INTEGER, callchainId INTEGER)")
        c.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, 1, 1, 1, 0, 0)")
    text = trace("analyze", made_too).out.decode()
    tap.ok("CUDA_MODULE_LOADING" in text and "No CUDA data" not in text and "cuda_memcpy_sync: no data" in text, "analyze of a database with CUDA", text)


def short_processes():
    """Check the rule about short processes. Their times are set in the database, since recorded times depend on the machine."""
    report, database = os.path.join(PLACE, "spawns.rep"), os.path.join(PLACE, "spawns.sqlite")
    text = "import subprocess\nfor i in range(30): subprocess.run(['/bin/true'])\nfor i in range(25):\n try: subprocess.run(['/none/such'])\n except OSError: pass"
    done = trace("run", "-o", report, "--", sys.executable, "-c", text)
    exported = trace("export", "-t", "sqlite", "-o", database, report)
    with contextlib.closing(sqlite3.connect(database)) as c, c:
        children = [row[0] for row in c.execute("SELECT count(*) FROM LIBTRACE_PROCESS AS p WHERE forked GROUP BY processId IN (SELECT coalesce(previousId, 0) FROM LIBTRACE_PROCESS) ORDER BY 1")]
        tap.ok(done.status == exported.status == 0 and children == [25, 30], "children that execute nothing, and such that become a program", (done, exported, children))
        c.execute('UPDATE LIBTRACE_PROCESS SET "end" = start + CASE WHEN forked OR executable LIKE \'%/true\' THEN 1000000 ELSE 1200000000 END')
        program = c.execute("SELECT name FROM LIBTRACE_PROCESS WHERE NOT forked AND executable NOT LIKE '%/true' ORDER BY start DESC LIMIT 1").fetchone()[0]
    rows = findings(database, "-r", "startup_cost")["startup_cost"]
    tap.ok(sorted((os.path.basename(row["Of"]), row["Count"], row["Total Time (ns)"]) for row in rows) == sorted([("true", 30, 30000000), (program, 25, 25000000)]),
           "a child before its exec is no process of its own, one that executes nothing has its parent's name, and what lasted 1.2 s is not short", (rows, program))
    with contextlib.closing(sqlite3.connect(database)) as c, c:
        (outer, start), (one, _), (other, _) = c.execute("SELECT pid, start FROM LIBTRACE_PROCESS WHERE executable LIKE '%/true' ORDER BY start LIMIT 3")
        for pid, begin in ((one, start + 100000), (other, start + 400000)):
            c.execute('UPDATE LIBTRACE_PROCESS SET parentPid = ?, start = ?, "end" = ? WHERE pid = ?', (outer, begin, begin + 500000, pid))
    rows = findings(database, "-r", "startup_cost")["startup_cost"]
    total = {os.path.basename(row["Of"]): (row["Count"], row["Total Time (ns)"]) for row in rows}
    tap.ok(total["true"] == (30, 27_000_000 + 200_000 + 2 * 500_000), "time in which children lived, at once or not, is theirs alone", total)


def convoy_of_nsys():
    path = os.path.join(PLACE, "locks.sqlite")
    made.make_locks(path)
    row = findings(path, "-r", "lock_convoy")["lock_convoy"]
    tap.ok(len(row) == 1 and row[0]["Waits"] == 30 and row[0]["Waiter Callchain"] == "pthread_mutex_lock < log_line < serve < 0x5581c0de in app" and row[0]["Lock"] is None
           and row[0]["Holder TID"] is None, "a database without locks and holders: convoys by callchain", row)


def exit_status():
    convoy, calm, starts = (os.path.join(PLACE, mode + ".rep") for mode in ("convoy", "calm", "starts"))
    for path, severity, expected in ((convoy, "warning", 3), (convoy, "info", 3), (convoy, "error", 0), (calm, "info", 0), (starts, "warning", 0), (starts, "info", 3)):
        result = trace("analyze", "--fail-on", severity, path)
        tap.ok(result.status == expected, f"{os.path.basename(path)} --fail-on {severity}: exit status {expected}", result)
    tap.ok(trace("analyze", convoy).status == 0, "without --fail-on the exit status is 0")
    tap.ok(trace("analyze", "-r", "nonsense", calm).status == 2 and trace("analyze", os.path.join(PLACE, "none")).status == 2, "the exit status of an error is 2")


def times_of_nsight_compute():
    """Check that the time between kernels of Nsight Compute, which begin at whole seconds, is not reported as a gap."""
    path = os.path.join(fixtures("ncu"), "path_tracer-2025.4.1.ncu-rep")
    if not os.path.exists(path):
        tap.skip("a report of Nsight Compute: no rule about gaps", "no fixtures")
        return
    result = trace("analyze", "--fail-on", "warning", path)
    tap.ok(result.status == 0 and b"gpu_gaps: no data" in result.out and b"gpu_time_util: no data" in result.out, "a report of Nsight Compute: no rule about gaps", result)


def text():
    out = trace("analyze", os.path.join(PLACE, "convoy.rep")).out.decode()
    tap.ok(" ** Lock Convoys (lock_convoy): warning" in out and "split it." in out and "No CUDA data: " in out and "tiny_io: nothing found" in out
           and "hot_function: no data: CPU samples (--sample=process-tree)\n" in out and "cpu_waits: no data: threads' counters (--thread-time=process-tree)\n" in out,
           "text prints findings with advice, and one line for each rule without findings", out)
    rules = trace("analyze", "--list").out.decode().splitlines()
    tap.ok(len(rules) == 25 and any(line.split()[:2] == ["gpu_gaps", "warning"] for line in rules), "the rules are listed", rules)


def many_gaps(gaps=41):
    """Write a database with so many gaps between kernels."""
    path = os.path.join(PLACE, f"gaps{gaps}.sqlite")
    shutil.copy(QUIET, path)
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    row = dict(database.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1").fetchone())
    for table in ("KERNEL", "MEMCPY", "MEMSET"):
        database.execute(f"DELETE FROM CUPTI_ACTIVITY_KIND_{table}")
    for number in range(gaps + 1):
        row.update(start=10_000_000 * number, end=10_000_000 * number + 1000, correlationId=number)
        names = ", ".join(f'"{name}"' for name in row)
        database.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    database.commit()
    database.close()
    return path


def rows_are_counted():
    path = many_gaps()

    def table(*options):
        lines = trace("analyze", *options, path).out.decode().splitlines()
        heading = next(n for n, line in enumerate(lines) if line.startswith(" ---"))
        return sum(line.startswith("  ") for line in lines[heading + 1:]), [line for line in lines if " more; " in line]

    usual = table("-r", "gpu_gaps:gap=1")
    tap.ok(usual == (10, ["31 more; --rows all prints all of them, -r gpu_gaps:rows=N the first N of this rule"]), "ten rows are printed, and the number of further ones", usual)
    everything = table("-r", "gpu_gaps:gap=1", "--rows", "all")
    tap.ok(everything == (41, []), "--rows all prints all rows", everything)
    some = table("-r", "gpu_gaps:gap=1", "--rows", "3"), table("-r", "gpu_gaps:gap=1:rows=12")
    tap.ok(some[0][0] == 3 and some[1] == (12, []), "--rows prints that many rows", some)
    of_json = [len(findings(path, "-r", "gpu_gaps:gap=1", *more)["gpu_gaps"]) for more in ((), ("--rows", "7"), ("--rows", "all"))]
    tap.ok(of_json == [41, 7, 41], "JSON has the rule's own number of rows, or what is asked for", of_json)
    tap.ok(trace("analyze", "--rows", "0", path).status == 2, "--rows 0 is refused")
    for most in (2**63 - 1001, 2**63 - 1, 2**63, 2**64 - 995):
        shown_ = table("-r", "gpu_gaps:gap=1", "--rows", str(most)), len(findings(path, "-r", "gpu_gaps:gap=1", "--rows", str(most))["gpu_gaps"])
        tap.ok(shown_ == ((41, []), 41), f"--rows {most}: all rows are printed", shown_)
    refused = trace("analyze", "--rows", "x", path)
    tap.ok(refused.status == 2 and refused.err == b"trace: invalid argument 'x' for --rows: expected an unsigned integer, or all; see 'trace help analyze'\n", "a wrong --rows is answered with the accepted values", refused)


def on_terminal(columns, *arguments):
    """Return what `trace` prints on a terminal of a given width."""
    control, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen([TRACE, *arguments], env=clean_env(), stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.DEVNULL):
        os.close(terminal)
        text = b""
        with contextlib.suppress(OSError):  # EIO: no process has the terminal open any more
            while piece := os.read(control, 65536):
                text += piece
    os.close(control)
    return text.decode().replace("\r\n", "\n")


def texts_are_folded():
    path = os.path.join(PLACE, "convoy.rep")
    piped = trace("analyze", "-r", "lock_convoy", path).out.decode()
    widest, words = max(map(len, piped.splitlines())), {word for word in piped.split() if "..." not in word and "--" not in word}
    for columns in (60, 100, 170):
        text_ = on_terminal(columns, "analyze", "-r", "lock_convoy", path)
        lost = [word for word in words if word not in text_]
        tap.ok(widest > 170 and max(map(len, text_.splitlines())) <= columns and not lost,
               f"on a terminal of {columns} columns no line is wider, and no word is lost", (widest, lost, text_))


def later_rows_are_folded():
    """Check that texts of later rows are folded into the widths of columns, which come from the first 1000 rows."""
    path = os.path.join(PLACE, "copies.sqlite")
    shutil.copy(MADE, path)
    database = sqlite3.connect(path)
    long = "Pageable memory " * 5 + "of the host"
    database.execute("UPDATE ENUM_CUDA_MEM_KIND SET label = ? WHERE id = 7", (long,))
    first = "SELECT rowid FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE srcKind = 0 AND copyKind = 1 AND bytes > 65536 LIMIT 1"
    names = [row[1] for row in database.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_MEMCPY)")]
    taken = ", ".join({"end": "start + 9000 - n", "srcKind": "iif(n < 1200, 0, 7)"}.get(name, f'"{name}"') for name in names)
    database.execute(f"""WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1499)
                         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT {taken} FROM CUPTI_ACTIVITY_KIND_MEMCPY, numbers WHERE CUPTI_ACTIVITY_KIND_MEMCPY.rowid = ({first})""")
    database.commit()
    database.close()
    for columns in (140, 160):
        lines = on_terminal(columns, "analyze", "-r", "cuda_memcpy_sync", "--rows", "all", path).splitlines()
        places = [line.index(" 1.049 ") for line in lines if " 1.049 " in line]
        tap.ok(max(map(len, lines)) <= columns and len(places) == 1501 and len(set(places)) == 1,
               f"{columns} columns: no row is wider, and the columns stay where they are, behind the first 1000 rows, too", (max(map(len, lines)), set(places), lines[-3:]))


# ---- GPU ----

def on_databases():
    rules = ",".join(GPU_RULES)
    have, quiet = found(MADE, "-r", rules), found(QUIET, "-r", rules)
    tap.ok(have == {rule.partition(":")[0] for rule in GPU_RULES}, "each GPU rule finds what was planted", have)
    tap.ok(quiet == set(), "GPU rules find nothing where copies are pinned and asynchronous, and the GPU is busy", quiet)
    tap.ok(findings(MADE, "-r", "gpu_gaps")["gpu_gaps"] == [], "a gap shorter than the limit is not reported")
    tap.ok(len(findings(MADE, "-r", "cuda_memcpy_sync:rows=1")["cuda_memcpy_sync"]) == 1, "rows=1")
    tap.ok(found(MADE, "-r", "cuda_api_sync", "--filter-time", "/4000") == set(), "rules look only at the window of --filter-time")


def on_fixtures():
    paths = sorted(glob.glob(os.path.join(FIXTURES, "expected/*/rule_*.csv")))
    if not paths:
        tap.skip("rules on exports of nsys", "no fixtures")
    shown = lambda value, title: "" if value is None else f"{value:.3f}" if title.endswith("(MB)") else str(value)  # noqa: E731
    for path in paths:
        name, rule = os.path.basename(os.path.dirname(path)), "cuda_" + os.path.basename(path)[5:-4]
        with open(path, encoding="utf-8") as file:
            expected = list(csv.DictReader(file))
        rows = findings(os.path.join(FIXTURES, name + ".sqlite"), "-r", rule)[rule]
        rows = [{title: shown(value, title) for title, value in row.items()} for row in rows]
        tap.ok(rows == expected, f"{rule} of {name}: {len(expected)} rows", rows[:2])


def nsys_itself():
    if not os.path.exists(NSYS):
        tap.skip("nsys analyze on the database made here", "no nsys in PEERS or /tmp/peers")
        return
    for rule in GPU_RULES:
        if rule == "cuda_api_sync":
            continue  # nsys 2023.4 leaves the driver's calls out
        name = rule.partition(":")[0]
        done = run([NSYS, "analyze", "-q", "-r", rule, "-f", "csv", "--force-export=false", MADE], env=dict(os.environ), limit=200)
        lines = done.out.decode().splitlines()
        begin = next((i for i, line in enumerate(lines) if "Duration (ns)" in line), len(lines))
        theirs = [{k: v for k, v in row.items() if k != "Green Context ID"} for row in csv.DictReader(line for line in lines[begin:] if line)]
        form = lambda v, k: "" if v is None else f"{v:.3f}" if k.endswith("(MB)") else str(v)  # noqa: E731
        ours = [{k: form(v, k) for k, v in row.items() if k != "Green Context ID"} for row in findings(MADE, "-r", rule)[name]]
        tap.ok(ours == theirs and theirs, f"{rule} of nsys itself: {len(theirs)} rows", (ours[:3], theirs[:3], done.err))


main(on_programs, on_samples, says_why_nothing_is_found, says_why_there_are_no_samples, says_nothing_of_an_unknown_time, waits_of_a_replaced_program, by_the_counters, convoy_told, sleepers_do_not_run, time_after_the_last_call_counts, no_word_of_cuda, short_processes, convoy_of_nsys, exit_status, times_of_nsight_compute, text, texts_are_folded, later_rows_are_folded, rows_are_counted, on_databases, on_fixtures, nsys_itself)
