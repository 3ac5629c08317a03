# SPDX-License-Identifier: Apache-2.0
"""libtrace-reader.so by ctypes: the functions of libtrace-reader.h, and its arrays as Python's.

The interpreter's lock is held during calls, so that objects may be shared by threads.
"""

import array
import ctypes
import errno
import json
import operator
import os
import shutil
import warnings
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Type

if TYPE_CHECKING:
    from _ctypes import _CData

NAME = "libtrace-reader.so"
VERSION = 3  # version of the interface: LIBTRACE_READER_VERSION


def _places() -> List[str]:
    """Return the possible paths of the library, best first."""
    here = os.path.dirname(os.path.abspath(__file__))
    found = [
        os.path.join(here, NAME),
        os.path.join(here, "..", "..", NAME),
        os.path.join(here, "../../../build/lib/libtrace", NAME),
    ]
    command = shutil.which("trace")
    if command:
        found.append(os.path.join(os.path.dirname(os.path.realpath(command)), "../lib/libtrace", NAME))
    return found + [os.path.join(prefix, "lib/libtrace", NAME) for prefix in ("/usr/local", "/usr", "/opt/libtrace")]


def _open() -> ctypes.PyDLL:
    wanted = os.environ.get("LIBTRACE_READER")
    for place in [wanted] if wanted else _places():
        if os.path.exists(place):
            return ctypes.PyDLL(os.path.realpath(place))
    raise ImportError(f"no {wanted or NAME} found; set LIBTRACE_READER to its path")


class Values(ctypes.Structure):
    """struct libtrace_values"""

    _fields_ = [("count", c_size_t), ("kinds", c_void_p), ("bits", c_void_p)]


class MetricArrays(ctypes.Structure):
    """struct libtrace_metrics"""

    _fields_ = [("values", Values), ("name_ids", c_void_p), ("instance_counts", c_void_p), ("categories", c_void_p)]


class InstanceArrays(ctypes.Structure):
    """struct libtrace_instances"""

    _fields_ = [("keys", Values), ("values", Values)]


lib = _open()


def _declare(name: str, result: "Optional[Type[_CData]]", *arguments: "Type[_CData]") -> None:
    """Declare the types of a function; without a result it returns nothing."""
    function = getattr(lib, name)
    function.restype, function.argtypes = result, list(arguments)


_declare("libtrace_reader_version", c_uint32)
if lib.libtrace_reader_version() < VERSION:
    raise ImportError(f"{lib._name} is older than this package")
_declare("libtrace_text_free", None, c_void_p)
_declare("libtrace_report_open", c_int, c_char_p, POINTER(c_void_p), ctypes.c_char_p, c_size_t)
_declare("libtrace_report_close", None, c_void_p)
_declare("libtrace_report_problems", c_uint64, c_void_p)
_declare("libtrace_report_problem", c_char_p, c_void_p, c_size_t)
_declare("libtrace_report_session", c_int, c_void_p, POINTER(c_void_p))
_declare("libtrace_report_metric_names", c_int, c_void_p, POINTER(c_void_p), POINTER(c_size_t))
_declare("libtrace_report_result_count", c_size_t, c_void_p)
_declare("libtrace_result_open", c_int, c_void_p, c_size_t, POINTER(c_void_p))
_declare("libtrace_result_close", None, c_void_p)
_declare("libtrace_result_workload", c_int, c_void_p)
_declare("libtrace_result_metrics", c_int, c_void_p, POINTER(MetricArrays))
_declare("libtrace_result_metric", c_int, c_void_p, c_char_p, POINTER(c_size_t))
_declare("libtrace_result_instances", c_int, c_void_p, POINTER(InstanceArrays))
_declare("libtrace_values_as_real", None, POINTER(Values), c_void_p)
_declare("libtrace_values_as_whole", None, POINTER(Values), c_void_p)
_declare("libtrace_result_part", c_int, c_void_p, c_char_p, POINTER(c_void_p))
_declare("libtrace_result_source_files", c_int, c_void_p, POINTER(c_void_p))
_declare("libtrace_result_sass", c_int, c_void_p, c_uint64, POINTER(c_void_p))
_declare("libtrace_result_ptx", c_int, c_void_p, c_uint64, POINTER(c_void_p))
_declare("libtrace_result_line", c_int, c_void_p, c_uint64, POINTER(c_void_p), POINTER(c_uint32))
_declare(
    "libtrace_report_nvtx",
    c_int,
    c_void_p,
    POINTER(c_char_p),
    c_size_t,
    POINTER(c_char_p),
    c_size_t,
    ctypes.c_char_p,
    ctypes.c_char_p,
    c_size_t,
)
_declare("libtrace_metric_unit", None, c_char_p, ctypes.c_char_p, c_size_t)

