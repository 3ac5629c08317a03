# SPDX-License-Identifier: Apache-2.0
"""Causes of what got worse: "its code changed", "same code, more work", "library libz.so.1 1.2.13 -> 1.3.1"."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from . import fingerprint, functions
from .samples import DELAY, FAULTS

if TYPE_CHECKING:
    from .compare import Comparison, Finding
    from .profile import Profile

HASH, LAUNCH = "hash", ("registers", "local memory", "block", "occupancy")
FAULT_NS = 250  # least processor time of a page fault
LEAST_CLOCK = 0.02  # least change of a clock
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


def clock_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return how the clocks of GPUs changed, if they explain that a kernel takes longer, or less long."""
    if finding.key.kind != "kernel" or finding.metric == "count":
        return []
    found = []
    for name in sorted({n for p in comparison.base for n in p.facts if n.startswith(fingerprint.CLOCK)}):
        sides = [[int(p.facts[name]) for p in side if name in p.facts] for side in (comparison.base, comparison.other)]
        before, after = (statistics.median(values) if values else 0 for values in sides)
        if (
            before
            and after
            and abs(after / before - 1) >= LEAST_CLOCK
            and (after < before) == (finding.result == "worse")
        ):
            found.append(f"clock of {name.removeprefix('sampled clock of ')} {before:.0f} -> {after:.0f} MHz")
    return found


def calls_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return how the number of calls of an item changed, if that is known exactly."""
    for f in comparison.findings:
        if f.key == finding.key and f.metric == "count" and f is not finding and f.exact and f.base not in (0, f.other):
            return [f"calls {100 * (f.other / f.base - 1):+.3g} %"]
    return []


def machine_text(comparison: Comparison, finding: Finding) -> list[str]:
    """Return whether the machine was busier."""
    if finding.metric not in ("typical (ns)", "total (ns)", "without waits for a CPU (ns)"):
        return []
    for f in comparison.findings:
        if f.metric == DELAY and f.key.program == finding.key.program and f.result == "changed" and f.other > f.base:
            return ["more waiting for a CPU: the machine was busier"]
    return []


def cause(comparison: Comparison, finding: Finding) -> str:
    """Return the cause of a finding in words; "" if nothing is known."""
    code, calls = code_text(comparison, finding), calls_text(comparison, finding)
    if calls and code[:1] == ["same code"]:
        code[0] = "same code, more work"
    if finding.metric == functions.CPU and finding.key.kind == "function" and code == ["same code"]:
        code = ["same code: more work, or slower"]
    texts = (library_text, faults_text, clock_text, machine_text)
    return "; ".join([*code, *calls, *(text for find in texts for text in find(comparison, finding))])
