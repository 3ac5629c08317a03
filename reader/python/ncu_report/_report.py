# SPDX-License-Identifier: Apache-2.0
"""A report, its ranges, its results."""

import array
import ctypes
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union, overload

from . import _timelines
from ._events import Event, events
from ._events import to_pandas as events_to_pandas
from ._findings import IRuleResult, rule_results, source_markers
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
from ._rules import IBackend, IBaseContext, IController, IFrontend
from ._sections import ISection

if TYPE_CHECKING:
    import pandas

_OPENED = 16  # results that a report keeps open for later requests
_ASKED_MAX = 3  # names of metrics that are looked up one by one


class _NameTable:
    """The names of metrics of a report. Results of one run have the same metrics, so their names are looked up once."""

    __slots__ = ("_all", "_known", "_report")

    def __init__(self, report: Handle) -> None:
        self._report = report
        self._all: Optional[List[str]] = None  # names by number
        self._known: Dict[bytes, _Names] = {}

    def all(self) -> List[str]:
        if self._all is None:
            self._all = metric_names(self._report.pointer)
        return self._all

    def of(self, ids: bytes) -> "_Names":
        """Return the names of the metrics with these numbers."""
        found = self._known.get(ids)
        if found is None:
            found = self._known[ids] = _Names(self, ids)
        return found


class _Names:
    """Names of metrics, and the index of each."""

    __slots__ = ("_asked", "_ids", "_sorted", "_table", "at")

    def __init__(self, table: _NameTable, ids: bytes) -> None:
        self._table = table
        self._ids: Optional[bytes] = ids  # None = all names are in `at`
        self.at: Dict[str, int] = {}
        self._asked = 0
        self._sorted: Optional[Tuple[str, ...]] = None

    def all(self) -> Dict[str, int]:
        ids = self._ids  # another thread may run this, too
        if ids is not None:
            known = self._table.all()
            names = [known[number] if number < len(known) else f"#{number}" for number in array.array("I", ids)]
            self.at.update(zip(names, range(len(names))))  # of metrics with the same name, the last is used
            self._ids = None
        return self.at

    def find(self, name: str, result: ctypes.c_void_p) -> Optional[int]:
        """Return the index of a name, or None. The first few names are looked up one by one: often they are all that
        is wanted.
        """
        at = self.at.get(name)  # looked up before, possibly for another result
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
        self.at: Dict[str, int] = {}  # indices of stored metrics in the columns; empty until they are read
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
        """Return all names, sorted."""
        names = self.read()
        return tuple(sorted(set(names.all()) | set(self.added))) if self.added else names.sorted()

    def find(self, name: str) -> Optional[IMetric]:
        """Find a metric that was added or is not in `at` yet; None if there is none."""
        names = self.read()
        if name in self.added:
            return self.added[name]
        at = names.find(name, self._result.pointer)
        return None if at is None else IMetric(self.columns, at, name)


class _Report:
    """The state that the objects of a report share."""

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
        """Return a field of the result; None if it is not set."""
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
        """Return the path of the file, as the compiler recorded it."""
        return self._file_name

    def line(self) -> int:
        """Return the line, from 1."""
        return self._line


class ITimelines:
    """Timelines of the sampled metrics of a result."""

    def __init__(self, action: "IAction") -> None:
        self._action = action

    def aligned_metric(self, metric: IMetric) -> Optional[IMetric]:
        """Return a sampled metric with the samples of the workload alone, whose times have no gaps; None if the metric
        was not sampled.
        """
        is_sampled = metric.is_sampled() and not metric.name().startswith(_timelines.OF_PROFILER)
        return _timelines.aligned(self._action, metric) if is_sampled else None


