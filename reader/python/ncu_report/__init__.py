# SPDX-License-Identifier: Apache-2.0
"""Reports of NVIDIA Nsight Compute and of libtrace: the interface of NVIDIA's module of this name, over libtrace-
reader.so.

    import ncu_report
    for action in ncu_report.load_report("report.ncu-rep")[0]:
        print(action.name(), action["gpu__time_duration.sum"].value())

COMPILED says whether the compiled part, which makes loops over values and instances faster, is in use. The results are
the same without it.
"""

from ._events import Event, Frame
from ._library import ReportError, ReportWarning
from ._metric import IMetric
from ._mutable import IMutableMetric
from ._nvtx import INvtxDomainInfo, INvtxRange, INvtxState
from ._quick import COMPILED
from ._report import IAction, IContext, IRange, IRuleResult, ISourceInfo, load_report
from ._rules import (
    INTERFACE,
    IBaseContext,
    IController,
    IEvaluator,
    IFrontend,
    IMessageVault,
    RuleKind_DEFAULT,
    RuleKind_GUIDED,
)

__all__ = [
    "COMPILED",
    "INTERFACE",
    "Event",
    "Frame",
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
    "IRuleResult",
    "ISourceInfo",
    "ReportError",
    "ReportWarning",
    "RuleKind_DEFAULT",
    "RuleKind_GUIDED",
    "load_report",
]
