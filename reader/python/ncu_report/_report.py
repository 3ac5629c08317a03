# SPDX-License-Identifier: Apache-2.0
"""A report, its ranges, its results."""

import array
import ctypes
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union, overload

from ._events import Event, events
from ._events import to_pandas as events_to_pandas
from ._library import (
    Handle,
    MetricArrays,
    ReportWarning,
    check,
    chosen_by_nvtx,
    lib,
    metric_names,
    metric_position,
    open_report,
    open_result,
    part,
    problems,
    ptx,
    sass,
    source_files,
    source_line,
    take_json,
)
from ._metric import IMetric, MetricColumns, Value
from ._mutable import IMutableMetric
from ._nvtx import INvtxState
from ._rules import IBaseContext, IController, IFrontend

if TYPE_CHECKING:
    import pandas

_OPENED = 16  # results that a report keeps open for those who ask again
_ASKED_MAX = 3  # names of metrics that are looked for one by one


class _NameTable:
    """The names of metrics of a report. Results of one run have the same metrics: theirs are looked up once."""

    __slots__ = ("_all", "_known", "_report")

    def __init__(self, report: Handle) -> None:
        self._report = report
        self._all: Optional[List[str]] = None  # by number
        self._known: Dict[bytes, _Names] = {}

    def all(self) -> List[str]:
        if self._all is None:
            self._all = metric_names(self._report.pointer)
        return self._all

    def of(self, ids: bytes) -> "_Names":
        """Those of the metrics with these numbers."""
        found = self._known.get(ids)
        if found is None:
            found = self._known[ids] = _Names(self, ids)
        return found


class _Names:
    """Names of metrics, and at which position each is."""

    __slots__ = ("_asked", "_ids", "_sorted", "_table", "at")

    def __init__(self, table: _NameTable, ids: bytes) -> None:
        self._table = table
        self._ids: Optional[bytes] = ids  # None: all names are in `at`
        self.at: Dict[str, int] = {}
        self._asked = 0
        self._sorted: Optional[Tuple[str, ...]] = None

    def all(self) -> Dict[str, int]:
        ids = self._ids  # another thread may be here, too
        if ids is not None:
            known = self._table.all()
            names = [known[number] if number < len(known) else f"#{number}" for number in array.array("I", ids)]
            self.at.update(zip(reversed(names), range(len(names) - 1, -1, -1)))  # the first of a name counts
            self._ids = None
        return self.at

    def find(self, name: str, result: ctypes.c_void_p) -> Optional[int]:
        """Return the index of a name, or None. The first few names are looked up one by one: often they are all that
        is wanted.
        """
        at = self.at.get(name)  # another result has asked for it
        if at is not None:
            return at
        self._asked += 1
        at = metric_position(result, name) if self._ids is not None and self._asked <= _ASKED_MAX else None
        if at is None:
            return self.all().get(name)
        self.at[name] = at
        return at

    def sorted(self) -> Tuple[str, ...]:
        if self._sorted is None:
            self._sorted = tuple(sorted(self.all()))
        return self._sorted


class _Metrics:
    """The metrics of a result, read at the first access, and the added ones, which hide stored metrics of the same
    name.
    """

    __slots__ = ("_names", "_result", "_table", "_what", "added", "at", "columns")
    columns: MetricColumns  # set by read()

    def __init__(self, result: Handle, table: _NameTable, what: str) -> None:
        self._result, self._table, self._what = result, table, what
        self.at: Dict[str, int] = {}  # of stored ones in the columns; empty until they are read
        self._names: Optional[_Names] = None
        self.added: Dict[str, IMutableMetric] = {}

    def read(self) -> _Names:
        if self._names is None:
            m = MetricArrays()
            check(lib.libtrace_result_metrics(self._result.pointer, ctypes.byref(m)), self._what)
            self.columns = MetricColumns(self._result, m)
            self._names = self._table.of(ctypes.string_at(m.name_ids, 4 * m.values.count))
            self.at = self._names.at
        return self._names

    def add(self, metric: IMutableMetric) -> IMutableMetric:
        names = self.read()
        self.added[metric.name()] = metric
        self.at = {name: at for name, at in names.all().items() if name not in self.added}
        return metric

    def names(self) -> Tuple[str, ...]:
        """All of them, sorted."""
        names = self.read()
        return tuple(sorted(set(names.all()) | set(self.added))) if self.added else names.sorted()

    def find(self, name: str) -> Optional[IMetric]:
        """One that was added, or is not in `at` yet; None: there is none."""
        names = self.read()
        if name in self.added:
            return self.added[name]
        at = names.find(name, self._result.pointer)
        return None if at is None else IMetric(self.columns, at, name)


