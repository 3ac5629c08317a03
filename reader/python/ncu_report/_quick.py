"""The compiled part of the package (_fast.c), or what stands in for it: the same classes without its answers, so that Python gives all of them.

It lies in the package (pip), or beside the library that is used (make). LIBTRACE_READER_COMPILED=0 does without it.
"""

import os
import sys
from importlib import import_module
from typing import Any, Callable, TypeVar

from ._library import lib

INTERFACE = 3  # of _fast.c
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _fast() -> Any:
    """The module; None: there is none, or it is not of this version."""
    if os.environ.get("LIBTRACE_READER_COMPILED") == "0":
        return None
    package = sys.modules[__package__]
    beside = os.path.join(os.path.dirname(lib._name), "python/ncu_report")
    package.__path__.append(beside)
    try:
        found = import_module("._fast", __package__)
    except ImportError:
        return None
    finally:
        package.__path__.remove(beside)
    return found if found.INTERFACE == INTERFACE else None


class PlainViews:
    """The base of MetricColumns."""

    __slots__ = ()


class PlainMetric:
    """The base of IMetric."""

    __slots__ = ("_at", "_name", "_result", "_side")

    def __init__(self, result: Any, at: int, name: str, side: int = 1) -> None:
        self._result, self._at, self._name = result, at, name
        self._side = side
        self._reals = self._wholes = self._values = ()  # of IMetric


def _plain(method: _Method) -> _Method:
    return method


_found = _fast()
COMPILED = _found is not None
Views = _found.Views if _found else PlainViews  # type: Any
Metric = _found.Metric if _found else PlainMetric  # type: Any
quick = _found.quick if _found else _plain  # type: Callable[[_Method], _Method]
