#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""`trace stats` leaves out kinds of events that a report does not read: each report of a report file equals that of the whole database."""
import glob
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lib_merge  # noqa: E402
import libdevice as device  # noqa: E402
from lib import SRC, Report, app, clean_env, folder, main, tap, trace  # noqa: E402

DIRECT = {"osrt_sum", "nvtx_sum", "nvtx_pushpop_trace"}  # not computed in SQL
REPORTS = sorted({os.path.basename(path).split(".")[0] for path in glob.glob(os.path.join(SRC, "reader", "reports", "*.sql"))} - DIRECT) + ["cuda_gpu_kern_sum:nvtx-name", "cuda_gpu_kern_gb_sum:mangled:nvtx-name"]


def compare(name, report, *wanted):
    """Compare all reports; `wanted`: reports that must have rows."""
    database = os.path.join(folder(), "whole.sqlite")
    trace("export", "-t", "sqlite", "-o", database, report.path)
    filled = []
    for each in REPORTS:
        partly, whole = (trace("stats", "-r", each, "-f", "csv", path) for path in (report.path, database))
        if partly.out != whole.out or partly.status != whole.status:
            tap.ok(False, f"{name}: {each}", f"{partly}\n{whole}")
        elif whole.out.count(b"\n") > 1:
            filled.append(each)
    tap.ok((wanted or len(filled) >= 5) and set(wanted) <= set(filled), f"{name}: reports with rows are those of the whole database", filled)


def cuda():
    reason = device.missing("vector_add", "nvtx_launch")
    if reason:
        tap.skip("CUDA", reason)
        return
    compare("CUDA", device.recorded([device.app("vector_add")]))
    compare("callchains of CUDA", device.recorded([device.app("vector_add")], LIBTRACE_TRACE="cuda,osrt", LIBTRACE_CUDA_BACKTRACE="all:0"))
    compare("CUDA in NVTX ranges", device.recorded([device.app("nvtx_launch")], LIBTRACE_TRACE="cuda,nvtx"))


def calls():
    path = os.path.join(folder(), "r.rep")
    trace("run", "-o", path, "-t", "osrt,nvtx,openmp", "--functions", "libgomp*:GOMP_*", "--", app("openmp_gomp"), "constructs")
    compare("calls", Report(path))


def places():
    """Check reports that name the functions of callchains, which the database has no names for otherwise."""
    path = os.path.join(folder(), "r.rep")
    trace("run", "-o", path, "--", app("lock_holder"))
    compare("places", Report(path), "blame_sum", "critical_path_sum")


def messages():
    for name, launcher, _, end in lib_merge.launchers(3):
        if not launcher or not os.path.exists(app("mpi_messages" + end)):
            tap.skip(name, "it is not installed, or what builds its programs is not")
            continue
        place = folder()
        path = os.path.join(place, "r.rep")
        trace("run", "-o", path, "-t", "mpi", "--", *launcher, app("mpi_messages" + end), os.path.join(place, "log"), env=clean_env(HOME=place, **lib_merge.ROOT))
        compare(name, Report(path), "mpi_event_sum", "mpi_event_trace", "mpi_matrix", "mpi_msg_size_sum")


main(cuda, calls, places, messages)
