# SPDX-License-Identifier: Apache-2.0
"""Metrics: names, values, instances."""

import array
import ctypes
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar, Dict, List, Optional, Sequence, Tuple, Type, Union

from . import _names
from ._describe import describe
from ._library import (
    DOUBLE,
    FLOAT,
    NONE,
    STRING,
    UINT32,
    UINT64,
    Column,
    Handle,
    InstanceArrays,
    MetricArrays,
    Values,
    as_reals,
    as_wholes,
    check,
    column,
    lib,
    part,
    text_of,
    unit_of,
)
from ._quick import COMPILED, Metric, Views, quick
from ._shown import labels

Value = Union[str, int, float, None]
_U64 = (1 << 64) - 1
SAMPLED = 1  # libtrace_metrics.categories: the instances are samples over time


@lru_cache(maxsize=65536)
def _unit(name: str) -> str:
    return unit_of(name).replace("/", "_per_")


class IMetric(Metric):
    """A metric of a result: its value, and its instances, if any.

    Returned by :meth:`IAction.metric_by_name`; valid as long as it is referenced."""

    __slots__ = ("_reals", "_values", "_wholes")  # the instances in these types, set at the first access
    _reals: List[float]
    _values: Sequence[Value]
    _wholes: List[int]
    _KEYS: ClassVar[Type["IMetric"]]

    (
        ValueKind_UNKNOWN,
        ValueKind_ANY,
        ValueKind_STRING,
        ValueKind_FLOAT,
        ValueKind_DOUBLE,
        ValueKind_UINT32,
        ValueKind_UINT64,
    ) = range(7)
    MetricType_OTHER, MetricType_COUNTER, MetricType_RATIO, MetricType_THROUGHPUT = range(4)
    RollupOperation_NONE, RollupOperation_AVG, RollupOperation_MAX, RollupOperation_MIN, RollupOperation_SUM = range(5)
    (
        MetricSubtype_NONE,
        MetricSubtype_PEAK_SUSTAINED,
        MetricSubtype_PEAK_SUSTAINED_ACTIVE,
        MetricSubtype_PEAK_SUSTAINED_ACTIVE_PER_SECOND,
        MetricSubtype_PEAK_SUSTAINED_ELAPSED,
        MetricSubtype_PEAK_SUSTAINED_ELAPSED_PER_SECOND,
        MetricSubtype_PEAK_SUSTAINED_FRAME,
        MetricSubtype_PEAK_SUSTAINED_FRAME_PER_SECOND,
        MetricSubtype_PEAK_SUSTAINED_REGION,
        MetricSubtype_PEAK_SUSTAINED_REGION_PER_SECOND,
        MetricSubtype_PER_CYCLE_ACTIVE,
        MetricSubtype_PER_CYCLE_ELAPSED,
        MetricSubtype_PER_CYCLE_IN_FRAME,
        MetricSubtype_PER_CYCLE_IN_REGION,
        MetricSubtype_PER_SECOND,
        MetricSubtype_PCT_OF_PEAK_SUSTAINED_ACTIVE,
        MetricSubtype_PCT_OF_PEAK_SUSTAINED_ELAPSED,
        MetricSubtype_PCT_OF_PEAK_SUSTAINED_FRAME,
        MetricSubtype_PCT_OF_PEAK_SUSTAINED_REGION,
        MetricSubtype_MAX_RATE,
        MetricSubtype_PCT,
        MetricSubtype_RATIO,
    ) = range(22)

    # ---- description ----

    def name(self) -> str:
        """Return the name, as ``--metrics`` accepts it."""
        return self._name

    def unit(self) -> str:
        """Return the unit of the value, in base units (byte, nsecond, cycle_per_second); "" if there is none."""
        return _unit(self._name)

    def description(self) -> str:
        """Return the description of a counter, ratio or throughput of hardware, derived from its name (reports hold no
        such text); "" for other metrics.
        """
        return describe(self._name)

    def label(self) -> str:
        """Return the label that sections of the report show; "" if no section shows the metric."""
        return self._result.labels().get(self._name, "")

    def metric_type(self) -> int:
        """Return MetricType_COUNTER, MetricType_RATIO or MetricType_THROUGHPUT for hardware metrics, else
        MetricType_OTHER.
        """
        return _names.analyze(self._name)[0]

    def metric_subtype(self) -> Optional[int]:
        """Return one of MetricSubtype_*, or None."""
        return _names.analyze(self._name)[1] or None

    def rollup_operation(self) -> Optional[int]:
        """Return one of RollupOperation_*, or None: how the values of the hardware units were combined."""
        return _names.analyze(self._name)[2] or None

    def is_sampled(self) -> bool:
        """Return whether the instances are samples over time. (Not in NVIDIA's module.)"""
        return self._result.category(self._at) == SAMPLED

    # ---- value ----

    def kind(self, instance: Optional[int] = None) -> int:
        """Return the kind (ValueKind_*) of the value or of an instance. Without a value it is that of the instances."""
        if instance is None:
            kind = self._result.kinds[self._at]
            if kind != NONE:
                return _api_kind(kind)
            instance = 0
        begin, end = self._result.span(self._at)
        return _api_kind(self._instances().column.kinds[begin + instance]) if 0 <= instance < end - begin else 0

    def has_value(self, value_kind: int = ValueKind_ANY) -> bool:
        """Return whether there is a value, or, if `value_kind` is not ValueKind_ANY, whether it is of this kind."""
        if value_kind == self.ValueKind_ANY:
            return self._result.kinds[self._at] != NONE
        return value_kind == self.kind()

    @quick
    def value(self, idx: Optional[int] = None) -> Value:
        """Return the value, or that of an instance, as str, int or float; None if there is none."""
        if idx is None:
            result, at = self._result, self._at
            kind = result.kinds[at]
            if kind == DOUBLE:
                return result.reals[at]
            if kind == UINT64:
                return result.numbers[at]
            if kind == NONE:
                kind = self.kind() - 1
                return None if kind in (-1, STRING) else 0.0 if kind in (FLOAT, DOUBLE) else 0
            return value_of(result.values, at)
        try:
            if idx >= 0:
                return self._values[idx]
        except (AttributeError, IndexError):
            pass
        self._values = self._instances().values(*self._result.span(self._at))
        return self._values[idx] if 0 <= idx < len(self._values) else None

    @quick
    def as_double(self, instance: Optional[int] = None) -> float:
        """Return the value as float; 0.0 for texts and missing values."""
        if instance is None:
            return real_of(self.value())
        try:
            if instance >= 0:
                return self._reals[instance]
        except (AttributeError, IndexError):
            pass
        begin, end = self._result.span(self._at)
        self._reals = self._instances().reals[begin:end]
        return self._reals[instance] if 0 <= instance < end - begin else 0.0

    @quick
    def as_uint64(self, instance: Optional[int] = None) -> int:
        """Return the value as int, truncated; 0 for texts and missing values."""
        if instance is None:
            return whole_of(self.value())
        try:
            if instance >= 0:
                return self._wholes[instance]
        except (AttributeError, IndexError):
            pass
        begin, end = self._result.span(self._at)
        self._wholes = self._instances().wholes[begin:end]
        return self._wholes[instance] if 0 <= instance < end - begin else 0

    def as_string(self, instance: Optional[int] = None) -> Optional[str]:
        """Return the value if it is a text, else None."""
        value = self.value(instance)
        return value if isinstance(value, str) else None

    # ---- instances ----

    @quick
    def num_instances(self) -> int:
        """Return the number of instances; 0 = there is only the value."""
        return self._result.instance_counts[self._at]

    def has_correlation_ids(self) -> bool:
        """Return whether the instances have keys."""
        return self._result.instance_counts[self._at] > 0 and self._result.has_keys(self._at)

    @quick
    def correlation_ids(self) -> Optional["IMetric"]:
        """Return a metric whose instances are the keys of this one: addresses, numbers of units, names of opcodes."""
        result, at = self._result, self._at
        return _Keys(result, at, self._name, 0) if result.instance_counts[at] and result.has_keys(at) else None

    def instances(self) -> List[Value]:
        """Return the values of all instances. (Not in NVIDIA's module.)"""
        return list(self._instances().values(*self._result.span(self._at)))

    def to_dict(self) -> Dict[Value, Value]:
        """Return {key: value} of the instances; without keys, {index: value}. (Not in NVIDIA's module.)"""
        keys = self.correlation_ids()
        return dict(zip(keys.instances() if keys else range(self.num_instances()), self.instances()))

    def _instances(self) -> "InstanceColumn":
        return self._result.instances()[self._side]

    def __str__(self) -> str:
        """Return the name."""
        return self.name()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name()}: {self.value()!r}>"


