"""Metrics: names, values, instances."""
import ctypes
from functools import lru_cache
from typing import Any, Dict, List, Optional, Union

from . import _names
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

    __slots__ = ("_result", "_at", "_name")

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

    # ---- what it is ----

    def name(self) -> str:
        """The name, as ``--metrics`` takes it."""
        return self._name

    def unit(self) -> str:
        """The unit of the value, in base units (byte, nsecond, cycle_per_second); "" where there is none."""
        return _unit(self._name)

    def description(self) -> str:
        """A text about what is counted. Reports hold none, so it is always ""."""
        return ""

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
            values = self._instances().values
            return _api_kind(values.kinds[instance]) if 0 <= instance < len(values.kinds) else 0
        kind = self._result.kinds[self._at]
        if kind == NONE and self.num_instances():
            kind = self._instances().values.kinds[0]
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
        return _value(self._instances().values, idx)

    def as_double(self, instance: Optional[int] = None) -> float:
        """The value as float; 0.0 for texts and what is not there."""
        value = self.value(instance)
        return float(value) if isinstance(value, (int, float)) else 0.0

    def as_uint64(self, instance: Optional[int] = None) -> int:
        """The value as int, cut off behind the point; 0 for texts and what is not there."""
        value = self.value(instance)
        return _whole(value) if isinstance(value, float) else value if isinstance(value, int) else 0

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
        return self.num_instances() > 0 and self._instances().keys.kinds[0] != NONE

    def correlation_ids(self) -> Optional["IMetric"]:
        """A metric whose instances are the keys of this one's: addresses, numbers of units, names of opcodes."""
        return _Keys(self) if self.has_correlation_ids() else None

    def instances(self) -> List[Value]:
        """The values of all instances. (Not in NVIDIA's module.)"""
        values = self._instances().values
        return [_value(values, i) for i in range(len(values.kinds))]

    def to_dict(self) -> Dict[Value, Value]:
        """{key: value} of the instances; without keys, their numbers. (Not in NVIDIA's module.)"""
        keys = self.correlation_ids()
        return dict(zip(keys.instances() if keys else range(self.num_instances()), self.instances()))

    def _instances(self) -> "InstanceColumns":
        return self._result.instances(self._at)

    def __str__(self) -> str:
        """The name."""
        return self.name()

    def __repr__(self) -> str:
        return "<{} {}: {!r}>".format(type(self).__name__, self.name(), self.value())


class InstanceColumns:
    """Keys and values of the instances of a metric."""
    __slots__ = ("keys", "values")

    def __init__(self, keys: Column, values: Column) -> None:
        self.keys, self.values = keys, values


class MetricColumns:
    """The metrics of a result by position: what IMetric looks into. Holds the result, whose texts it names."""
    __slots__ = ("handle", "ids", "values", "kinds", "reals", "numbers", "instance_counts", "_instances")

    def __init__(self, handle: Any, ids: bytes, values: Column, instance_counts: Any) -> None:
        self.handle, self.ids, self.values, self.instance_counts = handle, ids, values, instance_counts
        self.kinds, self.reals, self.numbers = values.kinds, values.reals, values.numbers
        self._instances = {}  # type: Dict[int, InstanceColumns]

    def instances(self, at: int) -> InstanceColumns:
        found = self._instances.get(at)
        if found is None:
            made = Instances()
            check(lib.libtrace_result_instances(self.handle.pointer, at, ctypes.byref(made)), "instances of a metric")
            found = self._instances[at] = InstanceColumns(column(made.keys), column(made.values))
        return found


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

    def __init__(self, of: IMetric) -> None:
        super().__init__(of._result, of._at, of._name)
        self._keys = of._instances().keys

    __slots__ = ("_keys",)

    def kind(self, instance: Optional[int] = None) -> int:
        at = 0 if instance is None else instance
        return _api_kind(self._keys.kinds[at]) if 0 <= at < len(self._keys.kinds) else 0

    def value(self, idx: Optional[int] = None) -> Value:
        if idx is None:
            return None if self.kind() == self.ValueKind_STRING else 0
        return _value(self._keys, idx)

    def num_instances(self) -> int:
        return len(self._keys.kinds)

    def has_correlation_ids(self) -> bool:
        return False

    def instances(self) -> List[Value]:
        return [_value(self._keys, i) for i in range(len(self._keys.kinds))]
