#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure the time and memory that the reports about NVTX ranges need on databases in the format of nsys; compare them with nsys's own reports.

    make && tests/bench/nvtx_reports.py [--nsys FILE] [--nsys-most MIB] [--limit SECONDS] [--report NAME]... [MIB...]     # default: 2 200

nvtx_database.py writes each database to TMPDIR. nsys (default: that of PEERS, else none) runs on databases of at most --nsys-most MiB
(default 256), since it needs gigabytes of memory for larger ones. A command is stopped after --limit seconds of processor time (default 300).
Prints a table of processor time and peak memory.
"""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../e2e")]
import nvtx_database  # noqa: E402
from lib import TRACE  # noqa: E402
from libpeers import NSYS  # noqa: E402

REPORTS = ("nvtx_gpu_proj_trace", "nvtx_gpu_proj_sum", "nvtx_pushpop_trace", "nvtx_pushpop_sum", "nvtx_kern_sum", "nvtx_startend_sum", "nvtx_sum",
           "cuda_kern_exec_sum", "cuda_gpu_kern_sum:nvtx-name")


def measure(limit, *argv):
    """Run a command in a separate process that measures it, and discard its output.

    Return (processor seconds, peak MiB, whether it ended within the limit); None if it fails.
    """
    with open(os.devnull, "w", encoding="ascii") as nowhere:
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            status = subprocess.run(argv, stdout=nowhere, stderr=nowhere, check=False).returncode
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            os.write(PIPE[1], f"{status} {used.ru_utime + used.ru_stime} {used.ru_maxrss}\n".encode())
            os._exit(0)
        os.waitpid(child, 0)
    status, seconds, kib = os.read(PIPE[0], 100).split()
    return (float(seconds), int(kib) / 1024, status == b"0") if status == b"0" or float(seconds) >= limit else None


def text(found):
    return f"{' ' if found[2] else '>'}{found[0]:8.2f} s {found[1]:6.0f} MiB" if found else f"{'-':>22}"


PIPE = os.pipe()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nsys", default=NSYS)
    parser.add_argument("--nsys-most", type=float, default=256)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--report", action="append")
    parser.add_argument("mib", nargs="*", type=float, default=[2, 200])
    given = parser.parse_args()
    nsys = shutil.which(given.nsys)
    with tempfile.TemporaryDirectory() as place:
        for mib in given.mib:
            path = os.path.join(place, "made.sqlite")
            nvtx_database.write(path, nvtx_database.steps_of(mib))
            print(f"\n{os.path.getsize(path) / (1 << 20):.0f} MiB{'trace':>44}{'nsys':>23}", flush=True)
            for report in given.report or REPORTS:
                ours = measure(given.limit, TRACE, "stats", "-r", report, "-f", "csv", path)
                theirs = nsys and mib <= given.nsys_most and measure(given.limit, nsys, "stats", "-r", report, "-f", "csv", "--force-export=false", "-o", "-", path)
                print(f"{report:27}  {text(ours)}  {text(theirs)}", flush=True)
            os.unlink(path)


main()