class _Keys(IMetric):
    """The keys of a metric's instances, in the form of a metric."""

    __slots__ = ()

    def kind(self, instance: Optional[int] = None) -> int:
        return super().kind(0 if instance is None else instance)

    @quick
    def value(self, idx: Optional[int] = None) -> Value:
        if idx is None:
            return None if self.kind() == self.ValueKind_STRING else 0
        return super().value(idx)

    def has_correlation_ids(self) -> bool:
        return False

    def correlation_ids(self) -> None:
        return None


IMetric._KEYS = _Keys  # used by the compiled part


def _api_kind(stored: int) -> int:
    """Convert enum libtrace_value_kind to IMetric.ValueKind_*."""
    return stored + 1 if stored else 0


def value_of(values: Column, at: int) -> Value:
    """Return the value at a valid position."""
    kind = values.kinds[at]
    if kind in (DOUBLE, FLOAT):
        return values.reals[at]
    if kind in (UINT64, UINT32):
        return values.numbers[at]
    return text_of(ctypes.string_at(values.numbers[at])) if kind == STRING else None


def real_of(value: Value) -> float:
    """Convert a value as as_double() does."""
    return float(value) if isinstance(value, (int, float)) else 0.0


def whole_of(value: Value) -> int:
    """Convert a value as as_uint64() does: truncated; numbers that do not fit become what x86-64 converts them to."""
    if not isinstance(value, float):
        return value if isinstance(value, int) else 0
    if value >= 1 << 64:
        return 0
    return int(value) & _U64 if value >= -(1 << 63) else 1 << 63  # also for NaN


