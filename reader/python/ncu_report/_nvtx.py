# SPDX-License-Identifier: Apache-2.0
"""The NVTX ranges that were open when a result was measured."""

from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

_VALUES = ("", "ull_value", "ll_value", "double_value", "u_value", "i_value", "f_value", "str_value", "str_value")


class INvtxRange:
    """A range of push and pop, or of start and end."""

    (
        PayloadType_PAYLOAD_UNKNOWN,
        PayloadType_PAYLOAD_UINT64,
        PayloadType_PAYLOAD_INT64,
        PayloadType_PAYLOAD_DOUBLE,
        PayloadType_PAYLOAD_UINT32,
        PayloadType_PAYLOAD_INT32,
        PayloadType_PAYLOAD_FLOAT,
        PayloadType_PAYLOAD_JSON,
    ) = range(8)

    def __init__(self, fields: Dict[str, Any]) -> None:
        self._name: str = fields.get("name", "")
        self._attributes: Optional[Dict[str, Any]] = fields.get("attributes")

    def name(self) -> str:
        """Return the text that the range was started with."""
        return self._name

    def has_attributes(self) -> bool:
        """Return whether the range was started with attributes: category, color, payload, message."""
        return self._attributes is not None

    def _of(self, group: str, field: str, otherwise: Union[str, int, None]) -> Any:
        """Return a field of a group of the attributes; its type is that of the JSON value."""
        return (self._attributes or {}).get(group, {}).get(field, otherwise)

    def category(self) -> int:
        """Return the number of its category; 0 = none."""
        number: int = (self._attributes or {}).get("category", 0)
        return number

    def color(self) -> int:
        """Return the color as 0xAARRGGBB; 0 = none."""
        argb: int = self._of("color", "color", 0)
        return argb

    def message(self) -> str:
        """Return the text of its attributes."""
        text: str = self._of("message", "message", "")
        return text

    def payload_type(self) -> int:
        """Return one of PayloadType_*."""
        kind: int = self._of("payload", "payload_type", 0)
        return min(kind, self.PayloadType_PAYLOAD_JSON)

    def _payload(self) -> Union[str, int, float, None]:
        kind: int = self._of("payload", "payload_type", 0)
        value: Union[str, int, float, None] = None
        if 0 < kind < len(_VALUES):
            value = self._of("payload", _VALUES[kind], None)
        return value

    def payload_as_uint64(self) -> int:
        """Return the payload as a whole number; 0 if it is not a number."""
        value = self._payload()
        return int(value) & (1 << 64) - 1 if isinstance(value, (int, float)) else 0

    def payload_as_double(self) -> float:
        """Return the payload as a real number; 0.0 if it is not a number."""
        value = self._payload()
        return float(value) if isinstance(value, (int, float)) else 0.0

    def payload_as_string(self) -> str:
        """Return the payload if it is a text, else ""."""
        value = self._payload()
        return value if isinstance(value, str) else ""

    def __str__(self) -> str:
        """Return the name."""
        return self._name


class INvtxDomainInfo:
    """The ranges open in a domain: the stack of the launching thread, and start/end ranges."""

    def __init__(self, name: str, stack: List[Dict[str, Any]], ranges: List[Dict[str, Any]]) -> None:
        self._name, self._stack, self._ranges = name, stack, ranges

    def name(self) -> str:
        """Return its name; the default domain is "<default domain>"."""
        return self._name

    def push_pop_ranges(self) -> Tuple[str, ...]:
        """Return the names of the pushed ranges, the outermost first."""
        return tuple(r.get("name", "") for r in self._stack)

    def push_pop_range(self, idx: int) -> Optional[INvtxRange]:
        """Return a pushed range; None if there is none with this index."""
        return INvtxRange(self._stack[idx]) if 0 <= idx < len(self._stack) else None

    def start_end_ranges(self) -> Tuple[str, ...]:
        """Return the names of the started ranges."""
        return tuple(r.get("name", "") for r in self._ranges)

    def start_end_range(self, idx: int) -> Optional[INvtxRange]:
        """Return a started range; None if there is none with this index."""
        return INvtxRange(self._ranges[idx]) if 0 <= idx < len(self._ranges) else None

    def __str__(self) -> str:
        """Return the name."""
        return self._name


class INvtxState:
    """The NVTX ranges that were open when a result was measured, by domain."""

    def __init__(self, state: Dict[str, Any], thread_id: int) -> None:
        self._domains: Dict[int, INvtxDomainInfo] = {}
        stacks = {
            d.get("id", 0): d.get("stack", [])
            for t in state.get("threads", [])
            if t.get("tid") == thread_id
            for d in t.get("push_pop_domains", [])
        }
        ranges = {d.get("id", 0): d.get("ranges", []) for d in state.get("start_end_domains", [])}
        for domain in state.get("domains", []):
            number = domain.get("id", 0)
            self._domains[number] = INvtxDomainInfo(
                domain.get("name", ""), stacks.get(number, []), ranges.get(number, [])
            )

    def domains(self) -> Tuple[int, ...]:
        """Return the numbers of the domains."""
        return tuple(self._domains)

    def domain_by_id(self, id: int) -> Optional[INvtxDomainInfo]:
        """Return the domain with this number, or None."""
        return self._domains.get(id)

    def __len__(self) -> int:
        """Return the number of domains."""
        return len(self._domains)

    def __iter__(self) -> Iterator[int]:
        """Return the numbers of the domains."""
        return iter(self.domains())

    def __getitem__(self, key: int) -> INvtxDomainInfo:
        """Return the domain with this number.

        Raises KeyError if there is none, TypeError if the key is not an int."""
        if not isinstance(key, int):
            raise TypeError(f"INvtxState IDs must be integers, not {type(key).__name__}")
        if key not in self._domains:
            raise KeyError(f"INvtxState has no domain {key}")
        return self._domains[key]
