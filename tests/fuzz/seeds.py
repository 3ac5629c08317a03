#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Create inputs for the fuzzers: seeds.py BUILD DIR [FIXTURES] writes those of tests/fuzz/fuzz_NAME.c to DIR/NAME.

The inputs are recordings of small programs of tests/apps and tests/cuda, their exports by `trace export`, results written by
tests/e2e/libncu.py, and, if there are any, files of other tools. Small inputs that reach new code are kept in tests/fuzz/corpus; see
tests/fuzz/reach.sh.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import libncu  # noqa: E402
from libncu import pieces  # noqa: E402
from libwire import entry  # noqa: E402

APPS = ("nvtx_calls", "child_kinds", "exec_chain", "own_read", "many_paths", "nvtx_payloads", "nvtx_deferred", "nvtx_counters", "nvtx_random", "callchain_cxx", "planted", "mpi_ranks", "capture_ranges")
CUDA = ("driver_api", "pipeline", "vector_add", "graph", "nvtx_launch")
COMMANDS_READ = (".rep", ".ncu-rep", ".pb", ".atp", ".csv", ".occupancy", ".nvtxt", ".sqlite")
LINES, FOREIGN_LINES = 64, (0, 1, 8, 12, 14, 16, 17, 18, 25, 26, 27, 32, 33, 59, 128)  # numbers of command lines in fuzz_commands.c; 128: packed
CUTS = (0, 400, 900, 1500)  # sizes of the report that an earlier writer began, in bytes
SECTION_LINES = (28, 29, 30, 31, 32)
LARGEST, SMALL = 200_000, 40_000
SECTION = """Identifier: "A"  # a comment
DisplayName: 'One' Order: 10 Sets { Identifier: "full" }
Filter { CompareInt { Value: 70 } CollectionFilter { CollectionScopes: CollectionScope_Launch } }
Metrics { Metrics { Label: "x" Name: "a.sum" Filter { MinArch: CC_70 MaxArch: CC_86 } Options { Name: "b" Filter { MinArch: CC_75 } } } }
Header { Rows: 2 Metrics { Name: "c.avg" Label: "\\x41\\101" } }
Body { Items { Table { Label: "t" Rows: 1 Columns: 2 Metrics { Name: "d" } } BarChart { Label: "b" CategoryAxis { Label: "q" } } } }
MetricDefinitions { MetricDefinitions { Name: "e" Expression: "a / 2" } }
"""
CHART = """BarChart { Label: "b" CategoryAxis { Label: "q" } Metrics { Name: "a" } }"""
EXPRESSIONS = ("a", "a+b*2", "(c-d)/e", "max(a,b)", "sum(d)", "avg(e)", "d.sum + -1.5e3", "a ? b : c", "x.y__z.peak*100", "min(d, e) % 7")


