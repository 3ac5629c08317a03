# SPDX-License-Identifier: Apache-2.0
"""Encoder of findings as the standard messages of a report (RuleResult, ProfileMetricResult of ncu.proto)."""

import struct
from typing import Any, Iterable

from ncu_report import IFrontend, IMetric, IMutableMetric
from ncu_report._rules import FocusMetric, Item, Marker, Message

_MESSAGE_TYPES = (0, 1, 4, 2, 3)  # stored value of each IFrontend.MsgType_*
_VALUE_FIELDS = {
    IMetric.ValueKind_STRING: 1,
    IMetric.ValueKind_FLOAT: 2,
    IMetric.ValueKind_DOUBLE: 3,
    IMetric.ValueKind_UINT32: 4,
    IMetric.ValueKind_UINT64: 5,
}


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def whole(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number & (1 << 64) - 1)


def real(field: int, number: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", number)


def blob(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def text(field: int, value: str) -> bytes:
    return blob(field, value.encode("utf-8", "replace"))


def _focus_metric(message: Message, focus: FocusMetric) -> bytes:
    name, value, severity, info = focus
    return whole(1, message.number) + text(2, name) + real(3, value) + whole(4, severity) + text(5, info)


def _item(item: Item) -> bytes:
    if isinstance(item, bytes):  # a chart, already encoded as RuleResultBodyItem
        return item
    if isinstance(item, str):
        return blob(6, text(1, item))
    said = text(1, item.text) + whole(2, _MESSAGE_TYPES[item.kind]) + whole(3, item.number)
    out = blob(1, said + (b"" if item.title is None else text(4, item.title)))
    out += b"".join(blob(8, _focus_metric(item, focus)) for focus in item.focus_metrics)
    if item.speedup is not None:
        out += blob(10, whole(1, item.speedup[0] + 1) + real(2, item.speedup[1]))
    return out


def _marker(marker: Marker) -> bytes:
    note, where, kind, file_name, message_type = marker
    place = whole(2, where & 0xFFFFFFFF) if kind == IFrontend.MarkerKind_SOURCE else whole(3, where)
    return whole(1, kind) + place + text(4, note) + whole(5, _MESSAGE_TYPES[message_type]) + text(6, file_name)


def rule_result(identifier: str, name: str, section: str, items: Iterable[Item], markers: Iterable[Marker]) -> bytes:
    """Encode a RuleResult."""
    body = b"".join(blob(1, _item(item)) for item in items)
    return (
        text(1, identifier)
        + text(2, name)
        + (blob(3, body) if body else b"")
        + (text(4, section) if section else b"")
        + b"".join(blob(5, _marker(marker)) for marker in markers)
    )


def _value(kind: int, value: Any) -> bytes:
    """Encode a value of the type `kind` (IMetric.ValueKind_*)."""
    field = _VALUE_FIELDS[kind]
    if field == 1:
        return text(field, value)
    if field == 2:
        return varint(field << 3 | 5) + struct.pack("<f", value)
    return real(field, value) if field == 3 else whole(field, value)


def metric(added: IMutableMetric) -> bytes:
    """Encode a ProfileMetricResult without its name."""
    out = blob(2, _value(added.kind(), added.value())) if added.has_value() else b""
    keys = added.correlation_ids()
    for i in range(added.num_instances()):
        element = b""
        if keys is not None and keys.kind(i):
            element += blob(1, _value(keys.kind(i), keys.value(i)))
        if added.kind(i):
            out += blob(3, element + blob(2, _value(added.kind(i), added.value(i))))
    return out
