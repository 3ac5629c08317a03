# SPDX-License-Identifier: Apache-2.0
"""Causes of what got worse: "its code changed", "same code, more work", "library libz.so.1 1.2.13 -> 1.3.1"."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from . import fingerprint, functions
from .profile import METRIC
from .samples import DELAY, FAULTS, INSTRUCTIONS, MODES, STEAL

if TYPE_CHECKING:
    from .compare import Comparison, Finding
    from .profile import Profile

HASH, LAUNCH = "hash", ("registers", "local memory", "block", "occupancy")
FAULT_NS = 250  # least processor time of a page fault
LEAST_CLOCK = 0.02  # least change of a clock
LEAST_HELD, LEAST_STEAL = 5.0, 1.0  # percent of a run, or change of it, that is worth a word
LEAST_METRIC = 0.05  # least change of a hardware metric, as a part of the larger value
FAULTS_PART = 0.1  # least part of a change that page faults explain


def facts_of(profiles: list[Profile], finding: Finding, name: str) -> list[str]:
    """Return the values of a fact of an item's code in the runs of a side."""
    found = {p.items[finding.key].code.get(name, "") for p in profiles if finding.key in p.items}
    return sorted(found - {""})


def code_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return whether the code of an item changed."""
    base, other = (facts_of(side, finding, HASH) for side in (comparison.base, comparison.other))
    found = []
    if base and other:
        found.append("same code" if base == other else "its code changed")
    for name in LAUNCH:
        before, after = (facts_of(side, finding, name) for side in (comparison.base, comparison.other))
        if before and after and before != after:
            found.append(f"{name} {', '.join(before)} -> {', '.join(after)}")
    return found


def metrics_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return the hardware metrics of a kernel or NVTX range whose means over its instances changed."""
    sides = comparison.base, comparison.other
    items = [[p.items[finding.key] for p in side if finding.key in p.items] for side in sides]
    found = []
    for name in sorted({n for item in items[0] for n in item.code if n.startswith(METRIC)}):
        before, after = ([float(i.code[name]) for i in side if name in i.code] for side in items)
        if not after:
            continue
        old, new = statistics.median(before), statistics.median(after)
        if abs(new - old) > LEAST_METRIC * max(abs(old), abs(new)):
            found.append(f"{name.removeprefix(METRIC)} {old:.4g} -> {new:.4g}")
    return found


def library_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return whether the library of a function is another version, or another build."""
    name = functions.library_of(finding.key.name) if finding.key.kind == "function" else ""
    for d in comparison.differences if name else ():
        if d.name == f"{fingerprint.LIBRARY}{name}":
            return [f"library {name} {d.base} -> {d.other}"]
    for d in comparison.differences if name else ():
        if d.name == f"{fingerprint.BUILD_ID}{name}":
            return [f"library {name} is another build"]
    return []


def faults_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return how the number of page faults changed, if that is a part of the change of a processor time."""
    if finding.metric != functions.CPU or finding.key.kind not in ("function", "process"):
        return []
    for f in comparison.of(finding.result):
        if f.metric == FAULTS and f.key.program == finding.key.program:
            spent_ns = FAULT_NS * abs(f.other - f.base)
            if spent_ns >= FAULTS_PART * abs(finding.other - finding.base):
                return [f"page faults {f.base:,.0f} -> {f.other:,.0f}"]
    return []


def medians(comparison: Comparison, prefix: str) -> dict[str, tuple[float, float]]:
    """Return the medians over the runs of both sides of the numeric facts with a prefix that both sides have: {the
    rest of the name: (base, other)}.
    """
    sides = comparison.base, comparison.other
    found: dict[str, tuple[float, float]] = {}
    for name in sorted({n for p in comparison.base for n in p.facts if n.startswith(prefix)}):
        before, after = ([float(p.facts[name]) for p in side if name in p.facts] for side in sides)
        if after:
            found[name.removeprefix(prefix)] = statistics.median(before), statistics.median(after)
    return found


def clocks(comparison: Comparison, prefix: str, what: str) -> list[tuple[str, bool]]:
    """Return the clocks that changed, in words, and whether they became slower."""
    return [
        (f"clock of {what}{name} {before:.0f} -> {after:.0f} MHz", after < before)
        for name, (before, after) in medians(comparison, prefix).items()
        if before and abs(after / before - 1) >= LEAST_CLOCK
    ]