class _Report:
    """What the objects of a report share."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.handle = Handle(open_report(path), lib.libtrace_report_close)
        self.count: int = lib.libtrace_report_result_count(self.handle.pointer)
        self._table = _NameTable(self.handle)
        self.opened: Dict[int, _Result] = {}

    def result(self, index: int) -> "_Result":
        found = self.opened.get(index)
        if found is None:
            what = f"'{self.path}': result {index}"
            handle = Handle(open_result(self.handle.pointer, index, what), lib.libtrace_result_close, self.handle)
            found = _Result(handle, self._table, what)
            for old in list(self.opened)[: 1 - _OPENED]:
                self.opened.pop(old, None)
            self.opened[index] = found
        return found


class _Result:
    """An opened result."""

    def __init__(self, handle: Handle, table: _NameTable, what: str) -> None:
        self.handle, self._what = handle, what
        self.metrics = _Metrics(handle, table, what)
        self._parts: Dict[str, Any] = {}

    def part(self, name: str) -> Any:
        """A field of the result; None where it is not there."""
        if name not in self._parts:
            self._parts[name] = part(self.handle.pointer, name, self._what).get(name)
        return self._parts[name]

    def workload(self) -> int:
        kind: int = lib.libtrace_result_workload(self.handle.pointer)
        return kind


_KERNEL, _RANGE, _CMDLIST, _GRAPH = range(1, 5)  # LIBTRACE_WORKLOAD_*


class ISourceInfo:
    """A line of source."""

    def __init__(self, file_name: str, line: int) -> None:
        self._file_name, self._line = file_name, line

    def file_name(self) -> str:
        """The path of the file, as the compiler knew it."""
        return self._file_name

    def line(self) -> int:
        """The line, from 1."""
        return self._line


class IRuleResult:
    """What a rule found, as later releases of NVIDIA's module have it."""

    _TYPES = ("NONE", "OK", "WARNING", "ERROR", "OPTIMIZATION")  # of RuleResultMessage

    def __init__(self, fields: Dict[str, Any]) -> None:
        self._fields = fields
        self._items: List[Dict[str, Any]] = fields.get("body", {}).get("items", [])
        self._said: Dict[str, Any] = next((item for item in self._items if "message" in item), {})

    def rule_identifier(self) -> str:
        """The identifier of the rule."""
        text: str = self._fields.get("identifier", "")
        return text

    def name(self) -> str:
        """The name of the rule, for people."""
        text: str = self._fields.get("display_name", "")
        return text

    def section_identifier(self) -> str:
        """The section that the rule belongs to; "" for none."""
        text: str = self._fields.get("section_identifier", "")
        return text

    def has_rule_message(self) -> bool:
        """Did it say something?"""
        return bool(self._said)

    def rule_message(self) -> Optional[Dict[str, str]]:
        """Its first message: title, message and type (NONE, OK, OPTIMIZATION, WARNING, ERROR)."""
        if not self._said:
            return None
        message = self._said["message"]
        kind = message.get("type", 0)
        return {
            "title": message.get("name", ""),
            "message": message.get("message", ""),
            "type": self._TYPES[kind] if kind < len(self._TYPES) else str(kind),
        }

    def focus_metrics(self) -> List[Dict[str, Any]]:
        """The metrics that its messages are about: message_id, metric_name, metric_value, severity (0 default, 1 low,
        2 high) and info.
        """
        return [dict(focus) for item in self._items for focus in item.get("focus_metrics", [])]

    def has_speedup_estimation(self) -> bool:
        """Does its first message have an estimated speedup?"""
        return "speedup" in self._said

    def speedup_estimation(self) -> Optional[Dict[str, Any]]:
        """The estimated speedup of its first message: type (LOCAL, GLOBAL) and speedup in per cent."""
        if "speedup" not in self._said:
            return None
        speedup = self._said["speedup"]
        return {
            "type": {1: "LOCAL", 2: "GLOBAL"}.get(speedup.get("speedup_type"), "UNKNOWN"),
            "speedup": float(speedup.get("value", 0.0)),
        }

    def source_markers(self) -> List[Dict[str, Any]]:
        """Its notes at instructions and lines, as SourceMarker of ncu.proto."""
        return [dict(marker) for marker in self._fields.get("source_markers", [])]

    def as_dict(self) -> Dict[str, Any]:
        """All of it."""
        return {
            "rule_identifier": self.rule_identifier(),
            "name": self.name(),
            "section_identifier": self.section_identifier(),
            "rule_message": self.rule_message(),
            "focus_metrics": self.focus_metrics(),
            "speedup_estimation": self.speedup_estimation(),
            "source_markers": self.source_markers(),
        }


