#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the tracer on a GPU machine and answer the questions that only a GPU can answer. Nothing is installed or
downloaded.

Usage: scripts/gpu-validate [--sim] [--quick] [--limit SECONDS] [--out FOLDER]

It needs parts of a built tree: scripts/, tests/cuda, build/bin, build/lib and build/tests/cuda (`make all cuda-apps` on
a machine with nvcc). The GPU machine needs a driver, libcudart.so.13 and libcupti.so.13 (of the toolkit, of PyTorch or
in build/cuda/lib). Without python3, scripts/gpu-validate does a part of the checks. These files are written to FOLDER
(default: gpu-validation):

  gpu-validation.md    a section for docs/gpu-validation.md (also printed)
  gpu-validation.json  the same results as JSON
  buffers.tar.gz       activity buffers as CUPTI delivered them: recordings to replay
  captures.tar.gz      databases of two programs, which tests/e2e/replayed.py plays on the simulated device
  reports.tar.gz       the reports of the programs, and the output of tests/cuda/libprobe.c (probe-*.jsonl)

Options:

  --sim    use the simulated device of build/sim: this tests the script, and says nothing about a GPU
  --quick  fewer launches
  --limit  limit of the whole run in seconds (default: 540); a step for which no time is left counts as wrong

Exit status: 0 if all programs were right and all counts agreed; 1 if not; 2 if it could not run.
"""

from __future__ import annotations

import argparse
import bisect
import collections
import ctypes
import glob
import json
import os
import platform
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from typing import Any, Callable, Dict, Iterable, NoReturn, Sequence, Tuple, TypeVar

sys.dont_write_bytecode = True  # write nothing into the tree
import gpu_answers  # noqa: E402
import gpu_derived  # noqa: E402

SRC = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD") or os.path.join(SRC, "build")
MACHINE = platform.machine()
TRACE = os.path.join(BUILD, "bin/trace")
APPS = os.path.join(BUILD, "tests/cuda")
LIMIT_S = 120  # time limit of one command
ARCHIVED_BYTES = 4 << 20  # largest file that is archived
GOAL_NS = 1500  # per launch, API and kernels traced, no callchains
GOAL_OF = "tracer, API and kernels, no callchains"
SAMPLE_REPORTS = ("gpu_metric_sum", "gpu_clock_sum", "host_sum")

Json = Dict[str, Any]  # an object that a program printed
Traced = Tuple[str, str, Sequence[str], Sequence[str]]  # a row of TRACED
Variant = Tuple[str, Sequence[str], Dict[str, object]]  # title, words before the command, variables of the environment
Cells = Tuple[str, ...]  # the cells of a table row
Figure = TypeVar("Figure")

STATIC = "vector_add_static"  # with the static runtime, nvcc's default
PROGRAMS = ("vector_add", "pipeline", "graph", "other_calls", "driver_api")
# The traced runs: title, program, options of `trace run`, the entries of COUNTED that are not in such a report.
TRACED: list[Traced] = [
    (name, name, (), ()) for name in ("vector_add", "pipeline", "driver_api", "ctypes_driver.py", STATIC)
] + [
    ("graph, as a whole", "graph", ("--cuda-graph", "graph"), ("graph_kernels",)),
    ("graph, node by node", "graph", ("--cuda-graph", "node"), ("graph_launches",)),
    ("other_calls", "other_calls", ("--cuda-graph", "node"), ("graph_launches",)),
]
# How each count that a program prints is found in the report: the kind of event, and a test that the event must pass.
COUNTED: dict[str, tuple[str, Callable[[Json], object]]] = {
    "graph_launches": ("cuda_graph_trace", lambda event: True),
    "kernels": ("cuda_kernel", lambda event: not event["graph_id"]),
    "graph_kernels": ("cuda_kernel", lambda event: event["graph_id"]),
    "copies_htod": ("cuda_memcpy", lambda event: not event["graph_id"] and event["copy_kind"] == 1),
    "copies_dtoh": ("cuda_memcpy", lambda event: not event["graph_id"] and event["copy_kind"] == 2),
    "sets": ("cuda_memset", lambda event: not event["graph_id"]),
}


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def give_up(text: str) -> NoReturn:
    note(f"gpu-validate: {text}")
    sys.exit(2)


class Section:
    """The result: the Markdown text, the data, and the list of what was wrong."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.data: Json = {}
        self.wrong: list[str] = []

    def add(self, *lines: str) -> None:
        self.lines += lines

    def table(self, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self.add("| " + " | ".join(head) + " |", "|" + "---|" * len(head))
        self.add(*("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows), "")

    def fail(self, text: str) -> None:
        self.wrong.append(text)
        note(f"wrong: {text}")

    def write(self, folder: str) -> None:
        """Write the results so far, so that they are kept if the script is killed later."""
        self.data["wrong"] = self.wrong
        with open(os.path.join(folder, "gpu-validation.md"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines))
        with open(os.path.join(folder, "gpu-validation.json"), "w", encoding="utf-8") as file:
            json.dump(self.data, file, indent=1, default=str)


# ---- where things are ----


def library_folders(sim: bool) -> list[str]:
    if sim:
        return [
            os.environ.get("SIM_FOLDER") or os.path.join(os.environ.get("SIM") or os.path.join(BUILD, "sim"), "cuda13")
        ]
    patterns = [
        os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "lib64"),
        "/usr/local/cuda*/lib64",
        "/usr/local/cuda*/extras/CUPTI/lib64",
        f"/usr/local/cuda*/targets/{'x86_64' if MACHINE == 'x86_64' else 'sbsa'}-linux/lib",
        os.path.join(BUILD, "cuda/lib"),
        f"/usr/lib/{MACHINE}-linux-gnu",
    ]
    patterns += [os.path.join(path, "nvidia/cu13/lib") for path in sys.path if path]
    patterns += [
        "/opt/*/.venv/lib/python3*/site-packages/nvidia/cu13/lib",
        "/opt/*/lib/python3*/site-packages/nvidia/cu13/lib",
    ]
    found = []
    for name in ("libcudart.so.13", "libcupti.so.13"):
        folders = [
            folder
            for pattern in patterns
            for folder in sorted(glob.glob(pattern))
            if os.path.exists(os.path.join(folder, name))
        ]
        if not folders:
            give_up(f"no {name} found; set CUDA_HOME to the toolkit")
        if folders[0] not in found:
            found.append(folders[0])
    return found


class Machine:
    def __init__(self, sim: bool, quick: bool, out: str, limit_s: float) -> None:
        self.sim, self.quick, self.out = sim, quick, out
        self.end, self.cpu_s = time.monotonic() + limit_s, 0.0
        self.folders = library_folders(sim)
        self.cupti = next(
            os.path.join(folder, "libcupti.so.13")
            for folder in self.folders
            if os.path.exists(os.path.join(folder, "libcupti.so.13"))
        )

    def env(self, **more: object) -> dict[str, str]:
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LIBTRACE_", "SIM_", "BARE_", "PROBE_")) and name != "LD_PRELOAD"
        }
        for name in ("SIM_DEVICE", "SIM_FAULT"):
            if self.sim and name in os.environ:
                env[name] = os.environ[name]
        env["LD_LIBRARY_PATH"] = ":".join(
            self.folders + [path for path in [os.environ.get("LD_LIBRARY_PATH")] if path and not self.sim]
        )
        env.update({name: str(value) for name, value in more.items()})
        return env

    def run(self, argv: Sequence[str], **more: object) -> tuple[int | str, str]:
        """Run a command and return (exit status, standard output). The status is "hung" if the command reached its time
        limit, and "no time" if it was not started since no time is left. Set self.cpu_s to its processor time.
        """
        left, before, self.cpu_s = self.left(), cpu_of_children(), 0.0
        if left <= 0:
            return "no time", ""
        try:
            done = subprocess.run(
                argv,
                env=self.env(**more),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=min(LIMIT_S, left),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "hung", ""
        self.cpu_s = cpu_of_children() - before
        if done.returncode:
            note(done.stderr.decode("utf-8", "replace")[-2000:])
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def left(self) -> float:
        return self.end - time.monotonic()

    def bare(self, kinds: int, **more: object) -> dict[str, object]:
        return {"LD_PRELOAD": os.path.join(APPS, "libbare.so"), "BARE_KINDS": kinds, "BARE_CUPTI": self.cupti, **more}


def cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def command(program: str) -> list[str]:
    return (
        [sys.executable, os.path.join(SRC, "tests/cuda", program)]
        if program.endswith(".py")
        else [os.path.join(APPS, program)]
    )


def said(output: str) -> Json:
    """Return the counts of the last JSON object with "did" that a program printed; {} if there is none, or if the
    object says that a result was wrong.
    """
    for line in reversed(output.splitlines()):
        if line.startswith('{"did"'):
            answer = json_object(line)
            did: Json = answer.get("did", {}) if answer.get("right") else {}
            return did
    return {}


def json_object(text: str) -> Json:
    """Parse a JSON object; return {} if the text is not one, because the command failed or was not run."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def json_lines(path: str) -> list[Json]:
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:  # a program that was killed may end within a line
        return [fact for fact in (json_object(line) for line in file) if fact]


# ---- 1: the machine ----


def first_line(argv: Sequence[str]) -> str:
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20, check=False)
        return (done.stdout.decode("utf-8", "replace").splitlines() or [""])[0].strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def read_file(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "?"


def cycles_counter() -> str:
    """Return "yes" if perf_event_open() can count cycles, otherwise the error.

    The packed fields of struct perf_event_attr are type, size and config.
    """
    perf_event_open, attr_bytes, cycles = {"x86_64": 298, "aarch64": 241}[MACHINE], 112, 0
    attr = struct.pack("<IIQ", 0, attr_bytes, cycles).ljust(attr_bytes, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.syscall(perf_event_open, attr, 0, -1, -1, 0)
    if number < 0:
        return os.strerror(ctypes.get_errno())
    os.close(number)
    return "yes"


def describe(machine: Machine, section: Section) -> None:
    gpu = (
        "simulated"
        if machine.sim
        else first_line(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"])
        or "no nvidia-smi"
    )
    facts = {
        "GPU, driver": gpu,
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "processors": os.cpu_count(),
        "libraries": ", ".join(machine.folders),
        "perf_event_paranoid": read_file("/proc/sys/kernel/perf_event_paranoid"),
        "hardware cycles": cycles_counter(),
        "tracer": first_line([TRACE, "--version"]),
    }
    section.data["machine"] = facts
    section.add(
        f"## {time.strftime('%Y-%m-%d')}: "
        f"{'the simulated device (this says nothing about a GPU)' if machine.sim else gpu}",
        "",
        "`scripts/gpu-validate" + (" --sim" if machine.sim else "") + (" --quick" if machine.quick else "") + "`",
        "",
    )
    section.table(("machine", ""), facts.items())


# ---- 2: programs and counts ----


def tracer_takes_cuda(machine: Machine) -> bool:
    report = os.path.join(machine.out, "none.rep")
    status, _ = machine.run([TRACE, "run", "-t", "cuda", "-o", report, "--", "/bin/true"])
    if os.path.exists(report):
        os.unlink(report)
    return status == 0


def traced(
    machine: Machine, name: str, argv: Sequence[str], section: Section, options: Sequence[str] = ()
) -> Json | None:
    """Trace a command. Return the counts of COUNTED in its report, the verdict and more; None if that failed."""
    report = os.path.join(machine.out, name.replace(", ", "-").replace(" ", "-") + ".rep")
    if os.path.exists(report):
        os.unlink(report)
    status, output = machine.run([TRACE, "run", "-t", "cuda,nvtx,osrt", *options, "-o", report, "--", *argv])
    if status != 0 or not said(output):
        section.fail(f"{name} under the tracer: exit status {status}, or wrong results")
        return None
    (status, info), (dumped, dump) = (
        machine.run([TRACE, "info", "--json", report]),
        machine.run([TRACE, "dump", "--json", report]),
    )
    if status != 0 or dumped != 0:
        section.fail(f"{name}: cannot read the report: info {status}, dump {dumped}")
        return None
    events = [event for event in map(json_object, dump.splitlines()) if event]
    counts = {
        kind: sum(event["kind"] == name_ and bool(test(event)) for event in events)
        for kind, (name_, test) in COUNTED.items()
    }
    domains = collections.Counter(
        event.get("domain") or "(default)" for event in events if str(event["kind"]).startswith("nvtx_range")
    )
    return {
        "counts": counts,
        "verdict": json_object(info).get("verdict"),
        "all": collections.Counter(event["kind"] for event in events if event["kind"].startswith("cuda_")),
        "times": causality(events),
        "nvtx": domains,
    }


def outside(times: Sequence[int]) -> str:
    return f"{len(times)} (most: {max(times, default=0)} ns)"


def causality(events: list[Json]) -> dict[str, list[int]]:
    """Return by how many ns kernels begin before the call that launched them ("early"), and by how many ns they end
    after a later wait for the whole device has returned ("late"). Only an error of the conversion from the device's
    clock to the clock of the calls can cause either.
    """
    calls = {event["correlation_id"]: event for event in events if event["kind"] == "cuda_api" and not event["level"]}
    waits = sorted(
        (event["start_ns"], event["start_ns"] + event["duration_ns"])
        for event in calls.values()
        if event["function"].startswith(("cudaDeviceSynchronize", "cuCtxSynchronize"))
    )
    begins, early, late = [begin for begin, _ in waits], [], []
    for event in events:
        call = calls.get(event.get("correlation_id")) if event["kind"] == "cuda_kernel" else None
        if not call:
            continue
        begin, end = event["start_ns"], event["start_ns"] + event["duration_ns"]
        wait = bisect.bisect(begins, call["start_ns"] + call["duration_ns"])
        early += [call["start_ns"] - begin] if begin < call["start_ns"] else []
        late += [end - waits[wait][1]] if wait < len(waits) and end > waits[wait][1] else []
    return {"early": early, "late": late}


def agree(did: Json, counts: dict[str, int], absent: Sequence[str]) -> bool:
    return all(did[kind] == counts[kind] for kind in COUNTED if kind in did and kind not in absent)


def check_program(machine: Machine, traced_program: Traced, with_cuda: bool, section: Section) -> Cells:
    name, program, options, absent = traced_program
    argv = command(program)
    if not os.path.exists(argv[-1]):
        return (name, "not built")
    if machine.sim and program == STATIC:
        return (name, "not run: no static runtime on the simulated device")
    status, output = machine.run(argv)
    did = said(output)
    if status != 0 or not did:
        section.fail(f"{name} untraced: exit status {status}, or wrong results")
        return (name, "wrong")
    if not with_cuda:
        return (name, "right", "not traced: this build has no CUDA source")
    result = traced(machine, name, argv, section, options)
    if not result:
        return (name, "right", "wrong when traced")
    same = agree(did, result["counts"], absent)
    if not same:
        section.fail(f"{name}: did {did}, reported {result['counts']}")
    if not str(result["verdict"]).startswith("complete"):
        section.fail(f"{name}: the report says: {result['verdict']}")
    section.data.setdefault("programs", {})[name] = {"did": did, **result}
    kinds = ", ".join(f"{count} {kind[5:]}" for kind, count in sorted(result["all"].items()))
    return (
        name,
        "right",
        "agree" if same else "**differ**",
        result["verdict"],
        outside(result["times"]["early"]),
        outside(result["times"]["late"]),
        kinds,
    )


def ncu_command() -> str | None:
    """Return the path of NVIDIA's ncu, or None."""
    places = [
        shutil.which("ncu"),
        *sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu")),
        "/usr/local/cuda/bin/ncu",
        os.path.join(os.environ.get("PEERS") or "/tmp/peers", "root/usr/lib/nsight-compute/ncu"),
    ]
    return next((place for place in places if place and os.path.exists(place)), None)


def check_code(machine: Machine, with_cuda: bool, section: Section) -> None:
    """Check that the report has a result for each launch and the code of its module, as read by `trace` and, if it is
    installed, by NVIDIA's ncu.
    """
    name = "results and code"
    if not with_cuda:
        return
    result = traced(
        machine,
        name,
        [os.path.join(APPS, "vector_add")],
        section,
        ("--cuda-cubins", "true", "--cuda-backtrace", "kernel"),
    )
    if not result:
        return
    report, ncu = os.path.join(machine.out, "results-and-code.rep"), ncu_command()
    kernels = result["counts"]["kernels"]
    listed = {"trace": machine.run([TRACE, "details", "--page", "raw", "--csv", report])[1]}
    code = machine.run([TRACE, "dump", "--json", "-k", "cuda_module", report])[1]
    facts: dict[str, object] = {
        "cubins CUPTI showed (bytes)": [
            json_object(line)["cubin_bytes"] for line in code.splitlines() if '"cubin_bytes"' in line
        ]
    }
    if ncu:
        with tempfile.TemporaryDirectory() as home:  # ncu writes files to HOME
            listed["ncu"] = machine.run([ncu, "--import", report, "--page", "raw", "--csv"], HOME=home)[1]
            sass = machine.run(
                [ncu, "--import", report, "--page", "source", "--print-source", "sass", "--csv"], HOME=home
            )[1]
        facts["instructions that ncu prints"] = sum(line.startswith('"0x') for line in sass.splitlines())
        if not facts["instructions that ncu prints"]:
            section.fail("ncu prints no code of the report")
    else:
        facts["ncu"] = "none here"
    for reader, page in listed.items():
        rows = sum(line.startswith('"') and line[1:2].isdigit() for line in page.splitlines())
        facts[f"launches that {reader} lists"] = f"{rows} of {kernels}"
        if rows != kernels:
            section.fail(f"{reader} lists {rows} of {kernels} launches")
    section.data["code"] = facts
    section.add("### Results and code", "", "`trace run --cuda-cubins true --cuda-backtrace kernel`, vector_add:", "")
    section.table(("", ""), facts.items())


def torch_python() -> str | None:
    for python in (sys.executable, "python3", "/opt/torch/.venv/bin/python3"):
        if (
            shutil.which(python)
            and subprocess.run(
                [python, "-c", "import torch; assert torch.cuda.is_available()"],
                capture_output=True,
                check=False,
                timeout=LIMIT_S,
            ).returncode
            == 0
        ):
            return python
    return None


def check_torch(machine: Machine, with_cuda: bool, section: Section) -> Cells:
    """Check PyTorch with cuBLAS: the report has as many kernels as the bare client sees in another run."""
    python = None if machine.sim else torch_python()
    if not python:
        return (
            "PyTorch, cuBLAS",
            "not run: " + ("no static runtime on the simulated device" if machine.sim else "no PyTorch with CUDA"),
        )
    argv, log = [python, os.path.join(SRC, "tests/cuda/torch_matmul.py")], os.path.join(machine.out, "torch.jsonl")
    status, output = machine.run(argv, **machine.bare(1, BARE_LOG=log))
    kernels = sum(line["type"] == "kernel" for line in json_lines(log))
    if status != 0 or not said(output) or not with_cuda:
        return ("PyTorch, cuBLAS", f"exit status {status}, {kernels} kernels seen by the bare client")
    result = traced(machine, "torch", argv, section)
    if not result:
        return ("PyTorch, cuBLAS", "right", "wrong when traced")
    ranges = "NVTX ranges by domain: " + (
        ", ".join(f"{domain} {count}" for domain, count in result["nvtx"].most_common(8)) or "none"
    )
    same = result["all"]["cuda_kernel"] == kernels
    if not same:
        section.fail(f"PyTorch: bare client saw {kernels} kernels, the report has {result['all']['cuda_kernel']}")
    return (
        "PyTorch, cuBLAS",
        "right",
        f"{kernels} kernels, " + ("agree" if same else "**differ**"),
        result["verdict"],
        outside(result["times"]["early"]),
        outside(result["times"]["late"]),
        ranges,
    )


def programs(machine: Machine, with_cuda: bool, section: Section) -> None:
    rows = [check_program(machine, traced_program, with_cuda, section) for traced_program in TRACED]
    rows.append(check_torch(machine, with_cuda, section))
    section.add(
        "### Programs",
        "",
        "Each program ran untraced and traced (`-t cuda,nvtx,osrt`). Counts: what the program says that it did, "
        "compared with the report. "
        "Early: kernels that begin before the call that launched them. Late: kernels that end after a later wait for "
        "the device has returned.",
        "",
    )
    section.table(
        ("program", "results", "counts", "verdict of the report", "early", "late", "events"),
        [row + ("",) * (7 - len(row)) for row in rows],
    )


# ---- 3: questions ----


def probe(machine: Machine, name: str, **more: object) -> list[Json]:
    log = os.path.join(machine.out, f"probe-{name}.jsonl")
    library = os.path.join(APPS, "libprobe.so")
    machine.run(
        [os.path.join(APPS, name)],
        LD_PRELOAD=library,
        PROBE_LOG=log,
        PROBE_CUPTI=machine.cupti,
        CUDA_INJECTION64_PATH=library,
        **more,
    )
    return json_lines(log)


def questions(machine: Machine, section: Section) -> None:
    facts = {name: probe(machine, name) for name in PROGRAMS if os.path.exists(os.path.join(APPS, name))}
    if not facts.get("vector_add"):
        section.fail("the probe saw nothing")
        return
    forked = probe(machine, "vector_add", PROBE_FORK=1)
    rows = [
        ("injection: is a preloaded library's entry called?", gpu_answers.injection(facts["vector_add"])),
        ("cuptiSubscribe when libcuda is loaded, before cuInit", gpu_answers.subscribe(forked)),
        ("launches: callback ids and correlation", gpu_answers.launch(facts["vector_add"])),
        ("records: packing, streams, synchronization", gpu_answers.records(facts["vector_add"])),
        ("clock and late records", gpu_answers.clock(facts["vector_add"])),
        ("kinds; unified memory", gpu_answers.kinds(facts.get("pipeline") or facts["vector_add"])),
        ("graph node ids", gpu_answers.graphs(facts.get("graph") or [])),
    ]
    section.data["answers"] = dict(rows)
    section.add("### What only a device can show", "")
    section.table(("question", "answer"), rows)


# ---- 4: overhead ----


def complete(values: Sequence[Figure | None]) -> list[Figure]:
    """Return the figures of all rounds; an empty list if a round has none."""
    found = [value for value in values if value is not None]
    return found if len(found) == len(values) else []


def launch_cost(machine: Machine, rounds: int, wrap: Sequence[str] = (), **more: object) -> float | None:
    status, output = machine.run([*wrap, os.path.join(APPS, "launch_loop"), str(rounds)], **more)
    for line in output.splitlines():
        if status == 0 and line.startswith('{"rounds"'):
            median: float = json.loads(line)["ns_per_launch"]["median"]
            return median
    return None


def variants(machine: Machine, with_cuda: bool) -> tuple[list[Variant], str]:
    report = os.path.join(machine.out, "launches.rep")
    made: list[Variant] = [
        ("no tool", (), {}),
        ("bare CUPTI: device activity", (), machine.bare(1)),
        ("bare CUPTI: and API records", (), machine.bare(2)),
        ("bare CUPTI: and API callbacks", (), machine.bare(3)),
        ("tracer, no CUDA source (-t osrt)", (TRACE, "run", "-t", "osrt", "-o", report, "--"), {}),
    ]
    if with_cuda:
        made += [
            (GOAL_OF, (TRACE, "run", "-t", "cuda", "--cuda-backtrace", "none", "-o", report, "--"), {}),
            (
                "tracer, and a callchain of each launch",
                (TRACE, "run", "-t", "cuda", "--cuda-backtrace", "kernel", "-o", report, "--"),
                {},
            ),
            ("tracer, defaults (cuda,nvtx,osrt)", (TRACE, "run", "-t", "cuda,nvtx,osrt", "-o", report, "--"), {}),
        ]
    return made, report


def overhead(machine: Machine, with_cuda: bool, section: Section) -> None:
    if not os.path.exists(os.path.join(APPS, "launch_loop")):
        section.fail("launch_loop is not built")
        return
    rounds, repeats = (10, 2) if machine.quick else (200, 5)
    made, report = variants(machine, with_cuda)
    costs: collections.defaultdict[str, list[float | None]] = collections.defaultdict(list)
    for _ in range(repeats):
        for name, wrap, more in made:
            if os.path.exists(report):
                os.unlink(report)
            costs[name].append(launch_cost(machine, rounds, wrap, **more))
    rows: list[Cells] = []
    base, peer = complete(costs["no tool"]), complete(costs["bare CUPTI: and API records"])
    for name, _, _ in made:
        own = complete(costs[name])
        if not own or not base:
            section.fail(f"launch_loop: {name}: no figure")
            rows.append((name, "-", "-", "-", "-"))
            continue
        added = [cost - before for cost, before in zip(own, base)]
        ratio = statistics.median(cost / other for cost, other in zip(own, peer)) if peer else 0
        rows.append(
            (
                name,
                f"{statistics.median(own):.0f}",
                f"{min(added):.0f}",
                f"{statistics.median(added):.0f}",
                f"{ratio:.2f}",
            )
        )
    section.data["ns_per_launch"] = dict(costs)
    added = [cost - before for cost, before in zip(complete(costs.get(GOAL_OF, [])), base)]
    met = statistics.median(added) <= GOAL_NS if added else None
    section.data["goal"] = {"ns_per_launch": GOAL_NS, "met": met}
    section.add(
        "### Cost of a launch",
        "",
        f"`launch_loop {rounds}`: {rounds} times 500 launches of an empty kernel, without the time of waiting for the "
        f"device. {repeats} rounds; each runs all variants in turn. "
        f'"Added" is the difference from "no tool" in the same round. Goal: at most {GOAL_NS} ns with API and kernels '
        "traced, no callchains: "
        f"{'not measured' if met is None else 'met' if met else '**missed**'}.",
        "",
    )
    section.table(
        ("", "ns per launch, median", "added, min", "added, median", "ratio to bare CUPTI with API records"), rows
    )


def rest_cost(machine: Machine, with_cuda: bool, section: Section) -> None:
    """Measure the wall time and the processor time, tracer included, of a process that makes no CUDA call and of one
    with an idle context.
    """
    report = os.path.join(machine.out, "launches.rep")
    sources = ("osrt",) + (("cuda", "cuda,nvtx,osrt") if with_cuda else ())
    made = [("no tool", ())] + [
        (f"tracer, -t {source}", (TRACE, "run", "-t", source, "-o", report, "--")) for source in sources
    ]
    asleep_ms = 100 if machine.quick else 2000
    programs_ = (
        ("/bin/true: no CUDA at all", ("/bin/true",)),
        (f"a context, {asleep_ms} ms asleep", (os.path.join(APPS, "launch_loop"), "1", str(asleep_ms))),
    )
    costs: collections.defaultdict[tuple[str, str], list[tuple[float, float] | None]] = collections.defaultdict(list)
    for _ in range(1 if machine.quick else 7):
        for title, argv in programs_:
            for name, wrap in made:
                if os.path.exists(report):
                    os.unlink(report)
                begin, (status, _) = time.monotonic(), machine.run([*wrap, *argv])
                costs[title, name].append((time.monotonic() - begin, machine.cpu_s) if status == 0 else None)
    rows = []
    for (title, name), tries in costs.items():
        runs, before = complete(tries), complete(costs[title, "no tool"])
        if not runs:
            section.fail(f"{title}: {name}: no figure")
            continue
        wall, cpu = (statistics.median(run[i] for run in runs) * 1e3 for i in (0, 1))
        ratio = statistics.median(run[0] / old[0] for run, old in zip(runs, before)) if before else 0
        rows.append((title, name, f"{wall:.1f}", f"{cpu:.1f}", f"{ratio:.2f}"))
    section.data["rest"] = {f"{title}; {name}": runs for (title, name), runs in costs.items()}
    section.add(
        "### Cost without launches",
        "",
        "Processor time is that of the program, of `trace` and of the processes it started that have ended.",
        "",
    )
    section.table(("program", "", "ms, median", "ms of processors", "ratio of the times to no tool"), rows)


# ---- samples of the machine ----


def nvml_of(machine: Machine) -> str | None:
    """Return the NVML to load: "" is that of the system, for the simulated device the stand-in of the tests with one
    GPU; None if that is not built."""
    if not machine.sim:
        return ""
    built, path = os.path.join(BUILD, "tests/apps/libnvml.so"), os.path.join(machine.out, "libnvml.so")
    if not os.path.exists(built):
        return None
    shutil.copy(built, path)
    with open(path + ".txt", "w", encoding="ascii") as file:
        file.write("NVML_GPUS=1\n")
    return path


def sampling_cost(machine: Machine, nvml: str) -> float | None:
    """Return the processor time that NVML and its sampler take, in ms per second."""
    seconds = 1 if machine.quick else 5
    host = os.path.join(BUILD, "lib/libtrace/libtrace-host")
    with subprocess.Popen([host, "sample", "gpus", nvml], stdout=subprocess.DEVNULL, env=machine.env()) as process:
        time.sleep(seconds)
        used = read_file(f"/proc/{process.pid}/schedstat").split()
        process.kill()
    return int(used[0]) / 1e6 / seconds if used else None


def samples(machine: Machine, section: Section) -> None:
    """Sample the machine while a program runs, and compare the number of GPUs with nvidia-smi's."""
    report, nvml = os.path.join(machine.out, "samples.rep"), nvml_of(machine)
    section.add("### Samples of the machine", "")
    if nvml is None:
        section.add("Not run: no stand-in for NVML is built (`make apps`).", "")
        return
    argv = [TRACE, "run", "-f", "true", "--machine-samples", "always", "-o", report, "--"]
    argv += [os.path.join(APPS, "launch_loop"), "20", "500" if machine.quick else "3000"]
    status, _ = machine.run(argv, LIBTRACE_NVML=nvml)
    found = [machine.run([TRACE, "stats", "-r", name, "-f", "json", report])[1] for name in SAMPLE_REPORTS]
    metrics, clocks, host = (json.loads(text) if text.strip() else [] for text in found)
    gpus = {row["GPU"] for row in metrics}
    wanted = machine.run(["nvidia-smi", "--list-gpus"])[1].count("GPU ") if shutil.which("nvidia-smi") else None
    if status != 0 or not gpus or not host or (wanted is not None and not machine.sim and len(gpus) != wanted):
        section.fail(f"samples: exit status {status}, {len(gpus)} GPUs with samples, nvidia-smi lists {wanted}")
    section.table(
        ("metric", "GPU", "samples", "mean", "least", "most"),
        ((row["Metric"], row["GPU"], row["Samples"], row["Avg"], row["Min"], row["Max"]) for row in metrics),
    )
    cost = sampling_cost(machine, nvml)
    section.add(
        f"Processor time of sampling the GPUs: {cost:.2f} ms per second." if cost else "Its cost is not known.", ""
    )
    section.data["samples"] = {"metrics": metrics, "clocks": clocks, "host": host, "cost ms/s": cost}
    for name in ("libnvml.so", "libnvml.so.txt") if machine.sim else ():
        os.unlink(os.path.join(machine.out, name))


def metrics(machine: Machine, section: Section) -> None:
    """Count hardware metrics of kernels in two runs. Without permission the report must say so."""
    report = os.path.join(machine.out, "metrics.rep")
    wanted = "sim__duration.sum,sim__threads.sum,sim__registers.max" if machine.sim else "basic,instructions"
    argv = [TRACE, "run", "-f", "true", "-t", "cuda", "--gpu-metrics", wanted, "--gpu-metrics-pass", "all"]
    status, output = machine.run([*argv, "-o", report, "--", os.path.join(APPS, "vector_add")])
    kernels = said(output).get("kernels", 0)
    info = json_object(machine.run([TRACE, "info", "--json", report])[1])
    lines = [d["text"] for d in info.get("diagnostics", []) if "hardware metric" in d["text"]]
    text = machine.run([TRACE, "stats", "-r", "cuda_kern_metric_sum", "-f", "json", report])[1]
    rows = json.loads(text) if text.strip() else []
    refused = any("administrators" in line for line in lines)
    section.add("### Hardware metrics of kernels", "", *(f"- {line}" for line in lines), "")
    section.table(
        ("metric", "kernels", "mean", "least", "most"),
        ((row["Metric"], row["Kernels"], row["Avg"], row["Min"], row["Max"]) for row in rows),
    )
    section.data["metrics"] = {"rows": rows, "diagnostics": lines, "kernels": kernels}
    if status != 0 or not kernels or not (refused or (rows and all(r["Kernels"] == kernels for r in rows))):
        section.fail(f"hardware metrics: exit status {status}, {kernels} kernels, {len(rows)} metrics")


def range_metrics(machine: Machine, section: Section) -> None:
    """Count the blocks of two NVTX ranges, of 3 and 2 blocks. Kernels are not waited for within the ranges."""
    report = os.path.join(machine.out, "range-metrics.rep")
    wanted, unit = ("sim__threads.sum", 32) if machine.sim else ("sm__ctas_launched.sum", 1)
    argv = [TRACE, "run", "-f", "true", "-t", "cuda,nvtx", "--gpu-metrics", wanted, "--gpu-metrics-range", "nvtx"]
    status, _ = machine.run([*argv, "-o", report, "--", os.path.join(APPS, "metric_ranges"), "threads"])
    info = json_object(machine.run([TRACE, "info", "--json", report])[1])
    lines = [d["text"] for d in info.get("diagnostics", []) if "hardware metric" in d["text"]]
    text = machine.run([TRACE, "dump", "--json", "--kind", "cuda_range_metric", report])[1]
    found = [(row["range"], row["value"] / unit) for row in map(json.loads, filter(None, text.splitlines()))]
    section.add("### Hardware metrics of NVTX ranges", "", *(f"- {line}" for line in lines), "")
    section.table(("range", "blocks"), found)
    section.data["range metrics"] = {"rows": found, "diagnostics": lines}
    refused = any("administrators" in line for line in lines)
    if status != 0 or not (refused or found == [("main", 3), ("alone", 2)]):
        section.fail(f"hardware metrics of NVTX ranges: exit status {status}, blocks: {found}")


def metric_samples(machine: Machine, section: Section) -> None:
    """Sample hardware metrics of the device. Samples must follow each other; without permission the report says so."""
    report = os.path.join(machine.out, "metric-samples.rep")
    wanted, hz = ("sim__duration.sum,sim__threads.sum", "2000") if machine.sim else ("basic", "10000")
    argv = [TRACE, "run", "-f", "true", "-t", "cuda", "--gpu-metrics", wanted, "--gpu-metrics-frequency", hz]
    status, _ = machine.run([*argv, "-o", report, "--", os.path.join(APPS, "launch_loop"), "20", "200"])
    info = json_object(machine.run([TRACE, "info", "--json", report])[1])
    lines = [d["text"] for d in info.get("diagnostics", []) if "hardware metric" in d["text"]]
    text = machine.run([TRACE, "dump", "--json", "--kind", "cuda_metric_sample", report])[1]
    found: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for row in map(json.loads, filter(None, text.splitlines())):
        found.setdefault((row["device_id"], row["metric"]), []).append((row["start_ns"], row["duration_ns"]))
    rows = []
    for (number, name), spans in sorted(found.items()):
        gap = max((b[0] - a[0] - a[1] for a, b in zip(spans, spans[1:])), default=0)
        rows.append((name, number, len(spans), statistics.median(length for _, length in spans), gap))
    section.add("### Samples of hardware metrics", "", *(f"- {line}" for line in lines), "")
    section.table(("metric", "device", "samples", "median length (ns)", "largest gap (ns)"), rows)
    section.data["metric samples"] = {"rows": rows, "diagnostics": lines}
    refused = any("administrators" in line for line in lines)
    if status != 0 or not (refused or (rows and all(count > 1 for _, _, count, _, _ in rows))):
        section.fail(f"samples of hardware metrics: exit status {status}, {len(rows)} metrics")


READERS = (
    ["memory"],
    ["memory", "--flame"],
    ["stats", "-r", "cuda_memory_sum,cuda_memory_live,cuda_kern_occupancy,cuda_kern_exec_sum,cuda_graph_node_sum"],
    ["analyze"],
    ["export", "-t", "sqlite"],
    ["export", "-t", "perfetto"],
    ["export", "-t", "ncu"],
)


def readers(machine: Machine, section: Section) -> None:
    """Read a report in every way that concerns the GPU: memory, occupancy, launches, graphs, rules, typed exports."""
    report = os.path.join(machine.out, "readers.rep")
    program = os.path.join(APPS, "graph")
    argv = [TRACE, "run", "-f", "true", "-t", "cuda", "--cuda-graph", "node", "--cuda-backtrace", "all", "-o", report]
    recorded, _ = machine.run([*argv, "--", program])
    rows = []
    for command in READERS:
        out = ["-f", "true", "-o", os.path.join(machine.out, "exported")] if command[0] == "export" else []
        status, output = machine.run([TRACE, *command, *out, report])
        rows.append((" ".join(command), status, len(output)))
    if os.path.exists(os.path.join(machine.out, "exported")):
        os.unlink(os.path.join(machine.out, "exported"))
    text = machine.run([TRACE, "stats", "-r", "cuda_memory_sum", "-f", "json", report])[1]
    memory = json.loads(text) if text.strip() else []
    section.add("### Readers", "", "Each command reads the report of graph, recorded node by node.", "")
    section.table(("command", "exit status", "bytes printed"), rows)
    section.data["readers"] = {"commands": rows, "memory": memory}
    if recorded != 0 or any(status != 0 for _, status, _ in rows) or not any(r["Peak Bytes"] for r in memory):
        section.fail(f"readers: recording ended with {recorded}; commands: {rows}")


# ---- 5: recordings ----


def recordings(machine: Machine, section: Section) -> None:
    folder = os.path.join(machine.out, "buffers")
    shutil.rmtree(folder, ignore_errors=True)
    rows = []
    for name in PROGRAMS:
        if not os.path.exists(os.path.join(APPS, name)):
            continue
        os.makedirs(os.path.join(folder, name))
        log = os.path.join(folder, name, "records.jsonl")
        machine.run([os.path.join(APPS, name)], **machine.bare(4, BARE_RAW=os.path.join(folder, name), BARE_LOG=log))
        end = (json_lines(log) or [{}])[-1]
        rows.append((name, end.get("buffers"), end.get("records"), end.get("dropped"), end.get("cupti")))
        if end.get("type") != "end" or not end["records"]:
            section.fail(f"{name}: no recording")
    pack(machine, "buffers.tar.gz", [folder], section)
    section.add(
        "### Recorded activity buffers",
        "",
        "`buffers.tar.gz`: the buffers as CUPTI delivered them, and their records as JSON lines.",
        "",
    )
    section.table(("program", "buffers", "records", "dropped", "CUPTI"), rows)


# ---- main ----


def pack(machine: Machine, name: str, paths: Sequence[str], section: Section) -> None:
    """Move files and folders into one archive. Leave out and report files larger than ARCHIVED_BYTES."""
    with tarfile.open(os.path.join(machine.out, name), "w:gz") as archive:
        for path in paths:
            for file in sorted(glob.glob(os.path.join(path, "**"), recursive=True)) if os.path.isdir(path) else [path]:
                size = os.path.getsize(file)
                if os.path.isfile(file) and size <= ARCHIVED_BYTES:
                    archive.add(file, os.path.relpath(file, machine.out))
                elif os.path.isfile(file):
                    section.add(f"{os.path.relpath(file, machine.out)} has {size} bytes and is not in {name}.", "")
    for path in paths:
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sim", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--limit", type=float, default=540, metavar="SECONDS")
    parser.add_argument("--out", default="gpu-validation")
    options = parser.parse_args()
    if not os.path.exists(TRACE) or not os.path.exists(os.path.join(APPS, "vector_add")):
        give_up("build first, with nvcc: make all cuda-apps")
    os.makedirs(options.out, exist_ok=True)
    machine, section = Machine(options.sim, options.quick, os.path.abspath(options.out), options.limit), Section()
    if not options.sim and machine.run([os.path.join(APPS, "vector_add")])[0] != 0:
        give_up("vector_add does not run here; check that there is a GPU with its driver")
    with_cuda = tracer_takes_cuda(machine)
    steps: tuple[tuple[str, Callable[[], None]], ...] = (
        ("machine", lambda: describe(machine, section)),
        ("programs", lambda: programs(machine, with_cuda, section)),
        ("questions", lambda: questions(machine, section)),
        ("recordings", lambda: recordings(machine, section)),
        ("overhead", lambda: overhead(machine, with_cuda, section)),
        ("results and code", lambda: check_code(machine, with_cuda, section)),
        ("cost without launches", lambda: rest_cost(machine, with_cuda, section)),
        ("samples", lambda: samples(machine, section)),
        ("hardware metrics", lambda: metrics(machine, section)),
        ("hardware metrics of NVTX ranges", lambda: range_metrics(machine, section)),
        ("samples of hardware metrics", lambda: metric_samples(machine, section)),
        ("readers", lambda: readers(machine, section)),
        ("device's own counts", lambda: gpu_derived.device_counts(machine, section)),
        ("timelines", lambda: gpu_derived.timelines(machine, section)),
        ("paths", lambda: gpu_derived.paths(machine, section)),
        ("captures", lambda: pack(machine, "captures.tar.gz", [gpu_derived.captures(machine, section)], section)),
    )
    for name, step in steps:
        note(name)
        try:
            step()
        except Exception as error:
            traceback.print_exc()
            section.fail(f'the step "{name}" was aborted: {error!r}')
        section.write(machine.out)
    if machine.left() <= 0:
        section.fail(f"the time limit of {options.limit:g} s was reached; steps missing above were not run")
    pack(
        machine,
        "reports.tar.gz",
        sorted(glob.glob(os.path.join(machine.out, "*.rep")) + glob.glob(os.path.join(machine.out, "*.jsonl"))),
        section,
    )
    section.add("### Verdict", "", *([f"- wrong: {text}" for text in section.wrong] or ["No errors."]), "")
    section.write(machine.out)
    print("\n".join(section.lines))
    return 1 if section.wrong else 0


sys.exit(main())
