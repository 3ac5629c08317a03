# SPDX-License-Identifier: Apache-2.0
"""Write reports of Nsight Compute for tests: launches with the metrics, sections and NVTX ranges that a test needs."""
import struct

from libwire import entry, put_bytes as data, put_number as number, put_real as real, put_single as single, put_varint, varint as decode


# ---- NVTX ----

PAYLOADS = {"u64": (1, 2, number), "i64": (2, 3, lambda f, v: number(f, v & (1 << 64) - 1)), "double": (3, 4, real), "u32": (4, 5, number),
            "i32": (5, 6, lambda f, v: number(f, v & (1 << 64) - 1)), "float": (6, 7, single)}


def attributes(text=None, color=None, payload=None, category=0, message_type=1, handle=None):
    """Return an NvtxEventAttributes. payload: (its kind in PAYLOADS, its value). handle: that of a registered string, which replaces the text."""
    out = number(1, 2) + number(2, category) + data(3, number(1, 1) + number(2, color) if color is not None else number(1, 0))
    if payload:
        kind, field, encode = PAYLOADS[payload[0]]
        out += data(4, number(1, kind) + encode(field, payload[1]))
    else:
        out += data(4, number(1, 0))
    if handle is not None:
        return out + data(5, number(1, 3) + number(3, handle))
    return out + data(5, number(1, message_type) + data(2, text) if text is not None else number(1, 0))


def push(name, **of):
    """Return a range on a stack as nvtxRangePushA() creates it or, with keywords, one with these attributes, where `text` is its message."""
    return data(1, name) + (data(2, attributes(**{"text": name, **of})) if of else b"") + number(3, 0)


def started(range_id, name, tid=1, **of):
    return number(1, range_id) + data(2, name) + (data(3, attributes(**{"text": name, **of})) if of else b"") + number(4, 0) + number(5, tid)


def state(threads, ranges=(), domains=("<default domain>", "other", "third"), strings=()):
    """Build an NvtxState. threads: {tid: {domain: [push()]}}, ranges: {domain: [started()]}; domains are numbered by their position;
    strings: {handle: text} of the first one.
    """
    texts = b"".join(data(3, number(1, handle) + data(2, text)) for handle, text in dict(strings).items())
    out = b"".join(data(1, number(1, i) + data(2, name) + (b"" if i else texts)) for i, name in enumerate(domains))
    for tid, stacks in threads.items():
        out += data(2, number(1, tid) + b"".join(data(2, number(1, d) + b"".join(data(3, r) for r in stack)) for d, stack in stacks.items()))
    for domain, of in dict(ranges).items():
        out += data(3, number(1, domain) + b"".join(data(3, r) for r in of))
    return out + number(4, 0)


# ---- results ----

def value(of):
    """Return a ProfileMetricValue."""
    return data(1, of) if isinstance(of, (str, bytes)) else number(5, of) if isinstance(of, int) else real(3, of)


def launch(names, metrics, kernel="compute", tid=1, grid=(4, 1, 1), block=(32, 1, 1), nvtx=None, sections=(), rules=(), context=1, stream=7):
    """Return a ProfileResult. metrics: {name: value} or pairs of them; a value may be a pair (value, {key: value of the instance}). names: the string table, which
    grows."""
    dims = [b"".join(number(i, n) for i, n in enumerate(dim, 1)) for dim in ((0, 0, 0), grid, block)]
    out = number(1, tid) + number(2, 77) + number(3, 1 << 40) + number(4, 1 << 41) + data(5, kernel) + data(6, kernel) + data(7, kernel + "()") + number(8, 3)
    out += b"".join(data(field, dim) for field, dim in zip((9, 10, 11), dims))
    for name, of in metrics.items() if isinstance(metrics, dict) else metrics:
        if name not in names:
            names.append(name)
        of, instances = of if isinstance(of, tuple) else (of, {})
        out += data(13, number(1, names.index(name)) + (data(2, value(of)) if of is not None else b"") +
                    b"".join(data(3, data(1, value(key)) + data(2, value(item))) for key, item in instances.items()))
    out += number(14, 1700000000) + data(15, number(1, (17 << 32) + 1)) + number(16, 0) + b"".join(data(17, s) for s in sections)
    return out + b"".join(data(19, r) for r in rules) + (data(21, nvtx) if nvtx is not None else b"") + number(22, context) + number(23, stream)


def section(identifier, name, shown=(), body=b""):
    """Return a ProfilerSection. shown: pairs (name, label) of the metrics in its header."""
    header = b"".join(data(2, data(1, metric) + data(2, label)) for metric, label in shown)
    return data(1, identifier) + data(2, name) + number(3, 10) + data(4, header) + body


