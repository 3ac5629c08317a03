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
        """The text that it was begun with."""
        return self._name

    def has_attributes(self) -> bool:
        """Was it begun with attributes: category, colour, payload, message?"""
        return self._attributes is not None

    def _of(self, group: str, field: str, otherwise: Union[str, int, None]) -> Any:
        """Return a field of a group of the attributes; its type is that of the JSON value."""
        return (self._attributes or {}).get(group, {}).get(field, otherwise)

    def category(self) -> int:
        """The number of its category; 0: none."""
        number: int = (self._attributes or {}).get("category", 0)
        return number

    def color(self) -> int:
        """0xAARRGGBB; 0: none."""
        argb: int = self._of("color", "color", 0)
        return argb

    def message(self) -> str:
        """The text of its attributes."""
        text: str = self._of("message", "message", "")
        return text

    def payload_type(self) -> int:
        """One of PayloadType_*."""
        kind: int = self._of("payload", "payload_type", 0)
        return min(kind, self.PayloadType_PAYLOAD_JSON)

    def _payload(self) -> Union[str, int, float, None]:
        kind: int = self._of("payload", "payload_type", 0)
        value: Union[str, int, float, None] = None
        if 0 < kind < len(_VALUES):
            value = self._of("payload", _VALUES[kind], None)
        return value

    def payload_as_uint64(self) -> int:
        """The payload as a whole number; 0 where it is none."""
        value = self._payload()
        return int(value) & (1 << 64) - 1 if isinstance(value, (int, float)) else 0

    def payload_as_double(self) -> float:
        """The payload as a real number; 0.0 where it is none."""
        value = self._payload()
        return float(value) if isinstance(value, (int, float)) else 0.0

    def payload_as_string(self) -> str:
        """The payload if it is a text, else ""."""
        value = self._payload()
        return value if isinstance(value, str) else ""

    def __str__(self) -> str:
        """The name."""
        return self._name


class INvtxDomainInfo:
    """What was open in a domain: the stack of the launching thread, and the ranges of start and end."""

    def __init__(self, name: str, stack: List[Dict[str, Any]], ranges: List[Dict[str, Any]]) -> None:
        self._name, self._stack, self._ranges = name, stack, ranges

    def name(self) -> str:
        """Its name; the default domain is "<default domain>"."""
        return self._name

    def push_pop_ranges(self) -> Tuple[str, ...]:
        """Names of the pushed ranges, the outermost first."""
        return tuple(r.get("name", "") for r in self._stack)

    def push_pop_range(self, idx: int) -> Optional[INvtxRange]:
        """A pushed range; None: there are fewer."""
        return INvtxRange(self._stack[idx]) if 0 <= idx < len(self._stack) else None

    def start_end_ranges(self) -> Tuple[str, ...]:
        """Names of the started ranges."""
        return tuple(r.get("name", "") for r in self._ranges)

    def start_end_range(self, idx: int) -> Optional[INvtxRange]:
        """A started range; None: there are fewer."""
        return INvtxRange(self._ranges[idx]) if 0 <= idx < len(self._ranges) else None

    def __str__(self) -> str:
        """The name."""
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
        """The numbers of the domains."""
        return tuple(self._domains)

    def domain_by_id(self, id: int) -> Optional[INvtxDomainInfo]:
        """The domain with that number, or None."""
        return self._domains.get(id)

    def __len__(self) -> int:
        """How many domains there are."""
        return len(self._domains)

    def __iter__(self) -> Iterator[int]:
        """The numbers of the domains."""
        return iter(self.domains())

    def __getitem__(self, key: int) -> INvtxDomainInfo:
        """The domain with that number.

        Raises KeyError where there is none, TypeError for what is no int."""
        if not isinstance(key, int):
            raise TypeError(f"INvtxState IDs must be integers, not {type(key).__name__}")
        if key not in self._domains:
            raise KeyError(f"INvtxState has no domain {key}")
        return self._domains[key]
