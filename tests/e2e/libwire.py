"""The wire format of protobuf, as little of it as tests need: https://protobuf.dev/programming-guides/encoding."""
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
    """number -> values; messages and texts as bytes, fixed numbers as theirs."""
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
    """The last value of a field."""
    return found[number][-1] if number in found else default


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def fixed(data):
    return struct.unpack("<Q", data)[0]


def real(data):
    return struct.unpack("<d", data)[0]
