# SPDX-License-Identifier: Apache-2.0
"""Findings of rules, with the interface of NVIDIA's module 2026.3.1: an IRuleResult per message."""

from enum import IntEnum
from typing import List, Tuple

from ._shown import Fields, text_of


class MsgType(IntEnum):
    """The type of a message."""

    NONE, OK, OPTIMIZATION, WARNING, ERROR = range(5)


class FocusSeverity(IntEnum):
    """How much a metric matters to a message."""

    DEFAULT, LOW, HIGH = range(3)


class SpeedupType(IntEnum):
    """The base of an estimated speedup: the hardware in isolation (LOCAL), or the run time of the kernel (GLOBAL)."""

    UNKNOWN, LOCAL, GLOBAL = range(3)


class MarkerKind(IntEnum):
    """What a source marker belongs to."""

    SASS, SOURCE, NONE = range(3)


class StallReason(IntEnum):
    """Why a sampled warp could not issue an instruction."""

    (
        INVALID,
        BARRIER,
        BRANCH_RESOLVING,
        DISPATCH_STALL,
        DRAIN,
        IMC_MISS,
        LG_THROTTLE,
        LONG_SCOREBOARD,
        MIO_THROTTLE,
        MATH_PIPE_THROTTLE,
        MEMBAR,
        MISC,
        NO_INSTRUCTIONS,
        NOT_SELECTED,
        SELECTED,
        SHORT_SCOREBOARD,
        SLEEPING,
        TEX_THROTTLE,
        WAIT,
    ) = range(19)


_STORED = (MsgType.NONE, MsgType.OK, MsgType.WARNING, MsgType.ERROR, MsgType.OPTIMIZATION)  # by stored number


def message_type(stored: int) -> int:
    """Convert a stored RuleResultMessageType to MsgType."""
    return int(_STORED[stored]) if 0 <= stored < len(_STORED) else int(MsgType.NONE)


class IRuleResult:
    """An item of a rule: usually a message, with its metrics and estimated speedup; or a chart, which has neither."""

    def __init__(self, rule: Fields, item: Fields) -> None:
        self._rule = rule
        self._message: Fields = item.get("message", {})
        self._focus: List[Fields] = item.get("focus_metrics", [])
        self._speedup: Fields = item.get("speedup", {})

    def rule_identifier(self) -> str:
        """Return the identifier of the rule."""
        return text_of(self._rule, "identifier")

    def name(self) -> str:
        """Return the name of the rule, for people."""
        return text_of(self._rule, "display_name")

    def section_identifier(self) -> str:
        """Return the section that the rule belongs to; "" if there is none."""
        return text_of(self._rule, "section_identifier")

    def has_rule_message(self) -> bool:
        """Return whether there is a message."""
        return bool(self._message)

    def rule_message(self) -> Fields:
        """Return the message: title, message and type (MsgType)."""
        return {
            "title": self._message.get("name", ""),
            "message": self._message.get("message", ""),
            "type": message_type(self._message.get("type", 0)),
        }

    def focus_metrics(self) -> List[Fields]:
        """Return the metrics that the message is about: name, value, severity (FocusSeverity) and info."""
        return [
            {
                "name": focus.get("metric_name", ""),
                "value": float(focus.get("metric_value", 0.0)),
                "severity": int(focus.get("severity", 0)),
                "info": focus.get("info", ""),
            }
            for focus in self._focus
        ]

    def has_speedup_estimation(self) -> bool:
        """Return whether the message has an estimated speedup."""
        return bool(self._speedup)

    def speedup_estimation(self) -> Fields:
        """Return the estimated speedup: type (SpeedupType) and speedup in percent; type 0 if there is none."""
        return {"type": int(self._speedup.get("speedup_type", 0)), "speedup": float(self._speedup.get("value", 0.0))}

    def result_tables(self) -> List[Fields]:
        """Return the tables of the rule. Always empty: their stored form is unknown."""
        return []

    def as_dict(self) -> Fields:
        """Return all fields that are present."""
        found: Fields = {
            "rule_identifier": self.rule_identifier(),
            "name": self.name(),
            "section_identifier": self.section_identifier(),
            "rule_message": self.rule_message(),
        }
        if self._focus:
            found["focus_metrics"] = self.focus_metrics()
        if self._speedup:
            found["speedup_estimation"] = self.speedup_estimation()
        return found

    def __str__(self) -> str:
        """Return the name of the rule."""
        return self.name()


def rule_results(rules: List[Fields]) -> Tuple[IRuleResult, ...]:
    """Return the items of stored RuleResults, in the order of the file. Some rules have none."""
    return tuple(IRuleResult(rule, item) for rule in rules for item in rule.get("body", {}).get("items", []))


def source_markers(rules: List[Fields]) -> List[Fields]:
    """Return the notes of rules at instructions and lines, in the order of the file."""
    found = []
    for rule in rules:
        for marker in rule.get("source_markers", []):
            kind = int(marker.get("kind", 0))
            one: Fields = {
                "rule_identifier": rule.get("identifier", ""),
                "section_identifier": rule.get("section_identifier", ""),
                "kind": kind,
                "message_type": int(marker.get("type", 0)),  # as stored: NVIDIA's module does not convert it
                "message": marker.get("tooltip", ""),
            }
            if kind == MarkerKind.SOURCE:
                one["source_location"] = {
                    "file_name": marker.get("file_name", ""),
                    "line": int(marker.get("line_number", 0)),
                }
            elif kind == MarkerKind.SASS:
                one["source_address"] = int(marker.get("address", 0))
            found.append(one)
    return found
