# SPDX-License-Identifier: Apache-2.0
"""The part of protobuf's wire format that tests need (https://protobuf.dev/programming-guides/encoding), and the blocks of a report."""
import collections
import struct


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """Return {field number: values} of a message; messages, texts and fixed-size numbers are bytes."""
    at, found = 0, collections.defaultdict(list)
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
        found[key >> 3].append(value)
    return found


def one(found, number, default=0):
    """Return the last value of a field."""
    return found[number][-1] if number in found else default


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def fixed(data):
    return struct.unpack("<Q", data)[0]


def real(data):
    return struct.unpack("<d", data)[0]


def put_varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def put_number(field, value):
    return put_varint(field << 3) + put_varint(value)


def put_bytes(field, value):
    """Return a field that is a text or a message."""
    value = value if isinstance(value, bytes) else value.encode()
    return put_varint(field << 3 | 2) + put_varint(len(value)) + value


def put_real(field, value):
    return put_varint(field << 3 | 1) + struct.pack("<d", value)


def put_single(field, value):
    return put_varint(field << 3 | 5) + struct.pack("<f", value)


# ---- reports ----

def entry(data, at):
    """Return (the content after the length at this offset, where the content ends)."""
    end = at + 4 + struct.unpack_from("<I", data, at)[0]
    return data[at + 4:end], end


def entries(payload, count):
    """Return the first `count` entries of a block's payload."""
    at = 0
    for _ in range(count):
        found, at = entry(payload, at)
        yield found


def blocks(path):
    """Return (fields of the header, payload) of each block in the file."""
    with open(path, "rb") as file:
        data = file.read()
    _, at = entry(data, 4)
    while at < len(data):
        header, at = entry(data, at)
        header = fields(header)
        yield header, data[at:at + header[5][0]]
        at += header[5][0]
