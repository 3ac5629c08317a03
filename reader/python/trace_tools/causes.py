# SPDX-License-Identifier: Apache-2.0
"""Causes of what got worse: "its code changed", "same code, more calls", "the machine was busier"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import functions
from .samples import DELAY

if TYPE_CHECKING:
    from .compare import Comparison, Finding
    from .profile import Profile

HASH, LAUNCH = "hash", ("registers", "local memory", "block")


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
    return "; ".join([*code, *calls, *machine_text(comparison, finding)])