class IAction:
    """A result: what was measured of a kernel, a range, a command list or a graph."""

    NameBase_FUNCTION, NameBase_DEMANGLED, NameBase_MANGLED = range(3)
    WorkloadType_KERNEL, WorkloadType_RANGE, WorkloadType_CMDLIST, WorkloadType_GRAPH = range(4)

    def __init__(self, result: _Result) -> None:
        self._result, self._metrics = result, result.metrics

    def name(self, base: int = NameBase_FUNCTION) -> Optional[str]:
        """The name of the kernel: as written, demangled or mangled; None for another base. A command list has a name
        of its own; other results are called "range" or "graph".
        """
        if base not in (0, 1, 2):
            return None
        workload = self._result.workload()
        if workload != _KERNEL:
            return (
                "range"
                if workload == _RANGE
                else "graph"
                if workload == _GRAPH
                else self._result.part("display_name") or ""
            )
        function = self._result.part("kernel_function_name") or ""
        if base == self.NameBase_FUNCTION:
            return function
        return (
            self._result.part("kernel_demangled_name" if base == self.NameBase_DEMANGLED else "kernel_mangled_name")
            or function
        )

    def workload_type(self) -> int:
        """One of WorkloadType_*."""
        return self._result.workload() - 1

    def metric_names(self) -> Tuple[str, ...]:
        """The names of all metrics, sorted."""
        return self._metrics.names()

    def metric_by_name(self, metric_name: str) -> Optional[IMetric]:
        """The metric of that name, or None."""
        if not isinstance(metric_name, str):
            raise TypeError(f"names of metrics are strings, not {type(metric_name).__name__}")
        metrics = self._metrics
        at = metrics.at.get(metric_name)
        return metrics.find(metric_name) if at is None else IMetric(metrics.columns, at, metric_name)

    # ---- for rules ----

    def add_metric(self, value_name: str) -> IMutableMetric:
        """Adds a metric without a value, and replaces one of that name. Only metrics of rules are stored, by `trace
        rules apply`.
        """
        return self._metrics.add(IMutableMetric(value_name))

    def add_integer_metric(self, value_name: str, value_kind: int, value: int) -> Optional[IMetric]:
        """Adds a metric of ValueKind_UINT64 or _UINT32; None for another kind."""
        made = self.add_metric(value_name)
        return made if made.set_uint64(value_kind, value) else None

    def add_double_metric(self, value_name: str, value_kind: int, value: float) -> Optional[IMetric]:
        """Adds a metric of ValueKind_DOUBLE or _FLOAT; None for another kind."""
        made = self.add_metric(value_name)
        return made if made.set_double(value_kind, value) else None

    def add_string_metric(self, value_name: str, value_kind: int, value: str) -> Optional[IMetric]:
        """Adds a metric of ValueKind_STRING; None for another kind."""
        made = self.add_metric(value_name)
        return made if made.set_string(value_kind, value) else None

    def added_metrics(self) -> Dict[str, IMutableMetric]:
        """The metrics that were added, by name."""
        return self._metrics.added

    def put_metric(self, metric: IMutableMetric) -> None:
        """Adds a metric that was made before."""
        self._metrics.add(metric)

    # ---- what was around it ----

    def source_files(self) -> Dict[str, str]:
        """{path: text} of the source files in the report (``--import-source``); the text is "" where only the path is
        known.
        """
        return {
            file.get("file_name", ""): file.get("content", "") for file in source_files(self._result.handle.pointer)
        }

    def source_info(self, address: int) -> Optional[ISourceInfo]:
        """The source line of the instruction at an address, or None: the code has no line numbers (-lineinfo), or the
        address is outside of it.
        """
        found = source_line(self._result.handle.pointer, address)
        return found and ISourceInfo(*found)

    def sass_by_pc(self, address: int) -> str:
        """The instruction at an address as text; "" where none begins there. Needs NVIDIA's nvdisasm: without it the
        text is "", with a warning.
        """
        return sass(self._result.handle.pointer, address)

    def ptx_by_pc(self, address: int) -> str:
        """The PTX line of the instruction at an address; "" where the compiler recorded none (-lineinfo)."""
        return ptx(self._result.handle.pointer, address)

    def rule_results(self) -> List["IRuleResult"]:
        """What rules found, in the order of the file."""
        return [IRuleResult(fields) for fields in self._result.part("rule_results") or []]

    def rule_results_as_dicts(self) -> List[Dict[str, Any]]:
        """The same as dicts."""
        return [rule.as_dict() for rule in self.rule_results()]

    def nvtx_state(self) -> Optional[INvtxState]:
        """The NVTX ranges that were open, or None where NVTX was not recorded."""
        state = self._result.part("nvtx")
        return None if state is None else INvtxState(state, self._result.part("thread_id") or 0)

    def callchain(self) -> List[Dict[str, Any]]:
        """The callchain of the launch, innermost frame first: module_name, pc, file_name, func_name, line. (Not in
        NVIDIA's module.)
        """
        return list((self._result.part("cpu_stack") or {}).get("frames", []))

    def fields(self, name: str) -> Any:
        """A field of the stored result by its name in ncu.proto ("grid_size", "stream_id"); None where it is not there.

        (Not in NVIDIA's module.)"""
        return self._result.part(name)

    def __str__(self) -> str:
        """The name of the kernel."""
        return self.name() or ""

    def __len__(self) -> int:
        """How many metrics there are."""
        return len(self.metric_names())

    def __iter__(self) -> Iterator[str]:
        """The names of the metrics."""
        return iter(self.metric_names())

    def __contains__(self, key: object) -> bool:
        """Is there a metric of that name?"""
        return isinstance(key, str) and self.metric_by_name(key) is not None

    def __getitem__(self, key: str) -> IMetric:
        """The metric of that name.

        Raises KeyError where there is none, TypeError for what is no str."""
        metrics = self._metrics
        try:
            at = metrics.at[key]  # first: columns are there when it is
            return IMetric(metrics.columns, at, key)
        except (KeyError, TypeError):
            pass
        if not isinstance(key, str):
            raise TypeError(f"IAction metric keys must be strings, not {type(key).__name__}")
        metric = metrics.find(key)
        if metric is None:
            raise KeyError(f"no metric named '{key}'")
        return metric