def write(path, names, launches, pid=4242, program="/bin/app", code=None):
    """Write a report of one process; code: the bytes after the reference in the module of all launches."""
    module = [number(1, (17 << 32) + 1) + code] if code else []
    process = data(6, number(1, pid) + data(2, "127.0.0.1") + data(3, program))
    with open(path, "wb") as file:
        file.write(b"NVR\0" + struct.pack("<I", 2) + b"\x08\x07")
        for i, message in enumerate(launches):
            table = data(4, b"".join(data(1, name) for name in names)) if i == 0 else data(4, b"")
            payload = b"".join(struct.pack("<I", len(of)) + of for of in ([*module, message] if i == 0 else [message]))
            header = number(1, len(module) if i == 0 else 0) + number(2, 1) + table + number(5, len(payload)) + process
            file.write(struct.pack("<I", len(header)) + header + payload)


# ---- reports of other tools, changed ----

def pieces(message):
    """Return (number, value, bytes) of each field, in order."""
    at = 0
    while at < len(message):
        begin = at
        key, at = decode(message, at)
        if key & 7 == 0:
            of, at = decode(message, at)
        else:
            size, at = decode(message, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            of, at = message[at:at + size], at + size
        yield key >> 3, of, message[begin:at]


def without(message, *numbers):
    return b"".join(piece for number_, _, piece in pieces(message) if number_ not in numbers)


# Kinds of results other than kernels: the field of the block header that counts them, and {field of ProfileResult: the same field in their message}.
WORKLOADS = {
    "range": (7, {1: 1, 2: 2, 12: 3, 13: 4, 14: 5, 16: 6, 17: 7, 18: 8, 20: 9, 21: 10, 22: 11, 25: 12, 26: 13, 28: 14, 30: 16}),
    "cmdlist": (8, {1: 1, 2: 2, 12: 3, 13: 4, 14: 5, 16: 6, 17: 7, 18: 8, 20: 9, 21: 10, 22: 11, 23: 12, 25: 13, 26: 14, 27: 15, 28: 16, 6: 18, 8: 19, 19: 21}),
    "graph": (9, {1: 1, 2: 2, 12: 3, 13: 4, 14: 5, 16: 6, 17: 7, 18: 8, 20: 9, 21: 10, 22: 11, 23: 12, 25: 13, 26: 14, 27: 15, 28: 16, 30: 18}),
}


def renumbered(piece, to):
    """Return the field under another number."""
    key, at = decode(piece, 0)
    return put_varint(to << 3 | key & 7) + piece[at:]


class Template:
    """A report with one result per block."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data_ = file.read()
        _, at = entry(data_, 4)
        self.head, self.before, self.results = data_[:at], [], []
        while at < len(data_):
            header, at = entry(data_, at)
            found = {number_: of for number_, of, _ in pieces(header)}
            payload, at = data_[at:at + found.get(5, 0)], at + found.get(5, 0)
            if found.get(2):
                self.results.append((header, payload[4:]))
            else:
                self.before.append(struct.pack("<I", len(header)) + header + payload)

    def tid(self):
        return next(of for number_, of, _ in pieces(self.results[0][1]) if number_ == 1)

    def write(self, path, launches):
        """Write launches, (index of the template's result, NVTX state or None, kernel name). The first must be result 0, whose block has the strings."""
        with open(path, "wb") as file:
            file.write(self.head + b"".join(self.before))
            for i, nvtx, kernel in launches:
                header, message = self.results[i]
                message = b"".join(data(number_, kernel) if number_ in (5, 6, 7) else piece for number_, _, piece in pieces(without(message, 21)))
                message += data(21, nvtx) if nvtx is not None else b""
                header = without(header, 5) + number(5, len(message) + 4)
                file.write(struct.pack("<I", len(header)) + header + struct.pack("<I", len(message)) + message)

    def write_as(self, path, workload):
        """Write the same results as those of ranges, command lists (with the kernel's name) or graphs."""
        count, numbers = WORKLOADS[workload]
        with open(path, "wb") as file:
            file.write(self.head + b"".join(self.before))
            for header, message in self.results:
                message = b"".join(renumbered(piece, numbers[number_]) for number_, _, piece in pieces(message) if number_ in numbers)
                header = without(header, 2, 5, 7, 8, 9) + number(count, 1) + number(5, len(message) + 4)
                file.write(struct.pack("<I", len(header)) + header + struct.pack("<I", len(message)) + message)
