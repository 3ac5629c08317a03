#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Calls of CUDA's libraries (--trace=cublas,...): stand-ins with their exported names, which launch kernels on the simulated device."""
import collections
import csv
import io
import os
import platform
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
from lib import SRC, Report, clean_env, folder, main, receipts_agree, run, tap, trace  # noqa: E402

LIBRARIES = ["cublas", "cudnn", "cufft", "cusparse", "cusolver", "curand", "nccl", "cufile"]
OTHERS = ["opencl", "mpi", "vulkan", "opengl"]  # tests/e2e/opencl.py, mpi_messages.py, graphics.py
SGEMM = {"transa": 0, "transb": 1, "m": 128, "n": 256, "k": 64}
# What tests/cuda/call_libraries.c calls, with the arguments that are not pointers, the status and the number of kernels launched within.
CALLS = [("cublas", "cublasCreate_v2", {}, 0, 0), ("cublas", "cublasSgemm_v2", SGEMM, 0, 1), ("cublas", "cublasSgemm_v2", SGEMM, 0, 1),
         ("cublas", "cublasSgemm_v2", SGEMM, 0, 1), ("cublas", "cublasSgemm_v2", dict(SGEMM, m=-1), 7, 0),
         ("cublas", "cublasDgemmStridedBatched", {"transa": 0, "transb": 0, "m": 16, "n": 32, "k": 8, "batch": 4}, 0, 1),
         ("cublas", "cublasGemmEx", {"transa": 0, "transb": 0, "m": 512, "n": 512, "k": 1024, "type": 2, "compute": 68}, 0, 2),
         ("cublas", "cublasGemmEx", {"transa": 0, "transb": 0, "m": 512, "n": 512, "k": 1024, "type": 2, "compute": 68}, 0, 2),
         ("cublas", "cublasCgemm_v2_64", {"transa": 0, "transb": 0, "m": 10, "n": 20, "k": 5000000000}, 0, 1),
         ("cublas", "cublasLtMatmul", {"workspace_bytes": 1024}, 0, 1),
         ("cudnn", "cudnnSetTensor4dDescriptor", {"format": 0, "type": 2, "n": 8, "c": 3, "h": 224, "w": 225}, 0, 0),
         ("cudnn", "cudnnConvolutionForward", {"algorithm": 6, "workspace_bytes": 4096}, 0, 2),
         ("cublas", "cublasSgemm_v2", {"transa": 0, "transb": 0, "m": 32, "n": 32, "k": 32}, 0, 1),
         ("cufft", "cufftPlan1d", {"nx": 4096, "type": 41, "batch": 2}, 0, 0), ("cufft", "cufftExecC2C", {"plan": 3, "direction": -1}, 0, 1),
         ("cusparse", "cusparseCreateCsr", {"rows": 100, "columns": 200, "nonzeros": 300, "type": 1}, 0, 0),
         ("cusparse", "cusparseSpMV", {"opa": 0, "compute": 0, "algorithm": 1}, 0, 1), ("cusolver", "cusolverDnDgetrf", {"m": 40, "n": 50}, 0, 1),
         ("curand", "curandGenerateNormal", {"count": 1000}, 0, 1), ("nccl", "ncclCommInitRank", {"ranks": 4, "rank": 3}, 0, 0),
         ("nccl", "ncclAllReduce", {"count": 1 << 20, "type": 7, "op": 0}, 0, 1),
         ("cufile", "cuFileRead", {"bytes": 65536, "file_offset": 4096, "buffer_offset": 0}, 65536, 0)]
FLOPS = {("cublasSgemm_v2", 128): (2 * 128 * 256 * 64, "R_32F"), ("cublasDgemmStridedBatched", 16): (2 * 16 * 32 * 8 * 4, "R_64F"),
         ("cublasGemmEx", 512): (2 * 512 * 512 * 1024, "R_16F"), ("cublasCgemm_v2_64", 10): (8 * 10 * 20 * 5000000000, "C_32F"),
         ("cublasSgemm_v2", 32): (2 * 32 * 32 * 32, "R_32F")}


def record(*options, base=None):
    """Record the program that calls the libraries; a test fails if it, or its report, is not as it should be."""
    path = os.path.join(folder(), "report.rep")
    result = trace("run", "-o", path, *options, "--", device.app("call_libraries"), env=device.env(base=base or clean_env()))
    report = Report(path)
    right = result.status == 0 and device.did(result) and report.check().status == 0 and receipts_agree(report) is None and not report.dropped()
    tap.ok(right, f"the program is recorded with {' '.join(options)[:60]}", repr(result))
    return report


def statistics(path, name):
    """Return the rows of a report of `trace stats`."""
    result = trace("stats", "-r", name, "-f", "csv", path)
    lines = [line for line in result.out.decode().splitlines() if "," in line]
    return list(csv.DictReader(io.StringIO("\n".join(lines))))


