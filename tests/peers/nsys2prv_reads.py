#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Translate a SQLite export for Paraver by nsys2prv (PyPI), and compare the trace with the report. `trace stats` takes the place of `nsys stats`, which
nsys2prv calls for calls of CUDA; it reads the rest from the database itself. VIEWERS names a virtual environment with it, as in viewers.py. The CUDA
program runs on the simulated device."""
import collections
import json
import os
import shutil
import sqlite3
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import viewers  # noqa: E402
from lib import TRACE, clean_env, folder, main, run, tap  # noqa: E402

NSYS = """#!/bin/bash
shift
while [ $# -gt 1 ]; do
	case $1 in -r) list=$2 ;; -o) base=$2 ;; esac
	shift 2
done
for report in ${list//,/ }; do "$TRACE" stats -r "$report" -f csv "$1" >"${base}_$report.csv" || exit 1; done
"""
KERNEL, RANGES = 63000006, range(9600, 9800)  # types of events


def translated(report):
    """Return the values that each type of event has in the trace, in order of time: (type, value) to [ns]; and the texts of the values."""
    work = folder()
    os.mkdir(os.path.join(work, "bin"))
    nsys = os.path.join(work, "bin", "nsys")
    with open(nsys, "w", encoding="ascii") as file:
        file.write(NSYS)
    os.chmod(nsys, stat.S_IRWXU)
    viewers.trace("export", "-t", "sqlite", "-o", os.path.join(work, "r.sqlite"), report.path)
    result = run([os.path.join(os.path.dirname(viewers.PYTHON), "nsys2prv"), "-t", "cuda_api_trace,nvtx_pushpop_trace", "r.nsys-rep", "out"], cwd=work,
                 env=clean_env(NSYS_HOME=work, TRACE=TRACE, HOME=work), limit=100)
    tap.ok(result.status == 0 and b"Trace out.prv correctly translated." in result.out, "nsys2prv translates the export", str(result)[-2000:])
    events, texts, kind = collections.defaultdict(list), {}, None
    with open(os.path.join(work, "out.prv"), encoding="utf-8") as file:
        for line in file:
            words = line.split(":")
            if words[0] == "2":
                for at in range(6, len(words) - 1, 2):
                    events[int(words[at]), int(words[at + 1])].append(int(words[5]))
    with open(os.path.join(work, "out.pcf"), encoding="utf-8") as file:
        for line in file:
            words = line.split(None, 2)
            if line.startswith("EVENT_TYPE"):
                kind = int(next(file).split()[1])
            elif len(words) > 1 and words[0].isdigit() and kind:
                texts[kind, int(words[0])] = line.split(None, 1)[1].strip()
    return events, texts


def paraver():
    if not viewers.has("nsys2prv"):
        tap.skip("nsys2prv", "not installed: see tests/peers/viewers.txt")
        return
    report = viewers.recorded("nvtx_launch")
    if not report:
        return
    events, texts = translated(report)
    kernels = report.events("--kind", "cuda_kernel")
    times = sorted(ns for (kind, value), all_ns in events.items() if kind == KERNEL and value for ns in all_ns)
    names = {texts.get((KERNEL, value)) for kind, value in events if kind == KERNEL and value}
    tap.ok(len(kernels) > 0 and times == sorted(e["start_ns"] for e in kernels) and
           sorted(events[KERNEL, 0]) == sorted(e["start_ns"] + e["duration_ns"] for e in kernels), f"its {len(kernels)} kernels have the times of the report's", times[:3])
    tap.ok(names == {"scale"} and all("::scale<" in e["name"] for e in kernels), "and their names", names)
    found = collections.Counter()
    for (kind, value), all_ns in events.items():
        if kind in RANGES and value:
            found[texts[kind, value].split(":")[-1]] += len(all_ns)
    wanted = collections.Counter(e["text"] for e in report.events("--kind", "nvtx_range"))
    tap.ok(len(wanted) > 0 and set(found) == set(wanted), "and the texts of its push/pop ranges", f"{found} {wanted}")


MPI_ROWS = """
import json, sys
from nsys2prv.semantics import mpi_semantic as mpi
rows = {}
for name in ("MPIP2PSemantic", "MPICollSemantic", "MPIOtherSemantic", "MPIRMASemantic"):
    semantic = getattr(mpi, name)("r.rep")
    semantic.Setup()
    semantic.load_data()
    frame = semantic.get_df()
    rows[name] = [len(frame), int(frame["Rank"].notna().sum()), int(frame["Size:mem_b"].fillna(0).sum()), int(frame["CollSendSize:mem_b"].fillna(0).sum())]
print(json.dumps(rows))
"""


def messages():
    """The tables of MPI, by its own reading code alone: nsys2prv translates no capture without work of a GPU, whoever made it."""
    app, hydra = viewers.app("mpi_messages"), shutil.which("mpiexec.hydra")
    if not viewers.has("nsys2prv") or not hydra or not os.path.exists(app):
        tap.skip("nsys2prv: tables of MPI", "it, or MPICH, is not installed")
        return
    work = folder()
    path = os.path.join(work, "r.sqlite")
    viewers.trace("run", "-t", "mpi", "-o", os.path.join(work, "r.rep"), "--", hydra, "-n", "3", app, os.path.join(work, "log"), env=clean_env(HOME=work))
    viewers.trace("export", "-t", "sqlite", "-o", path, os.path.join(work, "r.rep"))
    read = run([viewers.PYTHON, "-W", "ignore", "-c", MPI_ROWS], cwd=work, env=clean_env(HOME=work), limit=100)
    with sqlite3.connect(path) as db:
        one_sided = "(SELECT id FROM StringIds WHERE value GLOB '*Win*' OR value GLOB 'MPI_Get*' OR value GLOB 'MPI_Put*' OR value GLOB '*Accumulate*')"
        wanted = {"MPIP2PSemantic": "FROM (SELECT size, NULL AS sent FROM MPI_P2P_EVENTS UNION ALL SELECT NULL, NULL FROM MPI_START_WAIT_EVENTS)",
                  "MPICollSemantic": "FROM (SELECT NULL AS size, size AS sent FROM MPI_COLLECTIVES_EVENTS)",
                  "MPIOtherSemantic": f"FROM (SELECT NULL AS size, NULL AS sent FROM MPI_OTHER_EVENTS WHERE textId NOT IN {one_sided})",
                  "MPIRMASemantic": f"FROM (SELECT NULL AS size, NULL AS sent FROM MPI_OTHER_EVENTS WHERE textId IN {one_sided})"}
        wanted = {name: list(db.execute(f"SELECT count(*), count(*), total(size), total(sent) {rest}").fetchone()) for name, rest in wanted.items()}
    have = json.loads(read.out or "{}")
    tap.ok(have == wanted and all(rows[0] for rows in have.values()), "nsys2prv: tables of MPI", f"{have} {wanted} {read.err[-1000:]!r}")


main(paraver, messages)