def recorded(build, folder):
    """Record the programs; return the paths of the reports."""
    trace, made = os.path.join(build, "bin", "trace"), []
    for kind, names in (("apps", APPS), ("cuda", CUDA)):
        for name in names:
            path = os.path.join(folder, name + ".rep")
            env = {**os.environ, "LD_LIBRARY_PATH": os.path.join(build, "sim", "cuda13")}
            options = ["--cuda-backtrace", "all"] if kind == "cuda" else ["--osrt-file-access", "true", "--osrt-backtrace-threshold", "0"]
            options += ["--cuda-cubins", "true"] if name == "vector_add" else []
            done = subprocess.run([trace, "run", "-o", path, "-f", "true", "--compress", "zstd" if name == "planted" else "none", *options, "--",
                                   os.path.join(build, "tests", kind, name)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if done.returncode == 0 and os.path.exists(path):
                subprocess.run([trace, "symbolize", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
                made.append(path)
    return made


def results(path):
    """Return a small report with all data that pages print about results."""
    text, number = libncu.data, libncu.number
    names = []
    metrics = {"launch__one": 7, "sm__two.sum": (1.5, {1: 2, 3: 4.0}), "three": "text", "four": (None, {"a": 1}),
               "device__attribute_compute_capability_major": 9, "gpu__time_duration.sum": 1000}
    state = libncu.state({1: {0: [libncu.push("a"), libncu.push("b", color=7, payload=("double", 2.5), category=3)], 1: [libncu.push("c")]}},
                         {0: [libncu.started(5, "d", payload=("i32", -1))]}, strings={9: "registered"})
    table = text(5, text(1, text(1, text(1, "t") + number(2, 1) + number(3, 2) + text(4, text(1, "three")))))
    section = libncu.section("S", "Section", (("launch__one", "One"), ("sm__two.sum", "Two")), table)
    libncu.write(path, names, [libncu.launch(names, metrics, nvtx=state, sections=(section,)), libncu.launch(names, metrics, "other", tid=2)])


def cubins(path):
    """Return the code of the modules in a report."""
    with open(path, "rb") as file:
        data = file.read()
    _, at = entry(data, 4)
    while at + 4 <= len(data):
        header, at = entry(data, at)
        found = {number: of for number, of, _ in pieces(header)}
        payload, at = data[at:at + found.get(5, 0)], at + found.get(5, 0)
        place = 0
        for _ in range(found.get(1, 0)):
            source, place = entry(payload, place)
            yield from (of for _, of, _ in pieces(source) if isinstance(of, bytes) and of[:4] == b"\x7fELF")


def program(folder):
    """Build a small program with DWARF, by any installed compiler, and the files that JIT-compiled code leaves."""
    path = os.path.join(folder, "made", "program")
    text = "static inline int one(int a) { return a * 3; }\nint two(int a) { return one(a) + 1; }\nvoid _start(void) { two(3); }\n"
    for name, flags in (("dwarf5", ["-gdwarf-5"]), ("dwarf4", ["-gdwarf-4"]), ("packed", ["-g", "-gz"]), ("plain", ["-s"])):
        if subprocess.run(["cc", "-O1", *flags, "-static", "-nostdlib", "-ffreestanding", "-fno-pie", "-no-pie", "-Wl,--build-id=none,-z,noseparate-code",
                           "-x", "c", "-", "-o", path], input=text.encode(), check=False).returncode == 0:
            put(folder, "binary", name, b"\0" + read(path))
    put(folder, "binary", "map", b"\x01" + b"10000 100 one\n0x10080 40 two\n11000 zz three\n")
    dump = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 100, 0, 0)
    dump += struct.pack("<IIQQQQIQ", 2, 16 + 16 + 22, 0, 0x10000, 1, 0x10000, 7, 0)[:-8] + struct.pack("<I", 0) + b"/a.js\0"
    dump += struct.pack("<IIQIIQQQQ", 0, 16 + 40 + 8, 1000, 100, 101, 0x10000, 0x10000, 64, 1) + b"one\0code"
    dump += struct.pack("<IIQIIQQQQQ", 1, 16 + 48, 1200, 100, 101, 0, 0x10000, 0x10800, 64, 1)
    put(folder, "binary", "dump", b"\x02" + dump)


def spool(build, folder, kind, name):
    """Return the spool of a program that ran without a writer, in the form of fuzz_spool.c: the bytes that are not 0."""
    with tempfile.TemporaryDirectory() as trees:
        env = {**os.environ, "LIBTRACE_HELPER": "0", "LIBTRACE_CUDA_CUBINS": "true", "LIBTRACE_SPOOL_DIR": trees, "LD_LIBRARY_PATH": os.path.join(build, "sim", "cuda13"),
               "LD_PRELOAD": os.path.abspath(os.path.join(build, "lib", "libtrace", "libtrace.so")), "LIBTRACE_OUTPUT": os.path.join(trees, "r.rep")}
        subprocess.run([os.path.join(build, "tests", kind, name)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for path in (path for path in files_below(trees) if path.endswith(".spool")):
            pieces_ = (struct.pack("<BIH", 0, at.start(), len(at.group())) + at.group() for at in re.finditer(rb"(?s)[^\0](?:.{0,2000}?[^\0])??(?=\0{16})",
                                                                                                          read(path)))
            whole = b"".join(pieces_)
            for cut in ([0] if len(whole) > SMALL else CUTS):
                put(folder, "spool", f"{name}-{cut}-{os.path.basename(path)}", whole + (struct.pack("<BIH", 2, 1 << 31 | cut, 0) if cut else b""))


def put(folder, target, name, data):
    if len(data) <= LARGEST:
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        with open(os.path.join(folder, target, name), "wb") as file:
            file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def files_below(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)


def main(build, folder, fixtures=None):
    made = os.path.join(folder, "made")
    os.makedirs(made, exist_ok=True)
    reports = recorded(build, made)
    results(os.path.join(made, "results.ncu-rep"))
    for report in list(reports):
        for form, suffix in (("ncu", "ncu-rep"), ("xplane", "xplane.pb"), ("atp", "atp"), ("csv", "csv"), ("occupancy", "occupancy"), ("nvtxt", "nvtxt")):
            subprocess.run([os.path.join(build, "bin", "trace"), "export", "-t", form, "-o", f"{report}.{suffix}", "-f", "true", report],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    for path in files_below(made) + (files_below(fixtures) if fixtures else []):
        name, data = os.path.basename(path), read(path)
        if data[:4] == b"NVR\0":
            put(folder, "reader" if path.endswith(".rep") else "results", name, data)
            put(folder, "api", name, data)
            for i, cubin in enumerate(cubins(path)):
                put(folder, "cubin", f"{name}-{i}", cubin)
        for suffix, target in ((".nvtxt", "nvtxt"), (".atp", "codexl"), (".csv", "codexl"), (".occupancy", "codexl")):
            for first in range(5) if path.endswith(suffix) and "expected" not in path else ():
                put(folder, target, f"{name}-{first}", bytes([first]) + data)
        if path.endswith(COMMANDS_READ) and "expected" not in path and len(data) < SMALL:
            lines = range(LINES) if path.endswith(".rep") or name == "results.ncu-rep" else FOREIGN_LINES
            for line in lines:
                put(folder, "commands", f"{name}-{line}", bytes([line]) + data)
    program(folder)
    for kind, names in (("apps", APPS), ("cuda", CUDA)):
        for name in names:
            spool(build, folder, kind, name)
    for i, expression in enumerate(EXPRESSIONS):
        put(folder, "expression", str(i), expression.encode())
    put(folder, "section", "one", SECTION.encode())
    for line in SECTION_LINES:
        put(folder, "commands", f"section-{line}", bytes([line]) + SECTION.encode())
    put(folder, "api", "chart", CHART.encode())
    put(folder, "payloads", "empty", b"\xff")


if __name__ == "__main__":
    main(*sys.argv[1:])