_declare("libtrace_data_free", None, c_void_p)
_declare(
    "libtrace_body_item", c_int, c_char_p, c_size_t, POINTER(c_void_p), POINTER(c_size_t), ctypes.c_char_p, c_size_t
)

NONE, STRING, FLOAT, DOUBLE, UINT32, UINT64 = range(6)  # enum libtrace_value_kind


class ReportError(OSError, ValueError):
    """A file cannot be read as a report; the text names the file and the cause."""

    __module__ = "ncu_report"


class ReportWarning(UserWarning):
    """A report is damaged or truncated; the text names the file, the position and the problem. The rest is readable."""

    __module__ = "ncu_report"


class Handle:
    """An object of the library, closed with the last reference to it. It keeps the object that it belongs to open."""

    __slots__ = ("_close", "_of", "pointer")

    def __init__(self, pointer: c_void_p, close: Callable[[c_void_p], object], of: "Optional[Handle]" = None) -> None:
        self.pointer, self._close, self._of = pointer, close, of

    def __del__(self) -> None:
        self._close(self.pointer)


def check(error: int, what: str) -> None:
    """Raise the error that a function of the library returned."""
    if error:
        raise ReportError(-error, f"{what}: {os.strerror(-error)}")


def text_of(raw: Optional[bytes]) -> str:
    return (raw or b"").decode("utf-8", "surrogateescape")


def take_text(pointer: c_void_p) -> Optional[str]:
    """Copy a text that the library returned, and free it; None for NULL."""
    if not pointer:
        return None
    try:
        return text_of(ctypes.string_at(pointer))
    finally:
        lib.libtrace_text_free(pointer)


def take_json(pointer: c_void_p) -> Any:
    """Parse a JSON text that the library returned, and free it."""
    try:
        return json.loads(ctypes.string_at(pointer))
    finally:
        lib.libtrace_text_free(pointer)


class Column(NamedTuple):
    """Values of a struct libtrace_values; the same 64 bits read as real and as whole numbers."""

    kinds: bytes
    reals: "array.array[float]"
    numbers: "array.array[int]"


def column(values: Values) -> Column:
    bits = ctypes.string_at(values.bits, 8 * values.count)
    reals, numbers = array.array("d"), array.array("Q")
    reals.frombytes(bits)
    numbers.frombytes(bits)
    return Column(ctypes.string_at(values.kinds, values.count), reals, numbers)


def problems(report: c_void_p) -> List[str]:
    """Return the problems of a report, one text for each position; the last text counts problems without a text."""
    texts: List[str] = []
    count: int = lib.libtrace_report_problems(report)
    while True:
        text = lib.libtrace_report_problem(report, len(texts))
        if text is None:
            break
        texts.append(text_of(text))
    return [*texts, f"{count - len(texts)} more problems"] if count > len(texts) else texts


def open_report(path: str) -> c_void_p:
    """Open a report and return its handle. Raises ReportError."""
    handle, cause = c_void_p(), ctypes.create_string_buffer(1024)
    error = lib.libtrace_report_open(os.fsencode(path), byref(handle), cause, len(cause))
    if error:
        raise ReportError(-error, text_of(cause.value))
    return handle


def as_reals(values: Values) -> List[float]:
    """Return the values as float; 0.0 for a value that is not a number."""
    out = array.array("d", bytes(8 * values.count))
    lib.libtrace_values_as_real(byref(values), out.buffer_info()[0])
    return out.tolist()


def as_wholes(values: Values) -> List[int]:
    """Return the values as int, truncated; 0 for a value that is not a number."""
    out = array.array("Q", bytes(8 * values.count))
    lib.libtrace_values_as_whole(byref(values), out.buffer_info()[0])
    return out.tolist()


def metric_names(report: c_void_p) -> List[str]:
    """Return the names of metrics by number."""
    text, count = c_void_p(), c_size_t()
    check(lib.libtrace_report_metric_names(report, byref(text), byref(count)), "names of metrics")
    try:
        return text_of(ctypes.string_at(text, count.value)).split("\0")[:-1]
    finally:
        lib.libtrace_text_free(text)