def _position(key: int, count: int, what: str) -> int:
    if not -count <= key < count:
        raise IndexError(f"{what} index out of range")
    return key + count if key < 0 else key


class IRange:
    """Results that belong together: all those of a report."""

    def __init__(self, report: _Report) -> None:
        self._report = report

    def num_actions(self) -> int:
        """How many results there are."""
        return self._report.count

    def action_by_idx(self, idx: int) -> Optional[IAction]:
        """A result by its number, or None."""
        return IAction(self._report.result(idx)) if 0 <= idx < self._report.count else None

    def actions_by_nvtx(self, includes: Sequence[str], excludes: Sequence[str]) -> Tuple[int, ...]:
        """The numbers of the results that an NVTX filter selects, in the language of ``--nvtx-include`` and ``--nvtx-
        exclude``.

        Without includes it selects none, as in NVIDIA's module. Raises ValueError for an invalid filter.
        """
        if not includes:
            return ()
        chosen = chosen_by_nvtx(self._report.handle.pointer, self._report.count, list(includes), list(excludes))
        return tuple(i for i, is_chosen in enumerate(chosen) if is_chosen)

    def to_pandas(self, metrics: Optional[Sequence[str]] = None, units: bool = False) -> "pandas.DataFrame":
        """The results as a pandas.DataFrame, a row each: name, and the values of the metrics (None: all that any
        result has).

        With `units` columns are called "gpu__time_duration.sum [nsecond]"; attrs["units"] has {metric: unit} in any
        case.
        """
        import pandas

        rows: List[Dict[str, Value]] = []
        found: Dict[str, str] = {}
        for action in self:
            names = action.metric_names() if metrics is None else [name for name in metrics if name in action]
            row: Dict[str, Value] = {"name": action.name()}
            for name in names:
                metric = action[name]
                row[name] = metric.value()
                found[name] = metric.unit()
            rows.append(row)
        frame = pandas.DataFrame.from_records(rows, columns=None if metrics is None else ["name", *metrics])
        if units:
            frame = frame.rename(columns={name: f"{name} [{unit}]" for name, unit in found.items() if unit})
        frame.attrs["units"] = found
        return frame

    def __len__(self) -> int:
        """How many results there are."""
        return self._report.count

    @overload
    def __getitem__(self, key: int) -> IAction: ...

    @overload
    def __getitem__(self, key: slice) -> Tuple[IAction, ...]: ...

    def __getitem__(self, key: Union[int, slice]) -> Union[IAction, Tuple[IAction, ...]]:
        """A result by its number (from the end where that is negative), or those of a slice.

        Raises IndexError, TypeError."""
        if isinstance(key, slice):
            return tuple(self[i] for i in range(*key.indices(len(self))))
        if not isinstance(key, int):
            raise TypeError(f"IRange indices must be integers or slices, not {type(key).__name__}")
        return IAction(self._report.result(_position(key, len(self), "IRange")))

    def __iter__(self) -> Iterator[IAction]:
        """The results, in the order of the file."""
        report, opened = self._report, self._report.opened
        for i in range(report.count):
            yield IAction(opened.get(i) or report.result(i))


