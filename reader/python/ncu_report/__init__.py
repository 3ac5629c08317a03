# SPDX-License-Identifier: Apache-2.0
"""Reports of NVIDIA Nsight Compute and of libtrace: the interface of NVIDIA's module of this name, over
libtrace-reader.so.

    import ncu_report
    for action in ncu_report.load_report("report.ncu-rep")[0]:
        print(action.name(), action["gpu__time_duration.sum"].value())

COMPILED is true if the compiled part, which makes loops over values and instances faster, is in use. The results are
the same without it.
"""

from ._events import Event, Frame
from ._findings import FocusSeverity, IRuleResult, MarkerKind, MsgType, SpeedupType, StallReason
from ._library import ReportError, ReportWarning
from ._metric import IMetric
from ._mutable import IMutableMetric
from ._nvtx import INvtxDomainInfo, INvtxRange, INvtxState
from ._quick import COMPILED
from ._report import IAction, IContext, IRange, ISourceInfo, ITimelines, load_report
from ._rules import (
    INTERFACE,
    IBackend,
    IBaseContext,
    IController,
    IEvaluator,
    IFrontend,
    IMessageVault,
    RuleKind_DEFAULT,
    RuleKind_GUIDED,
)
from ._sections import ISection

# The same constants as integers of the module, by NVIDIA's names
FocusSeverity_DEFAULT, FocusSeverity_LOW, FocusSeverity_HIGH = map(int, FocusSeverity)
SpeedupType_UNKNOWN, SpeedupType_LOCAL, SpeedupType_GLOBAL = map(int, SpeedupType)
MarkerKind_SASS, MarkerKind_SOURCE, MarkerKind_NONE = map(int, MarkerKind)
MsgType_NONE, MsgType_OK, MsgType_OPTIMIZATION, MsgType_WARNING, MsgType_ERR = map(int, MsgType)
globals().update({f"StallReason_{reason.name}": int(reason) for reason in StallReason})

__all__ = [
    "COMPILED",
    "INTERFACE",
    "Event",
    "FocusSeverity",
    "FocusSeverity_DEFAULT",
    "FocusSeverity_HIGH",
    "FocusSeverity_LOW",
    "Frame",
    "IAction",
    "IBackend",
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
    "ISection",
    "ISourceInfo",
    "ITimelines",
    "MarkerKind",
    "MarkerKind_NONE",
    "MarkerKind_SASS",
    "MarkerKind_SOURCE",
    "MsgType",
    "MsgType_ERR",
    "MsgType_NONE",
    "MsgType_OK",
    "MsgType_OPTIMIZATION",
    "MsgType_WARNING",
    "ReportError",
    "ReportWarning",
    "RuleKind_DEFAULT",
    "RuleKind_GUIDED",
    "SpeedupType",
    "SpeedupType_GLOBAL",
    "SpeedupType_LOCAL",
    "SpeedupType_UNKNOWN",
    "StallReason",
    "load_report",
]
