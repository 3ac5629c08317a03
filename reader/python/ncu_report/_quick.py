# SPDX-License-Identifier: Apache-2.0
"""The compiled part of the package (_fast.c), or its replacement: the same classes without fast paths, so that the
Python methods answer all calls.

The module is in the package (pip), or beside the library in use (make). LIBTRACE_READER_COMPILED=0 disables it.
"""

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from ._library import lib

if TYPE_CHECKING:
    from ._metric import MetricColumns

INTERFACE = 3  # interface version of _fast.c
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _fast() -> Optional[ModuleType]:
    """Return the module; None if there is none or it has another version."""
    if os.environ.get("LIBTRACE_READER_COMPILED") == "0":
        return None
    package = sys.modules[__name__.rpartition(".")[0]]
    beside = os.path.join(os.path.dirname(lib._name), "python/ncu_report")
    package.__path__.append(beside)
    try:
        found = import_module("._fast", package.__name__)
    except ImportError:
        return None
    finally:
        package.__path__.remove(beside)
    return found if found.INTERFACE == INTERFACE else None


class PlainViews:
    """The base of MetricColumns."""

    __slots__ = ()

    if TYPE_CHECKING:  # only the compiled class has these; they set pointers to arrays, and the number of values

        def show_metrics(self, count: int, kinds: int, bits: int, instance_counts: int) -> None: ...

        def show_instances(
            self, count: int, key_kinds: int, key_bits: int, value_kinds: int, value_bits: int
        ) -> None: ...


class PlainMetric:
    """The base of IMetric."""

    __slots__ = ("_at", "_name", "_result", "_side")

    def __init__(self, result: "Optional[MetricColumns]", at: int, name: str, side: int = 1) -> None:
        self._result: MetricColumns = result  # type: ignore[assignment]  # IMutableMetric has none, and never uses it
        self._at, self._name, self._side = at, name, side


def _plain(method: _Method) -> _Method:
    return method


_found = _fast()
COMPILED = _found is not None
if TYPE_CHECKING:
    Views = PlainViews
    Metric = PlainMetric
    quick = _plain
elif _found:
    Views, Metric, quick = _found.Views, _found.Metric, _found.quick
else:
    Views, Metric, quick = PlainViews, PlainMetric, _plain