def throttling(comparison: Comparison) -> dict[str, str]:
    """Return for how much of the run the GPUs were throttled: {number of a GPU: text}, if it is worth a word."""
    return {
        name: f"throttled for {before:.0f} % -> {after:.0f} % of the run"
        for name, (before, after) in medians(comparison, fingerprint.HELD).items()
        if max(before, after) >= LEAST_HELD
    }


def steal_text(comparison: Comparison) -> list[str]:
    """Return which part of the programs' processor time the hypervisor took, in addition, if it is worth a word."""

    def percent(profiles: list[Profile]) -> float:
        shares = [
            100 * sum(i.more[STEAL] for i in items) / max(sum(i.cpu_ns for i in items), 1)
            for items in ([i for i in p.items.values() if STEAL in i.more] for p in profiles)
            if items
        ]
        return statistics.median(shares) if shares else 0.0

    before, after = percent(comparison.base), percent(comparison.other)
    if max(before, after) < LEAST_STEAL:
        return []
    return [f"the hypervisor took {before:.1f} % -> {after:.1f} % of the processor time"]


def machine_lines(comparison: Comparison) -> list[str]:
    """Return what the machine did in the runs, whether or not it explains anything: clocks that changed, throttled
    GPUs, time that a hypervisor took.
    """
    changed = clocks(comparison, fingerprint.CLOCK, "GPU ") + clocks(comparison, fingerprint.CPU_CLOCK, "the CPUs")
    held = [f"GPU {name} {text}" for name, text in throttling(comparison).items()]
    return [text for text, _ in changed] + held + steal_text(comparison)


def clock_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return how the clocks changed, if they explain that a kernel, or a processor time, is longer or less long."""
    if finding.key.kind == "kernel" and finding.metric != "count":
        found = clocks(comparison, fingerprint.CLOCK, "GPU ")
        held = [f"GPU {name} {text}" for name, text in throttling(comparison).items()]
    elif finding.metric in (functions.CPU, *MODES):
        found, held = clocks(comparison, fingerprint.CPU_CLOCK, "the CPUs"), []
    else:
        return []
    explains = [text for text, is_slower in found if is_slower == (finding.result == "worse")]
    return explains + held if explains else []


def calls_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return how the number of calls of an item changed, if that is known exactly. That of a function with CPU samples
    is known if its calls were recorded, too (--functions).
    """
    found = [f for f in comparison.findings if f.metric == "count" and f is not finding and is_called(f, finding)]
    before, after = (sum(getattr(f, side) for f in found) for side in ("base", "other"))
    if all(f.exact or f.base == f.other for f in found) and before not in (0, after):
        return [f"calls {100 * (after / before - 1):+.3g} %"]
    return []


def is_called(calls: Finding, finding: Finding) -> bool:
    """Return whether a count is that of the calls of an item."""
    key = calls.key
    if finding.key.kind != "function":
        return key == finding.key
    is_same = key.kind == "library" and key.program == finding.key.program
    return is_same and functions.lasting_name(key.name) == finding.key.name


def instructions_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return whether a program or thread whose processor time changed executed more or fewer instructions."""
    for f in comparison.findings:
        if f.key == finding.key and f.metric == INSTRUCTIONS and finding.metric == functions.CPU:
            if f.result == finding.result:
                return [f"instructions {100 * (f.ratio - 1):+.3g} %"]
            return ["the same number of instructions"] if f.result == "equal" else []
    return []


def machine_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return whether the machine, or its hypervisor, was busier."""
    if finding.metric not in ("typical (ns)", "total (ns)", "without waits for a CPU (ns)"):
        return []
    grown = {
        f.metric
        for f in comparison.of("changed")
        if f.metric in (DELAY, STEAL) and f.key.program == finding.key.program and f.other > f.base
    }
    return ["more waiting for a CPU: the machine was busier"] * (DELAY in grown) + [
        "the hypervisor took more of the time"
    ] * (STEAL in grown)


def cause(comparison: Comparison, finding: Finding) -> str:
    """Return the cause of a finding in words; "" if nothing is known."""
    code, calls = code_text(comparison, finding), calls_text(comparison, finding)
    if calls and code[:1] == ["same code"]:
        code[0] = "same code, more work"
    if finding.metric == functions.CPU and finding.key.kind == "function" and code == ["same code"]:
        code = ["same code: more work, or slower"]
    slower = clock_text(comparison, finding)
    if slower and not calls and code[:1] and code[0].startswith("same code"):
        code[0] = "same code, slower" if finding.result == "worse" else "same code, faster"
    texts = (metrics_text, library_text, instructions_text, faults_text, machine_text)
    return "; ".join([*code, *calls, *slower, *(text for find in texts for text in find(comparison, finding))])
