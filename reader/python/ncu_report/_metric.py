"""Metrics: names, values, instances."""
import ctypes
from functools import lru_cache
from itertools import accumulate
from typing import Any, Dict, List, Optional, Tuple, Union

from . import _names
from ._describe import describe
from ._library import Column, DOUBLE, FLOAT, Instances, NONE, STRING, UINT32, UINT64, check, column, lib, text_of, unit_of

Value = Union[str, int, float, None]
_U64 = (1 << 64) - 1


def _whole(real: float) -> int:
    """A real number as as_uint64() gives it: cut off behind the point."""
    return int(real) & _U64 if abs(real) < 1 << 64 else 0


@lru_cache(maxsize=65536)
def _unit(name: str) -> str:
    return unit_of(name).replace("/", "_per_")


class IMetric:
    """A metric of a result: its value, and instances of it where it has some.

    Made by :meth:`IAction.metric_by_name`; valid as long as it is held."""

    __slots__ = ("_result", "_at", "_name", "_own_instances", "_list")

    ValueKind_UNKNOWN, ValueKind_ANY, ValueKind_STRING, ValueKind_FLOAT, ValueKind_DOUBLE, ValueKind_UINT32, ValueKind_UINT64 = range(7)
    MetricType_OTHER, MetricType_COUNTER, MetricType_RATIO, MetricType_THROUGHPUT = range(4)
    RollupOperation_NONE, RollupOperation_AVG, RollupOperation_MAX, RollupOperation_MIN, RollupOperation_SUM = range(5)
    (MetricSubtype_NONE, MetricSubtype_PEAK_SUSTAINED, MetricSubtype_PEAK_SUSTAINED_ACTIVE,
     MetricSubtype_PEAK_SUSTAINED_ACTIVE_PER_SECOND, MetricSubtype_PEAK_SUSTAINED_ELAPSED,
     MetricSubtype_PEAK_SUSTAINED_ELAPSED_PER_SECOND, MetricSubtype_PEAK_SUSTAINED_FRAME,
     MetricSubtype_PEAK_SUSTAINED_FRAME_PER_SECOND, MetricSubtype_PEAK_SUSTAINED_REGION,
     MetricSubtype_PEAK_SUSTAINED_REGION_PER_SECOND, MetricSubtype_PER_CYCLE_ACTIVE, MetricSubtype_PER_CYCLE_ELAPSED,
     MetricSubtype_PER_CYCLE_IN_FRAME, MetricSubtype_PER_CYCLE_IN_REGION, MetricSubtype_PER_SECOND,
     MetricSubtype_PCT_OF_PEAK_SUSTAINED_ACTIVE, MetricSubtype_PCT_OF_PEAK_SUSTAINED_ELAPSED,
     MetricSubtype_PCT_OF_PEAK_SUSTAINED_FRAME, MetricSubtype_PCT_OF_PEAK_SUSTAINED_REGION, MetricSubtype_MAX_RATE,
     MetricSubtype_PCT, MetricSubtype_RATIO) = range(22)

    def __init__(self, result: Any, at: int, name: str) -> None:
        self._result, self._at, self._name = result, at, name
        self._own_instances = None  # type: Optional[InstanceColumns]  # once they were asked for
        self._list = None  # type: Optional[List[Value]]  # their values

    # ---- what it is ----

    def name(self) -> str:
        """The name, as ``--metrics`` takes it."""
        return self._name

    def unit(self) -> str:
        """The unit of the value, in base units (byte, nsecond, cycle_per_second); "" where there is none."""
        return _unit(self._name)

    def description(self) -> str:
        """What is counted, of counters, ratios and throughputs of hardware, as their names tell it (reports hold no such text); "" for others."""
        return describe(self._name)

    def metric_type(self) -> int:
        """MetricType_COUNTER, MetricType_RATIO or MetricType_THROUGHPUT for what hardware counts, else MetricType_OTHER."""
        return _names.analyse(self._name)[0]

    def metric_subtype(self) -> Optional[int]:
        """One of MetricSubtype_*, or None."""
        return _names.analyse(self._name)[1] or None

    def rollup_operation(self) -> Optional[int]:
        """One of RollupOperation_*, or None: how the values of the units of the hardware were made into one."""
        return _names.analyse(self._name)[2] or None

    # ---- its value ----

    def kind(self, instance: Optional[int] = None) -> int:
        """One of ValueKind_*: of the value, or of an instance. Without a value it is that of the instances."""
        if instance is not None:
            kinds = self._instances().value_kinds
            return _api_kind(kinds[instance]) if 0 <= instance < len(kinds) else 0
        kind = self._result.kinds[self._at]
        if kind == NONE and self.num_instances():
            kind = self._instances().value_kinds[0]
        return _api_kind(kind)

    def has_value(self, value_kind: int = ValueKind_ANY) -> bool:
        """Is there a value? With another kind than ValueKind_ANY: is that the metric's kind?"""
        if value_kind == self.ValueKind_ANY:
            return self._result.kinds[self._at] != NONE
        return value_kind == self.kind()

    def value(self, idx: Optional[int] = None) -> Value:
        """The value, or that of an instance, as str, int or float; None where there is none."""
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
            return _value(result.values, at)
        values = self._list if self._list is not None else self._load()
        return values[idx] if 0 <= idx < len(values) else None

    def as_double(self, instance: Optional[int] = None) -> float:
        """The value as float; 0.0 for texts and what is not there."""
        values = self._list
        if instance is None or values is None or not 0 <= instance < len(values):
            value = self.value(instance)
        else:
            value = values[instance]  # as value() does
        if value.__class__ is float:
            return value  # type: ignore[return-value]
        return float(value) if value.__class__ is int else 0.0  # type: ignore[arg-type]

    def as_uint64(self, instance: Optional[int] = None) -> int:
        """The value as int, cut off behind the point; 0 for texts and what is not there."""
        values = self._list
        if instance is None or values is None or not 0 <= instance < len(values):
            value = self.value(instance)
        else:
            value = values[instance]
        if value.__class__ is int:
            return value  # type: ignore[return-value]
        return _whole(value) if value.__class__ is float else 0  # type: ignore[arg-type]

    def as_string(self, instance: Optional[int] = None) -> Optional[str]:
        """The value if it is a text, else None."""
        value = self.value(instance)
        return value if isinstance(value, str) else None

    # ---- its instances ----

    def num_instances(self) -> int:
        """How many instances there are; 0: the value is all."""
        return self._result.instance_counts[self._at]

    def has_correlation_ids(self) -> bool:
        """Have the instances keys?"""
        return self._result.instance_counts[self._at] > 0 and self._instances().key_kinds[0] != NONE

    def correlation_ids(self) -> Optional["IMetric"]:
        """A metric whose instances are the keys of this one's: addresses, numbers of units, names of opcodes."""
        return _Keys(self) if self.has_correlation_ids() else None

    def instances(self) -> List[Value]:
        """The values of all instances. (Not in NVIDIA's module.)"""
        return list(self._instances().values)

    def to_dict(self) -> Dict[Value, Value]:
        """{key: value} of the instances; without keys, their numbers. (Not in NVIDIA's module.)"""
        keys = self.correlation_ids()
        return dict(zip(keys.instances() if keys else range(self.num_instances()), self.instances()))

    def _instances(self) -> "InstanceColumns":
        if self._own_instances is None:
            self._own_instances = self._result.instances(self._at)
            self._list = self._own_instances.values
        return self._own_instances

    def _load(self) -> List[Value]:
        return self._instances().values

    def __str__(self) -> str:
        """The name."""
        return self.name()

    def __repr__(self) -> str:
        return "<{} {}: {!r}>".format(type(self).__name__, self.name(), self.value())


