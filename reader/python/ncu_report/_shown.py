# SPDX-License-Identifier: Apache-2.0
"""The metrics that a section names, and their labels. Filters by device and scope are ignored, as in NVIDIA's module:
all metrics of the result are shown.
"""

from typing import Any, Dict, Iterator, List, Tuple

Fields = Dict[str, Any]  # a message of the report, as JSON
_METRICS = ("metrics", "metric", "base_name", "value_per_cycle_metrics", "cycles_per_second_metric")
_OTHERS = ("highlight_x", "timeline")  # messages whose metrics are not part of the section


def text_of(fields: Fields, name: str) -> str:
    """Return a text of a message; "" if the message has none of this name."""
    text: str = fields.get(name, "")
    return text


def shown(tree: Any) -> Iterator[Tuple[str, str]]:
    """Yield the name and label of each metric in a message or list of messages, in order."""
    for part in tree if isinstance(tree, list) else [tree]:
        for key, value in part.items() if isinstance(part, dict) else ():
            if key in _METRICS:
                metrics = value if isinstance(value, list) else [value]
                yield from ((of["name"], of.get("label", "")) for of in metrics if "name" in of)
            elif key not in _OTHERS:
                yield from shown(value)


def labels(sections: List[Fields]) -> Dict[str, str]:
    """Return {name: label} of the metrics that sections show. If several sections show a metric, the label of the
    section with the lowest order is used.
    """
    found: Dict[str, str] = {}
    for section in sorted(sections, key=lambda of: int(of.get("order", 0)), reverse=True):
        for part in ("body", "header"):
            found.update((name, label) for name, label in reversed(list(shown(section.get(part)))) if label)
    return found
