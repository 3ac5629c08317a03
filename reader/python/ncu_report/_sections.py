# SPDX-License-Identifier: Apache-2.0
"""Sections of a result, with the interface of NVIDIA's module 2026.3.1."""

from typing import TYPE_CHECKING, List, Tuple

from ._findings import IRuleResult
from ._metric import IMetric
from ._shown import Fields, shown, text_of

if TYPE_CHECKING:
    from ._report import IAction


class ISection:
    """A section of a result."""

    def __init__(self, action: "IAction", fields: Fields) -> None:
        self._action, self._fields = action, fields

    def identifier(self) -> str:
        """Return the identifier of the section."""
        return text_of(self._fields, "identifier")

    def name(self) -> str:
        """Return the name of the section, for people."""
        return text_of(self._fields, "display_name")

    def description(self) -> str:
        """Return the description of the section."""
        return text_of(self._fields, "description")

    def parent_identifier(self) -> str:
        """Return the identifier of the section that it extends; "" if there is none."""
        return text_of(self._fields, "extends")

    def order(self) -> int:
        """Return its rank among the sections: lower numbers come first."""
        return int(self._fields.get("order", 0))

    def header_metrics(self) -> Tuple[IMetric, ...]:
        """Return the metrics of its header that the result has."""
        return self._found(self._names("header"))

    def body_metrics(self) -> Tuple[IMetric, ...]:
        """Return the metrics of its charts and tables that the result has, each once, without those of the header."""
        header = set(self._names("header"))
        return self._found([name for name in self._names("body") if name not in header])

    def rules(self) -> Tuple[IRuleResult, ...]:
        """Return the findings of the rules of this section."""
        return tuple(rule for rule in self._action.rule_results() if rule.section_identifier() == self.identifier())

    def _names(self, part: str) -> List[str]:
        return list(dict.fromkeys(name for name, _ in shown(self._fields.get(part))))

    def _found(self, names: List[str]) -> Tuple[IMetric, ...]:
        metrics = (self._action.metric_by_name(name) for name in names)
        return tuple(metric for metric in metrics if metric is not None)
