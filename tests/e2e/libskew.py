# SPDX-License-Identifier: Apache-2.0
"""Rewrite a report as if it came from another host, whose clock has another origin and rate.

Independent of the reader: columns of times are those of events.def, all else of docs/FORMAT.md. Reports must not be compressed.
"""
import os
import re
import struct

import libwire
from libwire import put_bytes, put_number, put_varint, varint

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "common", "schema")
TABLE = [0]
for number in range(1, 256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def time_columns():
    """Return {kind: {field: "start", "time" or "duration"}}; the first duration belongs to the start."""
    kinds, columns = {}, {}
    for name in sorted(os.listdir(SOURCE)):
        if not name.endswith(".def"):
            continue
        with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
            text = file.read()
        for number, event in re.findall(r"^EVENT\((\d+), (\w+),", text, re.M):
            kinds[event] = int(number)
        for event, field, column_kind in re.findall(r'^FIELD\((\w+), (\d+), \w+, "\w+", (TIME|DURATION),', text, re.M):
            of = columns.setdefault(event, {})
            if column_kind == "TIME":
                of[int(field)] = "start" if field == "1" else "time"
            elif "duration" not in of.values():
                of[int(field)] = "duration"
    return {kinds[event]: of for event, of in columns.items() if event in kinds}


COLUMNS = time_columns()


def parts(data):
    """Return the fields of a message in order, as (number, wire type, value)."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = data[at:at + size], at + size
        found.append((key >> 3, key & 7, value))
    return found


def joined(found):
    out = b""
    for number, kind, value in found:
        out += put_number(number, value) if kind == 0 else put_bytes(number, value) if kind == 2 else put_varint(number << 3 | kind) + value
    return out


def zigzag(value):
    return value << 1 if value >= 0 else (-value << 1) - 1


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def numbers(data):
    at, found = 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def column_values(column, count):
    found = libwire.fields(column)
    if 3 in found:
        return numbers(found[3][0])
    if 4 in found:
        total, values = 0, []
        for delta in numbers(found[4][0]):
            total += unzigzag(delta)
            values.append(total)
        return values
    if 5 in found:
        return [unzigzag(value) for value in numbers(found[5][0])]
    return [unzigzag(libwire.one(found, 2))] * count


class Skew:
    def __init__(self, boot, offset, ppm, origin):
        self.boot, self.offset, self.ppm, self.origin = boot, offset, ppm, origin

    def time(self, ns):
        """Return what the other clock shows at a time of the real one."""
        return ns + self.offset + round((ns - self.origin) * self.ppm / 1e6) if ns else ns

    def times(self, data, *places):
        return joined([(number, kind, self.time(value) if number in places else value) for number, kind, value in parts(data)])

    def batch(self, data):
        found = libwire.fields(data)
        columns, count = COLUMNS.get(libwire.one(found, 1), {}), libwire.one(found, 4)
        starts = next((column_values(c, count) for c in found[5] if libwire.one(libwire.fields(c), 1) == 1), [0] * count)

        def column(content):
            field = libwire.one(libwire.fields(content), 1)
            what = columns.get(field)
            if not what:
                return content
            values = column_values(content, count)
            if what == "duration":
                values = [self.time(start + value) - self.time(start) for start, value in zip(starts, values)]
            else:
                values = [self.time(value) for value in values]
            return put_number(1, field) + put_bytes(3, b"".join(map(put_varint, values)))
        return joined([(number, kind, column(value) if number == 5 else value) for number, kind, value in parts(data)])

    def entry(self, data):
        number, kind, value = parts(data)[0]
        if number == 1:
            value = self.times(joined([(n, k, self.boot.encode() if n == 1 else v) for n, k, v in parts(value)]), 2)
        elif number == 3:
            value = self.times(value, 4, 5, 26, 27)
        elif number == 4:
            value = self.batch(value)
        elif number == 5:
            value = joined([(n, k, b"".join(put_varint(self.time(t)) for t in numbers(v)) if n == 3 else v) for n, k, v in parts(value)])
        elif number == 6:
            value = self.times(value, 1)
        return joined([(number, kind, value)])


def skew(source, target, boot, offset, ppm=0.0, origin=0):
    """Write `source` to `target` as the host `boot` would have recorded it, whose clock is ahead by `offset` ns at the time `origin` and gains `ppm`."""
    how = Skew(boot, offset, ppm, origin)
    with open(source, "rb") as file:
        data = file.read()
    _, at = libwire.entry(data, 4)
    out = data[:at]
    while at < len(data):
        header, at = libwire.entry(data, at)
        fields = libwire.fields(header)
        payload, at = data[at:at + fields[5][0]], at + fields[5][0]
        own = libwire.fields(fields[1000][0])
        if libwire.one(own, 9):
            raise ValueError("the report is compressed")
        standard = b""
        contents = list(libwire.entries(payload, sum(libwire.one(fields, n) for n in (1, 2, 7)) + libwire.one(own, 4)))
        if len(contents) != libwire.one(own, 4):
            raise ValueError("the report has results of kernels")
        for content in map(how.entry, contents):
            standard += struct.pack("<I", len(content)) + content
        own = how.times(fields[1000][0], 5, 6)
        own = joined([(n, k, struct.pack("<I", crc32c(standard)) if n == 3 else v) for n, k, v in parts(own)])
        header = joined([(n, k, len(standard) if n == 5 else own if n == 1000 else v) for n, k, v in parts(header)])
        out += struct.pack("<I", len(header)) + header + standard
    with open(target, "wb") as file:
        file.write(out)