class IAction:
    """A result: the measurements of a kernel, a range, a command list or a graph."""

    NameBase_FUNCTION, NameBase_DEMANGLED, NameBase_MANGLED = range(3)
    (
        WorkloadType_KERNEL,
        WorkloadType_RANGE,
        WorkloadType_CMDLIST,
        WorkloadType_GRAPH,
        WorkloadType_SUBGRID_SCHEDULE,
    ) = range(5)

    def __init__(self, result: _Result) -> None:
        self._result, self._metrics = result, result.metrics

    def name(self, base: int = NameBase_FUNCTION) -> Optional[str]:
        """Return the name of the kernel in the form `base`: NameBase_FUNCTION, _DEMANGLED or _MANGLED; None for another
        base. A command list has its own name; the name of other results is "range" or "graph".
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
        """Return one of WorkloadType_*."""
        return self._result.workload() - 1

    def metric_names(self) -> Tuple[str, ...]:
        """Return the names of all metrics, sorted."""
        return self._metrics.names()

    def metric_by_name(self, metric_name: str) -> Optional[IMetric]:
        """Return the metric with this name, or None."""
        if not isinstance(metric_name, str):
            raise TypeError(f"names of metrics are strings, not {type(metric_name).__name__}")
        metrics = self._metrics
        at = metrics.at.get(metric_name)
        return metrics.find(metric_name) if at is None else IMetric(metrics.columns, at, metric_name)

    # ---- for rules ----

    def add_metric(self, value_name: str) -> IMutableMetric:
        """Add a metric without a value, which replaces a metric with this name. Only metrics of rules are stored, by
        `trace rules apply`.
        """
        return self._metrics.add(IMutableMetric(value_name))

    def add_integer_metric(self, value_name: str, value_kind: int, value: int) -> Optional[IMetric]:
        """Add a metric of ValueKind_UINT64 or _UINT32. Returns None for another kind."""
        made = self.add_metric(value_name)
        return made if made.set_uint64(value_kind, value) else None

    def add_double_metric(self, value_name: str, value_kind: int, value: float) -> Optional[IMetric]:
        """Add a metric of ValueKind_DOUBLE or _FLOAT. Returns None for another kind."""
        made = self.add_metric(value_name)
        return made if made.set_double(value_kind, value) else None

    def add_string_metric(self, value_name: str, value_kind: int, value: str) -> Optional[IMetric]:
        """Add a metric of ValueKind_STRING. Returns None for another kind."""
        made = self.add_metric(value_name)
        return made if made.set_string(value_kind, value) else None

    def added_metrics(self) -> Dict[str, IMutableMetric]:
        """Return the metrics that were added, by name."""
        return self._metrics.added

    def put_metric(self, metric: IMutableMetric) -> None:
        """Add an existing metric."""
        self._metrics.add(metric)

    # ---- context of the launch ----

    def source_files(self) -> Dict[str, str]:
        """Return {path: text} of the source files in the report (``--import-source``); the text is "" if only the path
        is known.
        """
        return {
            file.get("file_name", ""): file.get("content", "") for file in source_files(self._result.handle.pointer)
        }

    def source_info(self, address: int) -> Optional[ISourceInfo]:
        """Return the source line of the instruction at an address, or None if the code has no line numbers (-lineinfo)
        or the address is outside of the code.
        """
        found = source_line(self._result.handle.pointer, address)
        return found and ISourceInfo(*found)

    def sass_by_pc(self, address: int) -> str:
        """Return the instruction at an address as text; "" if no instruction begins there. Needs NVIDIA's nvdisasm:
        without it the text is "", with a warning.
        """
        return sass(self._result.handle.pointer, address)

    def ptx_by_pc(self, address: int) -> str:
        """Return the PTX line of the instruction at an address; "" if the compiler recorded none (-lineinfo)."""
        return ptx(self._result.handle.pointer, address)

    def rule_results(self) -> Tuple[IRuleResult, ...]:
        """Return the findings of rules, in the order of the file, one for each message."""
        return rule_results(self._result.part("rule_results") or [])

    def source_markers(self) -> List[Dict[str, Any]]:
        """Return the notes of rules at instructions and lines: rule_identifier, section_identifier, kind (MarkerKind),
        message_type (MsgType), message, and source_location or source_address.
        """
        return source_markers(self._result.part("rule_results") or [])

    def sections(self) -> Tuple[ISection, ...]:
        """Return the sections, in the order of the file."""
        return tuple(ISection(self, fields) for fields in self._result.part("sections") or [])

    def timelines(self) -> ITimelines:
        """Return the timelines of sampled metrics."""
        return ITimelines(self)

    def timed_warp_samples(self) -> List[Dict[str, Any]]:
        """Return the samples of warps with their times. Always empty: their stored form is unknown."""
        return []

    def rule_results_as_dicts(self) -> List[Dict[str, Any]]:
        """Return the findings of rule_results() as dicts."""
        return [rule.as_dict() for rule in self.rule_results()]

    def nvtx_state(self) -> Optional[INvtxState]:
        """Return the NVTX ranges that were open, or None if NVTX was not recorded."""
        state = self._result.part("nvtx")
        return None if state is None else INvtxState(state, self._result.part("thread_id") or 0)

    def callchain(self) -> List[Dict[str, Any]]:
        """Return the callchain of the launch, innermost frame first: module_name, pc, file_name, func_name, line. (Not
        in NVIDIA's module.)
        """
        return list((self._result.part("cpu_stack") or {}).get("frames", []))

    def fields(self, name: str) -> Any:
        """Return a field of the stored result by its name in ncu.proto ("grid_size", "stream_id"); None if it is not
        set.

        (Not in NVIDIA's module.)
        """
        return self._result.part(name)

    def __str__(self) -> str:
        """Return the name of the kernel."""
        return self.name() or ""

    def __len__(self) -> int:
        """Return the number of metrics."""
        return len(self.metric_names())

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the metrics."""
        return iter(self.metric_names())

    def __contains__(self, key: object) -> bool:
        """Return whether there is a metric with this name."""
        return isinstance(key, str) and self.metric_by_name(key) is not None

    def __getitem__(self, key: str) -> IMetric:
        """Return the metric with this name.

        Raises KeyError if there is none, TypeError if the key is not a str."""
        metrics = self._metrics
        try:
            at = metrics.at[key]  # read first: if it is set, so are the columns
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
    """A group of results: all results of a report."""

    def __init__(self, report: _Report) -> None:
        self._report = report

    def num_actions(self) -> int:
        """Return the number of results."""
        return self._report.count

    def action_by_idx(self, idx: int) -> Optional[IAction]:
        """Return a result by its number, or None."""
        return IAction(self._report.result(idx)) if 0 <= idx < self._report.count else None

    def actions_by_nvtx(self, includes: Sequence[str], excludes: Sequence[str]) -> Tuple[int, ...]:
        """Return the numbers of the results that an NVTX filter selects, in the language of ``--nvtx-include`` and
        ``--nvtx-exclude``.

        Without includes it selects none, as in NVIDIA's module. Raises ValueError for an invalid filter.
        """
        if not includes:
            return ()
        chosen = chosen_by_nvtx(self._report.handle.pointer, self._report.count, list(includes), list(excludes))
        return tuple(i for i, is_chosen in enumerate(chosen) if is_chosen)

    def to_pandas(self, metrics: Optional[Sequence[str]] = None, units: bool = False) -> "pandas.DataFrame":
        """Return the results as a pandas.DataFrame, one row each: name, and the values of the metrics (None = all that
        any result has).

        With `units`, columns are called "gpu__time_duration.sum [nsecond]"; attrs["units"] always has {metric: unit}.
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
        """Return the number of results."""
        return self._report.count

    @overload
    def __getitem__(self, key: int) -> IAction: ...

    @overload
    def __getitem__(self, key: slice) -> Tuple[IAction, ...]: ...

    def __getitem__(self, key: Union[int, slice]) -> Union[IAction, Tuple[IAction, ...]]:
        """Return a result by its number (a negative number counts from the end), or the results of a slice.

        Raises IndexError, TypeError."""
        if isinstance(key, slice):
            return tuple(self[i] for i in range(*key.indices(len(self))))
        if not isinstance(key, int):
            raise TypeError(f"IRange indices must be integers or slices, not {type(key).__name__}")
        return IAction(self._report.result(_position(key, len(self), "IRange")))

    def __iter__(self) -> Iterator[IAction]:
        """Iterate over the results, in the order of the file."""
        report, opened = self._report, self._report.opened
        for i in range(report.count):
            yield IAction(opened.get(i) or report.result(i))


class IContext(IBaseContext):
    """A report. Returned by :func:`load_report`."""

    def __init__(self, report: _Report) -> None:
        self._report = report

    def num_ranges(self) -> int:
        """Return the number of ranges: one, if there are results."""
        return 1 if self._report.count else 0

    def range_by_idx(self, idx: int) -> Optional[IRange]:
        """Return a range by its number, or None."""
        return IRange(self._report) if 0 <= idx < self.num_ranges() else None

    def frontend(self) -> Optional[IFrontend]:
        """Return the object that receives the output of rules; None outside of rules."""
        return None

    def controller(self) -> Optional[IController]:
        """Return the object that receives proposals of rules; None outside of rules."""
        return None

    def backend(self) -> Optional[IBackend]:
        """Return None. In NVIDIA's module this object answers questions of rules about instructions."""
        return None

    def session(self) -> Dict[str, Any]:
        """Return the session: machine, devices and versions, as SessionDetails of report.proto. (Not in NVIDIA's
        module.)
        """
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
        callchains: str = "merged",
    ) -> Iterator[Event]:
        """Return the events in order of their start: of a kind ("osrt_call", "nvtx_range", "cuda_kernel"; None: all),
        of functions that match a shell pattern, of a process, of a thread, of a time range (ns since the start of the
        session; 0: any). Callchains have the names that `trace symbolize` stored, or with symbols=False addresses only;
        callchains is "merged", "native" (without Python frames) or "python" (only Python frames).

        Raises ValueError for an unknown kind, or unknown callchains.
        """
        return events(self._report.handle, kind, name, pid, tid, start_ns, end_ns, symbols, callchains)

    def api_calls(self, **filters: Any) -> Iterator[Event]:
        """Return calls of the OS runtime and of the CUDA API. Filters are those of events()."""
        return (event for event in self.events(**filters) if event["kind"] in ("osrt_call", "cuda_api"))

    def nvtx_ranges(self, **filters: Any) -> Iterator[Event]:
        """Return NVTX ranges, both push/pop and start/end ranges. Filters are those of events()."""
        return (event for event in self.events(**filters) if event["kind"] in ("nvtx_range", "nvtx_start_end"))

    def events_to_pandas(self, kind: Optional[str] = None, **filters: Any) -> "pandas.DataFrame":
        """Return the events as a pandas.DataFrame, one row each. Filters are those of events()."""
        return events_to_pandas(self.events(kind, **filters))

    def to_pandas(self, metrics: Optional[Sequence[str]] = None, units: bool = False) -> "pandas.DataFrame":
        """Return the results as a pandas.DataFrame: IRange.to_pandas()."""
        return IRange(self._report).to_pandas(metrics, units)

    def problems(self) -> int:
        """Return the number of positions where the file is damaged or truncated; they were skipped. (Not in NVIDIA's
        module.)
        """
        count: int = lib.libtrace_report_problems(self._report.handle.pointer)
        return count

    def problem_texts(self) -> List[str]:
        """Return the problems and their offsets: at most 16 texts, and one with the number of further problems. (Not in
        NVIDIA's module.)
        """
        return problems(self._report.handle.pointer)

    def __len__(self) -> int:
        """Return the number of ranges."""
        return self.num_ranges()

    @overload
    def __getitem__(self, key: int) -> IRange: ...

    @overload
    def __getitem__(self, key: slice) -> Tuple[IRange, ...]: ...

    def __getitem__(self, key: Union[int, slice]) -> Union[IRange, Tuple[IRange, ...]]:
        """Return a range by its number (a negative number counts from the end), or the ranges of a slice.

        Raises IndexError, TypeError."""
        if isinstance(key, slice):
            return tuple(self[i] for i in range(*key.indices(len(self))))
        if not isinstance(key, int):
            raise TypeError(f"IContext indices must be integers or slices, not {type(key).__name__}")
        _position(key, len(self), "IContext")
        return IRange(self._report)

    def __iter__(self) -> Iterator[IRange]:
        """Iterate over the ranges."""
        return iter((IRange(self._report),) if self._report.count else ())


def load_report(file_name: Union[str, "os.PathLike[str]"]) -> IContext:
    """Open a report of Nsight Compute or of libtrace.

    A damaged or truncated report is opened as far as it can be read; a ReportWarning describes the problem, and so does
    IContext.problem_texts(). Raises FileNotFoundError if there is no such file, and ReportError if the file cannot be
    read as a report.
    """
    path = os.fspath(file_name)
    if not Path(path).exists():
        raise FileNotFoundError(f"Could not load report file: {path} does not exist.")
    context = IContext(_Report(path))
    wrong = context.problems()
    if wrong:
        more = f"; and {wrong - 1} more problems" if wrong > 1 else ""
        warnings.warn(f"'{path}': {context.problem_texts()[0]}{more}", ReportWarning, stacklevel=2)
    return context
