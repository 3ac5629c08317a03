# SPDX-License-Identifier: Apache-2.0
"""python3 -m libtrace_rules: started by `trace rules`. Rules are Python code, which runs in separate processes.

Standard input is a JSON object: report, folders, rules (identifiers; empty: all), limit_s, is_list. Standard output is
a sequence of frames: a letter, the number of bytes that follow (u32, little endian), and these bytes:

  L  a line about a rule (with is_list)
  R  u64 result, a RuleResult
  M  u64 result, u32 bytes of the name, the name, a ProfileMetricResult without its name
  P  a problem, in one line
  N  a line about a rule that was not applied, as intended
  E  the end: the output is complete
"""

import json
import os
import struct
import sys
from types import ModuleType
from typing import Dict, FrozenSet, List, Optional, Tuple, TypedDict, Union

import ncu_report

from . import _apply, _encode, _process, _rules


class Output:
    """The output stream of frames. Its descriptor is hidden from rules: their output is written to standard error."""

    def __init__(self) -> None:
        self._file = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)

    def put(self, letter: str, data: bytes) -> None:
        self._file.write(letter.encode() + struct.pack("<I", len(data)) + data)

    def line(self, letter: str, text: str) -> None:
        self.put(letter, " ".join(text.split()).encode("utf-8", "replace"))

    def flush(self) -> None:
        """Flush the frames, so that a forked process does not write them again."""
        self._file.flush()


class Job(TypedDict):
    """The job, read from standard input."""

    report: str
    folders: List[str]
    rules: List[str]
    limit_s: float
    is_list: bool


def load(job: Job, out: Output) -> List[_rules.Rule]:
    """Load the rules of the folders. If several rules have one identifier, the first is used."""
    rules: Dict[str, _rules.Rule] = {}
    paths, problems = _rules.files(job["folders"])

    def take(path: str, what: Union[_rules.Rule, str, None]) -> None:
        if isinstance(what, str):
            out.line("P", f"{path}: {what}")
        elif what and what.identifier in rules:
            out.line("P", f"{path}: ignored, since rule {what.identifier} is also in {rules[what.identifier].path}")
        elif what:
            rules[what.identifier] = what

    for problem in problems:
        out.line("P", problem)
    for path in paths:
        out.flush()
        why = _process.over_all(_rules.describe, [path], job["limit_s"], take)
        if why:
            out.line("P", f"{path}: {why}")
    return list(rules.values())


class Session:
    """A run of the rules, one after another, over all results."""

    def __init__(self, job: Job, rules: List[_rules.Rule], out: Output) -> None:
        self.job, self.out = job, out
        self.known = [rule.identifier for rule in rules]
        report = ncu_report.load_report(job["report"])
        self.range: Union[ncu_report.IRange, Tuple[ncu_report.IAction, ...]] = report[0] if len(report) else ()
        self.sections: List[Optional[FrozenSet[str]]] = [None] * len(self.range)
        # numbers that rules stored for later rules, by result
        self.sent: Dict[int, _apply.Numbers] = {}
        self.vaults: Dict[int, _apply.Numbers] = {}
        self.added: Dict[int, Dict[str, ncu_report.IMutableMetric]] = {}

    def has_section(self, index: int, identifier: str) -> bool:
        """Return whether the section was collected."""
        found = self.sections[index]
        if found is None:
            sections = self.range[index].fields("sections") or []
            found = self.sections[index] = frozenset(section.get("identifier") for section in sections)
        return identifier in found

    def can_hold(self, index: int) -> bool:
        """Return whether the result can store findings. Only results of kernels can: ranges and graphs have no field
        for them.
        """
        action = self.range[index]
        return action.workload_type() == action.WorkloadType_KERNEL

    def action(self, index: int) -> ncu_report.IAction:
        action = self.range[index]
        for metric in self.added.get(index, {}).values():
            action.put_metric(metric)
        return action

    def run(self, rule: _rules.Rule) -> None:
        todo = [
            i
            for i in range(len(self.range))
            if self.can_hold(i) and (not rule.section or self.has_section(i, rule.section))
        ]
        is_requested = not self.job["rules"] or rule.identifier in self.job["rules"]
        modules: List[ModuleType] = []
        done = 0

        def one(index: int) -> _apply.Finding:
            if not modules:
                modules.append(_rules.import_file(rule.path))
            sent = self.sent.get(index, {})
            return _apply.apply(
                rule,
                modules[0],
                self.action(index),
                self.known,
                {parent: sent[parent] for parent in rule.parents if parent in sent},
                self.vaults.get(index, {}),
            )

        def take(index: int, found: _apply.Finding) -> None:
            nonlocal done
            done += 1
            self.take(rule, index, found, is_requested)

        self.out.flush()
        why = _process.over_all(one, todo, self.job["limit_s"], take) if todo else None
        if why:
            self.out.line(
                "P",
                f"{rule.path}: rule {rule.identifier} at result {todo[done]}: {why}; "
                f"{len(todo) - done} results have no findings of it",
            )

    def take(self, rule: _rules.Rule, index: int, found: _apply.Finding, is_requested: bool) -> None:
        if found.sent:
            self.sent.setdefault(index, {})[rule.identifier] = found.sent
        if found.vault:
            self.vaults[index] = found.vault
        if found.added:
            self.added.setdefault(index, {}).update(found.added)
        if is_requested:
            for name, metric in found.added.items():
                raw = name.encode("utf-8", "replace")
                self.out.put("M", struct.pack("<QI", index, len(raw)) + raw + _encode.metric(metric))
            if found.result:
                self.out.put("R", struct.pack("<Q", index) + found.result)
        if found.problem:
            self.out.line(
                "P" if found.result else "N", f"{rule.path}: rule {rule.identifier} at result {index}: {found.problem}"
            )


def main() -> None:
    job: Job = json.load(sys.stdin)
    out = Output()
    rules = load(job, out)
    for name in job["rules"]:
        if not any(rule.identifier == name for rule in rules):
            out.line("P", f"unknown rule '{name}'")
    if job["is_list"]:
        for rule in rules:
            out.line(
                "L", "{}: {} (section {}; {})".format(rule.identifier, rule.name, rule.section or "none", rule.path)
            )
    else:
        session = Session(job, rules, out)
        for rule in _rules.ordered(_rules.chosen(rules, job["rules"])):
            session.run(rule)
    out.put("E", b"")
    out.flush()


if __name__ == "__main__":
    main()
