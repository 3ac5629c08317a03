"""The interface that rule files of Nsight Compute are written for. They are run by `trace rules apply`; outside of it there is no handle."""

from typing import Any, Iterable, List

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


def get_context(h: Any) -> Any:
    """The report as a rule sees it: its result is the first one of the first range."""
    return h.context


def get_evaluator(h: Any) -> IEvaluator:
    """The evaluator of a handle that evaluate() was called with."""
    return h.evaluator


def get_version(h: Any) -> str:
    """The release of Nsight Compute whose interface this is."""
    return h.context.get_version()


def raise_exception(h: Any, msg: str) -> None:
    """Ends the rule: it could not be applied. Raises SystemError."""
    raise SystemError(msg)


def require_metrics(handle: Any, metrics: Iterable[str]) -> None:
    """Requires each of these metrics."""
    for metric in metrics:
        get_evaluator(handle).require_metric(metric)


def require_rules(handle: Any, rules: Iterable[str]) -> None:
    """Requires each of these rules."""
    for rule in rules:
        get_evaluator(handle).require_rule(rule)


def metric_instances(metric: IMetric) -> List[Any]:
    """The values of the instances."""
    return metric.instances()
