# SPDX-License-Identifier: Apache-2.0
"""Events of libtrace: API calls, ranges, kernels, in order of their start. Not in NVIDIA's module."""

import ctypes
import errno
import json
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional

from ._library import Handle, check, lib, text_of

if TYPE_CHECKING:
    import pandas

CALLCHAINS = ("merged", "native", "python")  # frames that callchains can have
_ROWS = 1000  # rows read at a time


class Frame(NamedTuple):
    """A frame of a callchain."""

    address: str
    function: Optional[str] = None  # None = unknown
    offset: Optional[int] = None  # offset in the function, or in the module
    module: Optional[str] = None
    file: Optional[str] = None
    line: Optional[int] = None
    inlined: bool = False
    reason: Optional[str] = None  # why the function is unknown


class Event(Dict[str, Any]):
    """An event: its columns by name, as `trace dump --json` prints them and docs/FORMAT.md describes them; also as
    attributes.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError("an event of kind {} has no {}".format(self.get("kind"), name)) from None

    def callchain(self) -> List[Frame]:
        """Return the frames of its callchain, innermost first; empty if none was recorded."""
        return [Frame(**frame) for frame in self.get("callchain") or []]


class _Filter(ctypes.Structure):
    """struct libtrace_event_filter"""

    _fields_ = [
        ("kind", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("pid", ctypes.c_uint32),
        ("tid", ctypes.c_uint32),
        ("start_ns", ctypes.c_uint64),
        ("end_ns", ctypes.c_uint64),
        ("no_symbols", ctypes.c_uint32),
        ("callchains", ctypes.c_uint32),
    ]


lib.libtrace_events_open.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Filter), ctypes.POINTER(ctypes.c_void_p)]
lib.libtrace_events_close.argtypes, lib.libtrace_events_close.restype = [ctypes.c_void_p], None
lib.libtrace_events_next.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]


def _bytes(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else text.encode("utf-8", "surrogateescape")


def events(
    report: Handle,
    kind: Optional[str],
    name: Optional[str],
    pid: int,
    tid: int,
    start_ns: int,
    end_ns: int,
    symbols: bool,
    callchains: str,
) -> Iterator[Event]:
    """Iterate over the events of a report (a handle) that pass the filter. Raises ValueError for an unknown kind, or
    for frames that are not one of CALLCHAINS.
    """
    if callchains not in CALLCHAINS:
        raise ValueError(f"callchains '{callchains}' is not one of {', '.join(CALLCHAINS)}")
    frames = CALLCHAINS.index(callchains)
    wanted = _Filter(_bytes(kind), _bytes(name), pid, tid, start_ns, end_ns, not symbols, frames)
    handle = ctypes.c_void_p()
    error = lib.libtrace_events_open(report.pointer, ctypes.byref(wanted), ctypes.byref(handle))
    if error == -errno.EINVAL:
        raise ValueError(f"unknown event kind '{kind}'")
    check(error, "events")
    return _each(Handle(handle, lib.libtrace_events_close, report))


def _each(opened: Handle) -> Iterator[Event]:
    text = ctypes.c_void_p()
    while True:
        check(lib.libtrace_events_next(opened.pointer, _ROWS, ctypes.byref(text)), "events")
        if not text:
            return
        lines = text_of(ctypes.string_at(text))
        lib.libtrace_text_free(text)
        for line in lines.split("\n")[:-1]:  # texts may contain other line ends
            yield Event(json.loads(line))


def to_pandas(rows: Iterator[Event]) -> "pandas.DataFrame":
    """Return a pandas.DataFrame of events, one row each; a callchain becomes the names of its functions, innermost
    first.
    """
    import pandas

    def cells(event: Event) -> Dict[str, Any]:
        out = dict(event)
        if "callchain" in out:
            out["callchain"] = [frame.function or frame.module or frame.address for frame in event.callchain()]
        return out

    return pandas.DataFrame.from_records([cells(event) for event in rows])
