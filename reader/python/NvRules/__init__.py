# SPDX-License-Identifier: Apache-2.0
"""The interface that rule files of Nsight Compute are written for. Handles exist only while `trace rules apply` runs a
rule.
"""

from typing import TYPE_CHECKING, Iterable, List, Union

from ncu_report import (
    IAction,
    IBaseContext,
    IContext,
    IController,
    IEvaluator,
    IFrontend,
    IMessageVault,
    IMetric,
    IMutableMetric,
    INvtxDomainInfo,
    INvtxRange,
    INvtxState,
    IRange,
    ISourceInfo,
    RuleKind_DEFAULT,
    RuleKind_GUIDED,
)

if TYPE_CHECKING:
    from libtrace_rules._apply import Context, Handle

__all__ = [
    "IAction",
    "IBaseContext",
    "IContext",
    "IController",
    "IEvaluator",
    "IFrontend",
    "IMessageVault",
    "IMetric",
    "IMutableMetric",
    "INvtxDomainInfo",
    "INvtxRange",
    "INvtxState",
    "IRange",
    "ISourceInfo",
    "RuleKind_DEFAULT",
    "RuleKind_GUIDED",
    "get_context",
    "get_evaluator",
    "get_version",
    "metric_instances",
    "raise_exception",
    "require_metrics",
    "require_rules",
]


def get_context(h: "Handle") -> "Context":
    """Return the report as a rule sees it: one range with one result, to which the rule is applied."""
    return h.context


def get_evaluator(h: "Handle") -> IEvaluator:
    """Return the evaluator of a handle that evaluate() was called with."""
    return h.evaluator


def get_version(h: "Handle") -> str:
    """Return the release of Nsight Compute whose interface this is."""
    return h.context.get_version()


def raise_exception(h: "Handle", msg: str) -> None:
    """End the rule, which could not be applied. Raises SystemError."""
    raise SystemError(msg)


def require_metrics(handle: "Handle", metrics: Iterable[str]) -> None:
    """Require each of these metrics."""
    for metric in metrics:
        get_evaluator(handle).require_metric(metric)


def require_rules(handle: "Handle", rules: Iterable[str]) -> None:
    """Require each of these rules."""
    for rule in rules:
        get_evaluator(handle).require_rule(rule)


def metric_instances(metric: IMetric) -> List[Union[str, int, float, None]]:
    """Return the values of the instances."""
    return metric.instances()
