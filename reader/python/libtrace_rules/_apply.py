# SPDX-License-Identifier: Apache-2.0
"""Application of a rule to a result."""

import os
from types import ModuleType
from typing import Callable, Dict, Generic, Iterator, List, Optional, TypeVar

import ncu_report
import NvRules
from ncu_report._library import body_item

from . import _encode
from ._rules import Rule, said

CHART_BYTES_MAX = 1 << 20

Numbers = Dict[str, Dict[str, float]]  # by rule
_Held = TypeVar("_Held")


class _One(Generic[_Held]):
    """IContext or IRange as a rule sees it: a container with one element."""

    def __init__(self, held: _Held) -> None:
        self._held = held

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: int) -> _Held:
        return (self._held,)[key]

    def __iter__(self) -> Iterator[_Held]:
        return iter((self._held,))


class _Range(_One[ncu_report.IAction]):
    def num_actions(self) -> int:
        return 1

    def action_by_idx(self, idx: int) -> Optional[ncu_report.IAction]:
        return self._held if idx == 0 else None


class Context(_One[_Range]):
    def __init__(self, action: ncu_report.IAction, frontend: NvRules.IFrontend, vault: NvRules.IMessageVault) -> None:
        super().__init__(_Range(action))
        self._frontend, self._controller = frontend, NvRules.IController(frontend, vault)

    def num_ranges(self) -> int:
        return 1

    def range_by_idx(self, idx: int) -> Optional[_Range]:
        return self._held if idx == 0 else None

    def frontend(self) -> NvRules.IFrontend:
        return self._frontend

    def controller(self) -> NvRules.IController:
        return self._controller

    def get_version(self) -> str:
        return ncu_report.INTERFACE

    def handle_exception(self, msg: str) -> bool:
        raise SystemError(msg)


class Handle:
    """The argument of a rule's apply(), which has a context, and of its evaluate(), which has an evaluator."""

    def __init__(self, context: Optional[Context] = None, evaluator: Optional[NvRules.IEvaluator] = None) -> None:
        self.context: Context = context  # type: ignore[assignment]  # None only in evaluate()
        self.evaluator: NvRules.IEvaluator = evaluator  # type: ignore[assignment]  # None only in apply()


class Finding:
    """The findings of a rule in a result, and the numbers it stored for other rules."""

    def __init__(self, vault: Numbers) -> None:
        self.result = b""  # a RuleResult; empty if the rule was not applied
        self.problem: Optional[str] = None
        self.sent: Dict[str, float] = {}
        self.vault = vault
        self.added: Dict[str, ncu_report.IMutableMetric] = {}


def _chart_loader(rule: Rule) -> Callable[[str], bytes]:
    def load(filename: str) -> bytes:
        path = os.path.join(os.path.dirname(rule.path), filename)
        with open(path, "rb") as source:
            text = source.read(CHART_BYTES_MAX + 1)
        if len(text) > CHART_BYTES_MAX:
            raise ValueError(f"{path}: longer than {CHART_BYTES_MAX} bytes")
        return body_item(path, text)

    return load


def _lacks(module: ModuleType, action: ncu_report.IAction, known: List[str]) -> Optional[str]:
    """Return a message with the missing requirements of evaluate(), or None."""
    if not hasattr(module, "evaluate"):
        return None
    evaluator = NvRules.IEvaluator()
    module.evaluate(Handle(evaluator=evaluator))
    missing = [name for name in evaluator.metrics if name not in action] + [
        "rule " + name for name in evaluator.rules if name not in known
    ]
    return "not applied, since it needs {}, which the result lacks".format(", ".join(missing)) if missing else None


def apply(
    rule: Rule, module: ModuleType, action: ncu_report.IAction, known: List[str], parents: Numbers, vault: Numbers
) -> Finding:
    """Apply the rule to a result. An error of the rule becomes the problem of the finding."""
    found = Finding(vault)
    frontend = NvRules.IFrontend(_chart_loader(rule), parents)
    before = dict(action.added_metrics())
    lacks = None
    try:
        lacks = found.problem = _lacks(module, action, known)
        if not lacks:
            module.apply(Handle(Context(action, frontend, NvRules.IMessageVault(found.vault))))
    except (Exception, SystemExit) as error:
        found.problem = said(error, rule.path)
    if not lacks:
        found.result = _encode.rule_result(rule.identifier, rule.name, rule.section, frontend.items, frontend.markers)
    found.sent = frontend.sent
    found.added = {name: metric for name, metric in action.added_metrics().items() if before.get(name) is not metric}
    return found
