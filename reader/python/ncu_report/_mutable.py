# SPDX-License-Identifier: Apache-2.0
"""Metrics that rules add to a result."""

from typing import Any, Callable, List, Optional, Tuple

from ._metric import IMetric, Value, real_of, whole_of

_Slot = Tuple[int, Value]  # one of ValueKind_*, and the value
_EMPTY: _Slot = (IMetric.ValueKind_UNKNOWN, None)


class IMutableMetric(IMetric):
    """An added metric, which can be set. Returned by :meth:`IAction.add_metric`."""

    __slots__ = ("_own", "_own_keys", "_slots")

    def __init__(self, name: str) -> None:
        super().__init__(None, 0, name)
        self._own = _EMPTY
        self._slots: List[_Slot] = []
        self._own_keys: Optional[IMutableMetric] = None

    def _set(self, arguments: Tuple[Any, ...], kinds: Tuple[int, ...], convert: Callable[[Any], Value]) -> bool:
        """Set a value. Arguments: (kind, value) or (instance, kind, value)."""
        *where, kind, value = arguments
        if kind not in kinds or len(where) > 1:
            return False
        slot = (kind, convert(value))
        if not where:
            self._own = slot
            return True
        while len(self._slots) <= where[0]:
            self._slots.append(_EMPTY)
        self._slots[where[0]] = slot
        return True

    def set_double(self, *args: Any) -> bool:
        """Set a value: set_double([instance,] ValueKind_DOUBLE or _FLOAT, value). Returns False for another kind."""
        return self._set(args, (self.ValueKind_DOUBLE, self.ValueKind_FLOAT), float)

    def set_uint64(self, *args: Any) -> bool:
        """Set a value: set_uint64([instance,] ValueKind_UINT64 or _UINT32, value). Returns False for another kind."""
        return self._set(args, (self.ValueKind_UINT64, self.ValueKind_UINT32), lambda value: int(value) & (1 << 64) - 1)

    def set_string(self, *args: Any) -> bool:
        """Set a value: set_string([instance,] ValueKind_STRING, value). Returns False for another kind."""
        return self._set(args, (self.ValueKind_STRING,), str)

    def mutable_correlation_ids(self) -> "IMutableMetric":
        """Return the metric whose instances are the keys of this metric's instances, to set them."""
        if self._own_keys is None:
            self._own_keys = IMutableMetric(self._name)
        return self._own_keys

    def _slot(self, instance: Optional[int]) -> _Slot:
        if instance is None:
            return self._own
        return self._slots[instance] if 0 <= instance < len(self._slots) else _EMPTY

    def label(self) -> str:
        return ""

    def is_sampled(self) -> bool:
        return False

    def kind(self, instance: Optional[int] = None) -> int:
        kind = self._slot(instance)[0]
        return self._slots[0][0] if not kind and instance is None and self._slots else kind

    def has_value(self, value_kind: int = IMetric.ValueKind_ANY) -> bool:
        return self._own[0] != 0 if value_kind == self.ValueKind_ANY else value_kind == self.kind()

    def value(self, idx: Optional[int] = None) -> Value:
        return self._slot(idx)[1]

    def as_double(self, instance: Optional[int] = None) -> float:
        return real_of(self.value(instance))

    def as_uint64(self, instance: Optional[int] = None) -> int:
        return whole_of(self.value(instance))

    def num_instances(self) -> int:
        return len(self._slots)

    def has_correlation_ids(self) -> bool:
        return self._own_keys is not None and self._own_keys.num_instances() > 0

    def correlation_ids(self) -> Optional[IMetric]:
        return self._own_keys if self.has_correlation_ids() else None

    def instances(self) -> List[Value]:
        return [value for _, value in self._slots]