class InstanceColumn:
    """The keys, or the values, of all instances of a result. The lists of float and int are created at the first
    access.
    """

    __slots__ = ("_arrays", "_reals", "_wholes", "column")
    column: Column

    def __init__(self, arrays: Values) -> None:
        self._arrays = arrays
        self._reals: Optional[List[float]] = None
        self._wholes: Optional[List[int]] = None

    def __getattr__(self, name: str) -> Column:
        if name != "column":
            raise AttributeError(name)
        self.column = column(self._arrays)  # the compiled part does not need it
        return self.column

    @property
    def reals(self) -> List[float]:
        if self._reals is None:
            self._reals = as_reals(self._arrays)
        return self._reals

    @property
    def wholes(self) -> List[int]:
        if self._wholes is None:
            self._wholes = as_wholes(self._arrays)
        return self._wholes

    def values(self, begin: int, end: int) -> Sequence[Value]:
        """Return some of the values, without conversion."""
        kinds = self.column.kinds[begin:end]
        if kinds.count(DOUBLE) == end - begin:
            return self.column.reals[begin:end].tolist()
        if kinds.count(UINT64) == end - begin:
            return self.column.numbers[begin:end].tolist()
        return [value_of(self.column, at) for at in range(begin, end)]


class MetricColumns(Views):
    """The metrics of a result by position, which IMetric reads. Keeps the result open, since texts belong to it."""

    __slots__ = (
        "_arrays",
        "_ends",
        "_instances",
        "_labels",
        "handle",
        "instance_counts",
        "kinds",
        "numbers",
        "reals",
        "values",
    )
    _ends: List[int]
    instance_counts: "array.array[int]"
    kinds: bytes
    numbers: "array.array[int]"
    reals: "array.array[float]"
    values: Column

    def __init__(self, handle: Handle, arrays: MetricArrays) -> None:
        self.handle, self._arrays = handle, arrays
        self._instances: Optional[Tuple[InstanceColumn, InstanceColumn]] = None
        self._labels: Optional[Dict[str, str]] = None
        if COMPILED:
            values = arrays.values
            self.show_metrics(values.count, values.kinds or 0, values.bits or 0, arrays.instance_counts or 0)
        else:
            self._make()

    def _make(self) -> None:
        arrays = self._arrays
        self.values = values = column(arrays.values)
        self.kinds, self.reals, self.numbers = values.kinds, values.reals, values.numbers
        self.instance_counts = array.array("I", ctypes.string_at(arrays.instance_counts, 4 * len(values.kinds)))

    def __getattr__(self, name: str) -> object:
        """Create the arrays at the first access from Python; the compiled part has its own."""
        if name == "_ends":  # end of each metric's instances in the list of all instances
            self._ends = list(accumulate(self.instance_counts))
        elif name in ("values", "kinds", "reals", "numbers", "instance_counts"):
            self._make()
        else:
            raise AttributeError(name)
        value: object = getattr(self, name)
        return value

    def instances(self) -> Tuple[InstanceColumn, InstanceColumn]:
        """Return the keys and values of the instances of all metrics."""
        if self._instances is None:
            made = InstanceArrays()
            check(lib.libtrace_result_instances(self.handle.pointer, ctypes.byref(made)), "instances of metrics")
            self._instances = InstanceColumn(made.keys), InstanceColumn(made.values)
            if COMPILED:
                keys, values = made.keys, made.values
                self.show_instances(values.count, keys.kinds or 0, keys.bits or 0, values.kinds or 0, values.bits or 0)
        return self._instances

    def labels(self) -> Dict[str, str]:
        """Return {name: label} of the metrics that sections of this result show."""
        if self._labels is None:
            sections = part(self.handle.pointer, "sections", "sections").get("sections") or []
            self._labels = labels(sections)
        return self._labels

    def category(self, at: int) -> int:
        """Return the category of a metric as stored (libtrace_metrics.categories)."""
        return ctypes.string_at(self._arrays.categories + at, 1)[0]

    def span(self, at: int) -> Tuple[int, int]:
        """Return the range of a metric's instances in the list of all instances."""
        if self._instances is None:
            self.instances()
        end = self._ends[at]
        return end - self.instance_counts[at], end

    def has_keys(self, at: int) -> bool:
        """Return whether the first instance of a metric has a key. The metric must have instances."""
        return self.instances()[0].column.kinds[self._ends[at] - self.instance_counts[at]] != NONE