def metric_position(result: c_void_p, name: str) -> Optional[int]:
    """Return the index of the first metric of a result with this name; None if the library finds none."""
    at = c_size_t()
    raw = name.encode("utf-8", "surrogateescape")
    if b"\0" in raw or lib.libtrace_result_metric(result, raw, byref(at)):
        return None
    return at.value


def open_result(report: c_void_p, index: int, what: str) -> c_void_p:
    handle = c_void_p()
    check(lib.libtrace_result_open(report, index, byref(handle)), what)
    return handle


def part(result: c_void_p, names: str, what: str) -> Dict[str, Any]:
    """Return fields of a result by their names in ncu.proto. Raises ValueError for an unknown name."""
    text = c_void_p()
    error = lib.libtrace_result_part(result, names.encode(), byref(text))
    if error == -errno.EINVAL:
        raise ValueError(f"{what} has no field '{names}'")
    check(error, what)
    fields: Dict[str, Any] = take_json(text)
    return fields


def _u64(number: int) -> int:
    """Convert a number to u64. Otherwise ctypes would truncate it."""
    number = operator.index(number)
    if not 0 <= number < 1 << 64:
        raise OverflowError(f"{number} is not an unsigned 64-bit integer")
    return number


def sass(result: c_void_p, address: int) -> str:
    """Return an instruction as text; "" if unknown. Warns once if the disassembler is missing or fails."""
    text = c_void_p()
    error = lib.libtrace_result_sass(result, _u64(address), byref(text))
    if error in (-errno.ENOENT, -errno.EIO):
        warnings.warn(
            "instructions have no text: "
            + ("no nvdisasm in PATH or /usr/local/cuda/bin" if error == -errno.ENOENT else "nvdisasm failed"),
            RuntimeWarning,
            stacklevel=3,
        )
        return ""
    check(error, "instructions")
    return take_text(text) or ""


def ptx(result: c_void_p, address: int) -> str:
    """Return the line of PTX that an instruction was compiled from; "" if unknown."""
    text = c_void_p()
    check(lib.libtrace_result_ptx(result, _u64(address), byref(text)), "PTX")
    return take_text(text) or ""


def source_line(result: c_void_p, address: int) -> Optional[Tuple[str, int]]:
    """Return the file and line that an instruction was compiled from; None if unknown."""
    file, line = c_void_p(), c_uint32()
    check(lib.libtrace_result_line(result, _u64(address), byref(file), byref(line)), "source lines")
    name = take_text(file)
    return None if name is None else (name, line.value)


def source_files(result: c_void_p) -> List[Dict[str, str]]:
    """Return the files of the module of a result: [{file_name, content}]."""
    text = c_void_p()
    check(lib.libtrace_result_source_files(result, byref(text)), "source files")
    files: List[Dict[str, str]] = take_json(text).get("files", [])
    return files


def chosen_by_nvtx(report: c_void_p, count: int, includes: Sequence[str], excludes: Sequence[str]) -> bytes:
    """Return a byte for each of `count` results: 1 if it is chosen. Raises ValueError for an invalid filter."""

    def texts(values: Sequence[str]) -> "ctypes.Array[c_char_p]":
        return (c_char_p * len(values))(*(value.encode("utf-8", "surrogateescape") for value in values))

    chosen, cause = ctypes.create_string_buffer(count + 1), ctypes.create_string_buffer(1024)
    error = lib.libtrace_report_nvtx(
        report, texts(includes), len(includes), texts(excludes), len(excludes), chosen, cause, len(cause)
    )
    if error == -errno.EINVAL:
        raise ValueError(text_of(cause.value))
    check(error, "NVTX filter")
    return chosen.raw[:count]


def unit_of(name: str) -> str:
    unit = ctypes.create_string_buffer(64)
    lib.libtrace_metric_unit(name.encode("utf-8", "surrogateescape"), unit, len(unit))
    return text_of(unit.value)


def body_item(path: str, text: bytes) -> bytes:
    """Return the RuleResultBodyItem of a chart file. Raises ValueError with file, line and column."""
    item, count, cause = c_void_p(), c_size_t(), ctypes.create_string_buffer(1024)
    error = lib.libtrace_body_item(text, len(text), byref(item), byref(count), cause, len(cause))
    if error:
        raise ValueError(f"{path}:{text_of(cause.value)}")
    try:
        return ctypes.string_at(item, count.value)
    finally:
        lib.libtrace_data_free(item)