def _values(of: Column, begin: int, end: int) -> List[Value]:
    """Part of a column as Python's values."""
    kinds = of.kinds[begin:end]
    if kinds.count(DOUBLE) == len(kinds):
        return of.reals[begin:end].tolist()  # type: ignore[return-value]
    if kinds.count(UINT64) == len(kinds):
        return of.numbers[begin:end].tolist()  # type: ignore[return-value]
    return [_value(of, at) for at in range(begin, end)]


class InstanceColumns:
    """Keys and values of the instances of a metric."""
    __slots__ = ("key_kinds", "keys", "value_kinds", "values")

    def __init__(self, keys: Column, values: Column, begin: int, end: int) -> None:
        self.key_kinds, self.keys = keys.kinds[begin:end], _values(keys, begin, end)
        self.value_kinds, self.values = values.kinds[begin:end], _values(values, begin, end)


class MetricColumns:
    """The metrics of a result by position: what IMetric looks into. Holds the result, whose texts it names."""
    __slots__ = ("handle", "ids", "values", "kinds", "reals", "numbers", "instance_counts", "_all", "_ends")

    def __init__(self, handle: Any, ids: bytes, values: Column, instance_counts: Any) -> None:
        self.handle, self.ids, self.values, self.instance_counts = handle, ids, values, instance_counts
        self.kinds, self.reals, self.numbers = values.kinds, values.reals, values.numbers
        self._all = None  # type: Optional[Tuple[Column, Column]]  # keys and values of all metrics
        self._ends = []  # type: List[int]  # of each metric's instances in them

    def instances(self, at: int) -> InstanceColumns:
        if self._all is None:
            made = Instances()
            check(lib.libtrace_result_instances(self.handle.pointer, ctypes.byref(made)), "instances of metrics")
            self._all, self._ends = (column(made.keys), column(made.values)), list(accumulate(self.instance_counts))
        end = self._ends[at]
        return InstanceColumns(*self._all, end - self.instance_counts[at], end)


def _api_kind(stored: int) -> int:
    """IMetric.ValueKind_* of enum libtrace_value_kind."""
    return stored + 1 if stored else 0


def _value(values: Column, at: int) -> Value:
    kind = values.kinds[at] if 0 <= at < len(values.kinds) else NONE
    if kind in (DOUBLE, FLOAT):
        return values.reals[at]
    if kind in (UINT64, UINT32):
        return values.numbers[at]
    return text_of(ctypes.string_at(values.numbers[at])) if kind == STRING else None


class _Keys(IMetric):
    """The keys of a metric's instances, as its instances."""

    __slots__ = ()

    def __init__(self, of: IMetric) -> None:
        super().__init__(of._result, of._at, of._name)
        self._own_instances = of._instances()
        self._list = self._own_instances.keys

    def kind(self, instance: Optional[int] = None) -> int:
        kinds, at = self._instances().key_kinds, 0 if instance is None else instance
        return _api_kind(kinds[at]) if 0 <= at < len(kinds) else 0

    def value(self, idx: Optional[int] = None) -> Value:
        if idx is None:
            return None if self.kind() == self.ValueKind_STRING else 0
        keys = self._instances().keys
        return keys[idx] if 0 <= idx < len(keys) else None

    def num_instances(self) -> int:
        return len(self._instances().keys)

    def has_correlation_ids(self) -> bool:
        return False

    def instances(self) -> List[Value]:
        return list(self._instances().keys)
