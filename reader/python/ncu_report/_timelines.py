# SPDX-License-Identifier: Apache-2.0
"""Timelines: metrics that were sampled while the workload ran, cut to the time in which its context was on the device.

The rules are those of NVIDIA's module 2026.3.1, inferred from its answers to modified reports. Each group of metrics is
sampled in a pass of its own; the metric ``profiler__pmsampler_pass_groups`` lists the names of each group. The
instances of ``profiler__pmsampler_ctxsw_N`` are the switches of the context in pass N: keys are times, 1 = on the
device. A sample counts if the last switch before it, in the order of the file, put the context on the device. Where
samples are removed, the times of later samples are reduced by the gap.
"""

from typing import TYPE_CHECKING, List, Optional, Tuple

from ._metric import IMetric, Value, whole_of
from ._mutable import IMutableMetric

if TYPE_CHECKING:
    from ._report import IAction

OF_PROFILER = "profiler__"
ON_DEVICE = 1


class _Aligned(IMutableMetric):
    """A sampled metric without the samples outside of the workload."""

    __slots__ = ("_of",)

    def __init__(self, of: IMetric) -> None:
        super().__init__(of.name())
        self._of = of
        self._own = (of.kind() if of.has_value() else 0, of.value())

    def label(self) -> str:
        return self._of.label()

    def value(self, idx: Optional[int] = None) -> Value:
        is_empty = idx is None and not self._of.has_value() and not self._slots
        return None if is_empty else super().value(idx)

    def add(self, kind: int, value: Value, time: int) -> None:
        self._slots.append((kind, value))
        keys = self.mutable_correlation_ids()
        keys.set_uint64(len(self._slots) - 1, self.ValueKind_UINT64, time)


def _group(action: "IAction", name: str) -> Optional[int]:
    """Return the number of the pass in which a metric was sampled; 0 if the result does not list passes, None if no
    listed pass has the metric.
    """
    groups = action.metric_by_name("profiler__pmsampler_pass_groups")
    if not groups:
        return 0
    return next((i for i in range(groups.num_instances()) if name in (groups.as_string(i) or "").split(",")), None)


def _switches(action: "IAction", group: int) -> List[Tuple[int, bool]]:
    """Return the switches of the context in a pass: time, and whether it is on the device from then on."""
    metric = action.metric_by_name(f"profiler__pmsampler_ctxsw_{group}")
    keys = metric and metric.correlation_ids()
    if not metric or not keys:
        return []
    return [(keys.as_uint64(i), metric.as_double(i) == ON_DEVICE) for i in range(metric.num_instances())]


def aligned(action: "IAction", metric: IMetric) -> Optional[IMetric]:
    """Return a sampled metric with the samples of the workload alone; None if no pass has it."""
    group = _group(action, metric.name())
    if group is None:
        return None
    found = _Aligned(metric)
    keys = metric.correlation_ids()
    switches = _switches(action, group)
    is_on, at, removed = not switches, 0, 0
    times = [whole_of(keys.value(i)) for i in range(metric.num_instances())] if keys else []
    for i, time in enumerate(times):
        while at < len(switches) and switches[at][0] <= time:
            is_on = switches[at][1]
            at += 1
        if is_on:
            found.add(metric.kind(i), metric.value(i), time - removed)
        elif i + 1 < len(times):
            removed += times[i + 1] - time
    return found