def calls():
    report = record("-t", "cuda," + ",".join(LIBRARIES))
    found = sorted(report.events("--kind", "function_call"), key=lambda c: c["start_ns"])
    seen = [(c["library_api"], c["function"], {k: v for k, v in c["arguments"].items() if not str(v).startswith("0x")}, int(str(c["return_word"]), 0))
            for c in found]
    tap.ok(seen == [call[:4] for call in CALLS], "each call has its arguments and status", "\n".join(map(str, seen)))
    tap.ok([c["function"] for c in found if c["level"] == 1] == ["cublasSgemm_v2"], "a call within a call of another library has its level")
    database(report)
    for name in LIBRARIES:
        rows = {row["Name"]: (int(row["Num Calls"]), int(row["Kernels"])) for row in statistics(report.path, f"{name}_sum")}
        expected = collections.defaultdict(lambda: (0, 0))
        for call in CALLS:
            if call[0] == name:
                expected[call[1]] = (expected[call[1]][0] + 1, expected[call[1]][1] + call[4])
        tap.ok(rows == expected, f"{name}_sum: calls, and the kernels that they launched", str(rows))
    gemm(report)


def database(report):
    """The tables of nsys, and statistics of a database that has only these."""
    path = os.path.join(folder(), "a.sqlite")
    trace("export", "-t", "sqlite", "-o", path, report.path)
    with sqlite3.connect(path) as connection:
        for table, event, name in (("CUBLAS_EVENTS", 29, "cublas"), ("CUDNN_EVENTS", 28, "cudnn")):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rows = connection.execute(f"SELECT e.start <= e.end, eventClass, globalTid & 0xffffff, value FROM {table} AS e JOIN StringIds AS s ON s.id = nameId "
                                      "ORDER BY start").fetchall()
            tids = {c["tid"] for c in report.events("--kind", "function_call")}
            tap.ok(columns == ["start", "end", "eventClass", "globalTid", "nameId"] and [row[3] for row in rows] == [c[1] for c in CALLS if c[0] == name] and
                      all(row[0] and row[1] == event and row[2] in tids for row in rows), f"{table} has nsys's columns and the calls", f"{columns}\n{rows}")
        connection.execute("DROP TABLE LIBTRACE_FUNCTION_CALL")
    rows = {row["Name"]: int(row["Kernels"]) for row in statistics(path, "cublas_sum")}
    tap.ok(rows.get("cublasGemmEx") == 4 and rows.get("cublasSgemm_v2") == 4, "cublas_sum of a database of nsys", str(rows))


def gemm(report):
    rows = statistics(report.path, "gemm_sum")
    tap.ok({(row["Name"], int(row["M"])) for row in rows} == FLOPS.keys(), "gemm_sum: a row for each shape", str(rows))
    for row in rows:
        flop, name = FLOPS[row["Name"], int(row["M"])]
        with_kernels, ns = int(row["With Kernels"]), int(row["Kernel Time (ns)"])
        rate = flop * with_kernels / ns / 1e3
        right = row["Type"] == name and with_kernels == int(row["Num Calls"]) and abs(float(row["Work (GFLOP)"]) - flop / 1e9) < 1e-6 and \
            abs(float(row["Rate (TFLOP/s)"]) - rate) < max(1e-6, rate * 1e-9)
        tap.ok(right, f"gemm_sum: work and rate of {row['Name']}, {row['M']}", str(row))


def requested():
    report = record("-t", "cuda,nvtx,osrt")
    receipts = [r for r in report.receipts() if "functions" in r]
    tap.ok(not report.events("--kind", "function_call") and not receipts, "nothing is recorded, or patched, unless it was asked for", str(receipts))
    report = record(base=clean_env(LIBTRACE_TRACE="nccl,curand"))
    found = {c["library_api"] for c in report.events("--kind", "function_call")}
    tap.ok(found == {"nccl", "curand"}, "libraries that LIBTRACE_TRACE names", str(found))
    report = record("-t", "cufft", "--functions", "libcublas_*:cublasSgemm_v2(_, _, _, _, _, uint depth)")
    found = {(c["library_api"], c["function"], c["arguments"].get("depth")) for c in report.events("--kind", "function_call")}
    tap.ok(found == {("cufft", "cufftPlan1d", None), ("cufft", "cufftExecC2C", None), ("cublas", "cublasSgemm_v2", 64), ("cublas", "cublasSgemm_v2", 32)},
              "libraries beside patterns", str(found))
    result = trace("run", "-t", "cublass", "--", "true")
    tap.ok(result.status == 2 and b"cublas" in result.err, "an unknown library is refused", repr(result))


def help_and_rows():
    """Each row of libraries.def is a choice of --trace, a report, and named in the help of LIBTRACE_TRACE."""
    rows = []
    for name in sorted(os.listdir(os.path.join(SRC, "common/schema/libraries"))):
        with open(os.path.join(SRC, "common/schema/libraries", name), encoding="utf-8") as file:
            rows += re.findall(r"^LIBRARY\((\d+), (\w+),", file.read(), re.M)
    tap.ok(sorted(name for _, name in rows) == sorted(LIBRARIES + OTHERS) and len({number for number, _ in rows}) == len(rows), "rows of libraries.def", str(rows))
    environment, options = trace("help", "env").out.decode(), trace("help", "run").out.decode()
    reports = trace("stats", "-r", "nothing", "/dev/null").err.decode()
    missing = [name for name in LIBRARIES + OTHERS if not re.search(rf"\b{name}\b", environment) or not re.search(rf"\b{name}\b", options) or f"{name}_sum" not in reports]
    tap.ok(not missing, "help names each library and its report", f"{missing}\n{reports[:400]}")


if platform.machine() != "x86_64" or device.missing("call_libraries"):
    print("1..0 # SKIP", device.missing("call_libraries") or "functions of libraries are tried on x86-64 only")
    sys.exit(0)
main(calls, requested, help_and_rows)