class IContext(IBaseContext):
    """A report. Made by :func:`load_report`."""

    def __init__(self, report: _Report) -> None:
        self._report = report

    def num_ranges(self) -> int:
        """How many ranges there are: one, if there are results."""
        return 1 if self._report.count else 0

    def range_by_idx(self, idx: int) -> Optional[IRange]:
        """A range by its number, or None."""
        return IRange(self._report) if 0 <= idx < self.num_ranges() else None

    def frontend(self) -> Optional[IFrontend]:
        """Where rules put their results; None outside of rules."""
        return None

    def controller(self) -> Optional[IController]:
        """Where rules propose rules; None outside of rules."""
        return None

    def session(self) -> Dict[str, Any]:
        """The session: machine, devices and versions, as SessionDetails of report.proto. (Not in NVIDIA's module.)"""
        text = ctypes.c_void_p()
        check(lib.libtrace_report_session(self._report.handle.pointer, ctypes.byref(text)), self._report.path)
        details: Dict[str, Any] = take_json(text)
        return details

    # ---- events of libtrace (not in NVIDIA's module) ----

    def events(
        self,
        kind: Optional[str] = None,
        *,
        name: Optional[str] = None,
        pid: int = 0,
        tid: int = 0,
        start_ns: int = 0,
        end_ns: int = 0,
        symbols: bool = True,
    ) -> Iterator[Event]:
        """The events in order of their start: of a kind ("osrt_call", "nvtx_range", "cuda_kernel"; None: all), of
        functions that match a shell pattern, of a process, of a thread, of a time range (ns since the start of the
        session; 0: any). Callchains have the names that `trace symbolize` stored, or with symbols=False addresses
        only.

        Raises ValueError for an unknown kind.
        """
        return events(self._report.handle, kind, name, pid, tid, start_ns, end_ns, symbols)

    def api_calls(self, **filters: Any) -> Iterator[Event]:
        """Calls of the OS runtime and of the CUDA API. Filters are those of events()."""
        return (event for event in self.events(**filters) if event["kind"] in ("osrt_call", "cuda_api"))

    def nvtx_ranges(self, **filters: Any) -> Iterator[Event]:
        """NVTX ranges, of push and pop and of start and end. Filters are those of events()."""
        return (event for event in self.events(**filters) if event["kind"] in ("nvtx_range", "nvtx_start_end"))

    def events_to_pandas(self, kind: Optional[str] = None, **filters: Any) -> "pandas.DataFrame":
        """The events as a pandas.DataFrame, a row each. Filters are those of events()."""
        return events_to_pandas(self.events(kind, **filters))

    def to_pandas(self, metrics: Optional[Sequence[str]] = None, units: bool = False) -> "pandas.DataFrame":
        """The results as a pandas.DataFrame: IRange.to_pandas()."""
        return IRange(self._report).to_pandas(metrics, units)

    def problems(self) -> int:
        """At how many places the file is damaged, or cut off; they were passed over. (Not in NVIDIA's module.)"""
        count: int = lib.libtrace_report_problems(self._report.handle.pointer)
        return count

    def problem_texts(self) -> List[str]:
        """What is wrong, and at which offset: at most 16 texts, and one with the number of the others. (Not in
        NVIDIA's module.)
        """
        return problems(self._report.handle.pointer)

    def __len__(self) -> int:
        """How many ranges there are."""
        return self.num_ranges()

    @overload
    def __getitem__(self, key: int) -> IRange: ...

    @overload
    def __getitem__(self, key: slice) -> Tuple[IRange, ...]: ...

    def __getitem__(self, key: Union[int, slice]) -> Union[IRange, Tuple[IRange, ...]]:
        """A range by its number (from the end where that is negative), or those of a slice.

        Raises IndexError, TypeError."""
        if isinstance(key, slice):
            return tuple(self[i] for i in range(*key.indices(len(self))))
        if not isinstance(key, int):
            raise TypeError(f"IContext indices must be integers or slices, not {type(key).__name__}")
        _position(key, len(self), "IContext")
        return IRange(self._report)

    def __iter__(self) -> Iterator[IRange]:
        """The ranges."""
        return iter((IRange(self._report),) if self._report.count else ())


def load_report(file_name: Union[str, "os.PathLike[str]"]) -> IContext:
    """Opens a report of Nsight Compute or of libtrace.

    A damaged or truncated report is opened as far as it can be read; a ReportWarning says what is wrong, and so does
    IContext.problem_texts(). Raises FileNotFoundError where there is no such file, and ReportError where the file
    cannot be read as a report.
    """
    path = os.fspath(file_name)
    if not Path(path).exists():
        raise FileNotFoundError(f"Could not load report file: {path} does not exist.")
    context = IContext(_Report(path))
    wrong = context.problems()
    if wrong:
        more = f"; and {wrong - 1} more places" if wrong > 1 else ""
        warnings.warn(f"'{path}': {context.problem_texts()[0]}{more}", ReportWarning, stacklevel=2)
    return context
