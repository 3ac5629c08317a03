# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of a run: machine, driver, libraries, options, arguments; and the differences that rule out a
comparison.
"""

from __future__ import annotations

import collections
import os
import re
import statistics
from typing import TYPE_CHECKING, Iterable, NamedTuple, Sequence

if TYPE_CHECKING:
    from .profile import Database, Profile


class Difference(NamedTuple):
    """A fact that two sides do not agree on."""

    name: str
    base: str
    other: str
    refuses: bool  # whether it forbids a comparison


# Facts that change what is measured: runs that differ in one are not compared without --force. Others are reported.
REFUSING = {
    "host",
    "processor",
    "cpus",
    "gpu",
    "option trace",
    "option osrt_threshold",
    "option osrt_locks",
    "option cuda_trivial",
    "option cuda_graph",
    "option capture_range",
    "option delay_ns",
    "option duration_ns",
    "option nvtx_domain_include",
    "option nvtx_domain_exclude",
    "program",
    "recorded by",
    "governor",
    "turbo",
    "smt",
    "cpus_allowed",
    "cgroup_cpu_max",
    "cgroup_memory_max",
    "nvidia_driver",
    "CUDA driver",
    "gpu clock",
    "ECC",
}
# The same for facts of each CPU package or device, but only if both sides know them: a recorder may not collect them.
REFUSING_EACH = re.compile(
    r"(cpu_power_limit_(long|short)|nvidia_gpu)_\d+|gpu_\d+_(name|power_limit|max_clocks|application_clocks|ecc|mig)"
)
# Facts that always differ, or differ from run to run of a night: kept in the store, not reported as differences.
BEGAN = "began"  # ns since 1970: which runs were recorded in turn
RESTLESS = {"load", BEGAN, "option gpu_metrics_pass"}
# Options of nsys that are compared, and their facts.
NSYS_OPTIONS = {
    "OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS": "option osrt_threshold",
    "LINUX_PERF_OPTIONS:SAMPLING_PERIOD": "option sampling_period",
}
SECRET = re.compile(
    r"(?i)(password|passwd|passphrase|secrets?|token|credentials?|authorization|apikey"
    r"|(?<![a-z0-9])((api|access|private)[^a-z0-9]+key|mysql[^a-z0-9]+pwd))(?![a-z0-9])"
)  # the same list as in common/redact.c
BUILD_ID, LIBRARY = "build-id ", "library "  # prefixes of facts; the library's name follows
SAMPLED = "sampled "  # prefix of facts from samples of the machine, which differ a little between all runs
CLOCK, HELD = f"{SAMPLED}clock of GPU ", f"{SAMPLED}throttling of GPU "  # MHz, percent; the number of NVML follows
CPU_CLOCK = f"{SAMPLED}clock of the CPUs"  # MHz
HELD_REASONS = 0x6EC  # NVML's bits of throttling, as in reader/reports/shared/gpu_clocks.sql
# The version in the name of a library's file: libz.so.1.2.13, libfoo-1.2.so.
VERSIONED = re.compile(
    r"(?P<name>[^()\[\]]+?\.so)\.(?P<version>\d+(\.\w+)*)|(?P<stem>[^()\[\]]+?)-(?P<number>\d+(\.\d+)+)\.so"
)
ECC_ENABLED = 32  # CU_DEVICE_ATTRIBUTE_ECC_ENABLED
# Options that name the output, and do not affect the content of the report.
PLAIN_OPTIONS = {"output", "overwrite", "spool_dir", "helper", "exit_wait", "flush_interval_ns", "compress", "memory"}


def read(db: Database, profile: Profile) -> None:
    """Set the facts and problems of the profile."""
    facts = profile.facts
    env: collections.defaultdict[str, set[str]] = collections.defaultdict(set)
    for name, value in db.rows("TARGET_INFO_SYSTEM_ENV", "SELECT name, value FROM TARGET_INFO_SYSTEM_ENV"):
        env[name].add(str(value))
    for fact, name in (
        ("host", "Hostname"),
        ("processor", "CpuDescription"),
        ("cpus", "CpuCores"),
        ("kernel", "SoftwareReleaseVersion"),
        ("driver", "NvDriverVersion"),
        ("CUDA driver", "CudaDriverVersion"),
    ):
        if env[name]:
            facts[fact] = ", ".join(sorted(env[name]))
    gpus = sorted(str(row[0]) for row in db.rows("TARGET_INFO_GPU", "SELECT name FROM TARGET_INFO_GPU"))
    if gpus:
        facts["gpu"] = ", ".join(f"{gpus.count(g)} x {g}" for g in sorted(set(gpus)))
    ours = "LIBTRACE_PROCESS" in db.tables
    facts["recorded by"] = "libtrace" if ours else "nsys"
    capture = db.rows("META_DATA_CAPTURE", "SELECT name, value FROM META_DATA_CAPTURE")
    for name, value in capture:
        option, _, text = (value or "").partition("=")
        if name == "LIBTRACE_OPTION" and option not in PLAIN_OPTIONS:
            facts[f"option {option}"] = text
        elif name == "LIBTRACE_FACT":
            facts[option] = text
        elif name in NSYS_OPTIONS and not ours:
            facts[NSYS_OPTIONS[name]] = value
    for (utc_ns,) in db.rows(
        "TARGET_INFO_SESSION_START_TIME",
        "SELECT max(utcEpochNs) FROM TARGET_INFO_SESSION_START_TIME WHERE typeof(utcEpochNs) = 'integer'",
    ):
        if utc_ns:
            facts[BEGAN] = str(utc_ns)
    arguments = [value or "" for name, value in capture if name.startswith("PROCESS_0:ARGUMENT_")]
    if arguments:
        facts["arguments"] = " ".join(redact(arguments))
    program = next((value for name, value in capture if name == "PROCESS_0:COMMAND"), None)
    if program:
        facts["program"] = os.path.basename(program)
    read_devices(db, facts)
    read_clocks(db, facts)
    read_libraries(db, facts)
    read_end(db, profile)


def redact(arguments: Sequence[str]) -> list[str]:
    """Remove secrets, recognized by name, from arguments: the value of --token=X and TOKEN=X, the argument after
    --token.
    """
    kept, hide = [], False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if hide and not argument.startswith("-"):
            kept.append("REDACTED")
            hide = False
            continue
        secret = bool(SECRET.search(name)) and (bool(equals) or name.startswith("-"))
        kept.append(f"{name}=REDACTED" if secret and equals else argument)
        hide = secret and not equals
    return kept


def read_devices(db: Database, facts: dict[str, str]) -> None:
    """Read the properties of the devices that a run used."""
    clocks = {
        row[0]
        for row in db.rows(
            "LIBTRACE_CUDA_DEVICE", "SELECT coreClockRate FROM LIBTRACE_CUDA_DEVICE WHERE coreClockRate > 0"
        )
    }
    ecc = {
        row[0]
        for row in db.rows(
            "LIBTRACE_CUDA_DEVICE_ATTRIBUTE",
            f"SELECT value FROM LIBTRACE_CUDA_DEVICE_ATTRIBUTE WHERE attribute = {ECC_ENABLED}",
        )
    }
    for name, values in (("gpu clock", clocks), ("ECC", ecc)):
        if values:
            facts[name] = ", ".join(str(v) for v in sorted(values))
    for driver, cupti in set(
        db.rows("LIBTRACE_CUDA_SETUP", "SELECT driverVersion, cuptiVersion FROM LIBTRACE_CUDA_SETUP")
    ):
        facts["CUDA driver"], facts["CUPTI"] = str(driver), str(cupti)


def read_clocks(db: Database, facts: dict[str, str]) -> None:
    """Read the clock of each GPU, the median of the samples with a kernel on it; for how much of the run it was
    throttled; and the mean clock of the CPUs.
    """
    gpus, host = "LIBTRACE_GPU_SAMPLE", "LIBTRACE_HOST_SAMPLE"
    clocks: collections.defaultdict[int, list[int]] = collections.defaultdict(list)
    for gpu, mhz in db.rows(
        gpus, f"SELECT gpu, smClockMhz FROM {gpus} WHERE smClockMhz > 0 AND utilizationPercent > 0"
    ):
        clocks[int(gpu)].append(int(mhz))
    for gpu, values in clocks.items():
        facts[f"{CLOCK}{gpu}"] = str(statistics.median_low(values))
    if db.has(gpus, "throttleReasons"):
        for gpu, percent in db.rows(
            gpus,
            f"SELECT gpu, 100 * avg(throttleReasons & {HELD_REASONS} <> 0) FROM {gpus} WHERE reported & 32 GROUP BY 1",
        ):
            if int(gpu) in clocks:
                facts[f"{HELD}{gpu}"] = f"{percent:.0f}"
    for (mhz,) in db.rows(host, f"SELECT avg(clockMhz) FROM {host} WHERE reported & 2"):
        if mhz:
            facts[CPU_CLOCK] = f"{mhz:.0f}"


def library(file: str) -> tuple[str, str]:
    """Return the name of a library that is the same for all its compatible versions, and its version, from the name of
    its file: libz.so.1.2.13 is version 1.2.13 of libz.so.1.
    """
    found = VERSIONED.fullmatch(file)
    if not found:
        return file, ""
    if found["stem"]:
        return f"{found['stem']}.so", found["number"]
    return f"{found['name']}.{found['version'].split('.')[0]}", found["version"]


def read_libraries(db: Database, facts: dict[str, str]) -> None:
    """Read the versions and build ids of the loaded libraries, which are recorded together with callchains."""
    strings = "(SELECT value FROM StringIds WHERE id = {})"
    rows = set(
        db.rows(
            "LIBTRACE_MODULE_LOAD",
            f"SELECT {strings.format('pathId')}, {strings.format('buildId')} FROM LIBTRACE_MODULE_LOAD WHERE buildId "
            "IS NOT NULL",
        )
    )
    for path, build_id in sorted((p or "", b or "") for p, b in rows):
        if build_id and path.startswith("/"):
            name, version = library(os.path.basename(path))
            facts[f"{BUILD_ID}{name}"] = build_id
            if version:
                facts[f"{LIBRARY}{name}"] = version


def read_end(db: Database, profile: Profile) -> None:
    """Check whether the run is complete."""
    root = {row[0] for row in db.rows("LIBTRACE_REPORT", "SELECT rootPid FROM LIBTRACE_REPORT")}
    for pid, program, how, status, dropped in db.rows(
        "LIBTRACE_PROCESS", f"SELECT pid, {db.process_names()}, endHow, exitStatus, dropped FROM LIBTRACE_PROCESS"
    ):
        name = os.path.basename(program or "?")
        if dropped:
            profile.problems.append(f"{dropped} events of {name} ({pid}) were dropped")
        if pid in root and how == "exit" and status:
            profile.problems.append(f"{name} ended with status {status}")
        elif pid in root and how is None:
            profile.problems.append(f"{name} has no end record in the report")
        elif pid in root and how not in ("exit", "exec"):
            profile.problems.append(f"{name} did not end by itself ({how})")


def same_where_known(base: Iterable[str], other: Iterable[str]) -> bool:
    """Return whether the known values of both sides are equal: whether a run has callchains, and so build ids, is
    chance.
    """
    ours, theirs = set(base) - {"not known"}, set(other) - {"not known"}
    return not ours or not theirs or ours == theirs


def differences(base: list[Profile], other: list[Profile]) -> list[Difference]:
    """Return the facts in which the runs of two sides differ, each side's values as one text; those that forbid a
    comparison come first.
    """
    found = []
    names = sorted({name for profile in base + other for name in profile.facts})
    for name in names:
        if name in RESTLESS or name.startswith(SAMPLED):
            continue
        sides = [sorted({profile.facts.get(name, "not known") for profile in side}) for side in (base, other)]
        if name.startswith((BUILD_ID, LIBRARY)) and same_where_known(*sides):
            continue
        if sides[0] != sides[1] or len(sides[0]) > 1:
            refuses = name in REFUSING or (
                bool(REFUSING_EACH.fullmatch(name)) and "not known" not in sides[0] + sides[1]
            )
            found.append(Difference(name, " | ".join(sides[0]), " | ".join(sides[1]), refuses))
    return sorted(found, key=lambda d: (not d.refuses, d.name))
