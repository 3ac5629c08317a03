# SPDX-License-Identifier: Apache-2.0
"""What a night keeps besides its verdict: the profile of its median run for pprof, and pictures (SVG, without scripts)
of a night that is worse: flame graphs that show the difference from the baseline, and the history of what got worse.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import html
import os
import re
import shutil
import tempfile
from typing import Iterator

from . import Failure, convert, functions, nights_report, notify
from .compare import TYPICAL, Comparison, Finding
from .profile import Key
from .store import Row, Store

# Files of a night with these beginnings are not pruned.
KEPT = ("verdict.", "profile.")
PROFILE = "profile.pb.gz"
# Sources of `trace export` that are drawn, where the reports have them.
SOURCES = {
    "cpu": "processor time, by CPU samples",
    "offcpu": "time in which threads waited or had no processor",
    "wall": "all time of the threads, with kernels of GPUs below their launches",
}
ITEMS = 5  # most items whose history is drawn
NIGHTS = 60  # of the history
WIDTH, ROW, TOP, CHARACTER = 1200, 17, 46, 6.6
LEAST_WIDTH = 0.4  # narrower frames are not drawn
DEPTH = 200  # frames of a stack that are drawn; those that they call are one frame
DEEPER = "[deeper frames]"
NUMBER = re.compile(r" \(\d+\)$")  # pid or tid behind the name of a process or thread
STYLE = "text{font:11px monospace;fill:#222}rect{stroke:#fff;stroke-width:.5}.title{font:14px sans-serif}"


@dataclasses.dataclass
class Node:
    """A function below its callers: its weight in both runs, with what it calls."""

    base: int = 0
    other: int = 0
    inner: dict[str, Node] = dataclasses.field(default_factory=dict)
    is_cut: bool = False  # of the outermost: some stacks are deeper than DEPTH


@contextlib.contextmanager
def exported(report: str, kind: str, source: str) -> Iterator[str | None]:
    """Export a report to a temporary file; None if it has nothing of the source."""
    with tempfile.TemporaryDirectory(prefix="trace-pictures-") as folder:
        path = os.path.join(folder, "out")
        try:
            convert.run(["export", "-t", kind, "--source", source, "-f", "true", "-o", path, "--", report], path)
        except Failure:
            path = ""
        yield path or None


def tree_of(folded: list[list[str]]) -> Node:
    """Return the tree of the lines of two folded files. Processes and threads lose their numbers, which differ between
    runs. Frames beyond DEPTH are one, so that the tree can be walked by recursion.
    """
    root, is_cut = Node(), False
    for is_other, lines in enumerate(folded):
        for line in lines:
            stack, weight = line.rsplit(" ", 1)
            names = stack.split(";")
            names[:2] = [NUMBER.sub("", name) for name in names[:2]]
            if len(names) > DEPTH:
                names[DEPTH:], is_cut = [DEEPER], True
            node, ns = root, int(weight)
            for name in ["all", *names]:
                node = node.inner.setdefault(name, Node())
                if is_other:
                    node.other += ns
                else:
                    node.base += ns
    outermost = root.inner.get("all", Node())
    outermost.is_cut = is_cut
    return outermost


def own_difference(node: Node) -> int:
    """Return the difference of a function without what it calls."""
    return node.other - node.base - sum(child.other - child.base for child in node.inner.values())


def color(node: Node, scale: float) -> str:
    """Return red for a function that grew itself and blue for one that shrank; `scale` is the largest difference."""
    share = max(-1.0, min(1.0, own_difference(node) / scale)) if scale else 0.0
    pale = round(238 - 150 * abs(share))
    return f"#ee{pale:02x}{pale:02x}" if share > 0 else f"#{pale:02x}{pale:02x}ee" if share < 0 else "#eeeeee"


def seconds(ns: float) -> str:
    return f"{ns / 1e9:,.4g} s"


def change(node: Node) -> str:
    if not node.base:
        return "new"
    return f"{100 * (node.other / node.base - 1):+.1f} %"


def frames(name: str, node: Node, x: float, y: int, scale: float, whole: int) -> Iterator[tuple[int, str]]:
    """Yield (bottom, SVG) of a frame and what it calls. Its width is its share of the second run."""
    width = (WIDTH - 20) * node.other / whole
    if width < LEAST_WIDTH:
        return
    tip = f"{name}: {seconds(node.base)} -> {seconds(node.other)} ({change(node)}), {100 * node.other / whole:.1f} %"
    room = int((width - 4) / CHARACTER)
    shown = name if len(name) <= room else name[: room - 2] + ".." if room > 4 else ""
    text = f"<text x='{x + 2:.1f}' y='{y + 12}'>{html.escape(shown)}</text>" if shown else ""
    yield (
        y + ROW,
        f"<g><title>{html.escape(tip)}</title><rect x='{x:.1f}' y='{y}' width='{width:.2f}' height='{ROW - 1}' "
        f"fill='{color(node, scale)}'/>{text}</g>",
    )
    for inner, child in sorted(node.inner.items()):
        yield from frames(inner, child, x, y + ROW, scale, whole)
        x += (WIDTH - 20) * child.other / whole


def largest_difference(node: Node) -> int:
    return max([abs(own_difference(node)), *(largest_difference(child) for child in node.inner.values())])


def flame(root: Node, what: str) -> str:
    """Draw the tree of a run with the differences from another."""
    drawn = list(frames("all", root, 10.0, TOP, float(largest_difference(root)), max(root.other, 1)))
    height = max((bottom for bottom, _ in drawn), default=TOP) + 10
    title = f"{what}: {seconds(root.base)} -> {seconds(root.other)} ({change(root)})"
    if root.is_cut:
        title += f"; stacks deeper than {DEPTH} frames are cut"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}'>"
        f"<style>{STYLE}</style><rect width='{WIDTH}' height='{height}' fill='#fff'/>"
        f"<text class='title' x='10' y='20'>{html.escape(title)}</text>"
        "<text x='10' y='38'>widths: the night; red: more than in the baseline, blue: less; median runs</text>"
        f"{''.join(svg for _, svg in drawn)}</svg>\n"
    )


def difference(base: str, other: str, source: str) -> str | None:
    """Return the flame graph of two reports; None if one of them has nothing of the source."""
    lines = []
    for report in (base, other):
        with exported(report, "folded", source) as path:
            if not path:
                return None
            with open(path, encoding="utf-8", errors="replace") as file:
                lines.append(file.read().splitlines())
    return flame(tree_of(lines), SOURCES[source])


def series_of(f: Finding, found: dict[nights_report.Series, nights_report.Points]) -> tuple[Key, str] | None:
    """Return the series that shows a finding best."""
    wanted = ((f.key, metric) for metric in (f.metric, TYPICAL, functions.CPU, functions.SAMPLES))
    return next((series for series in wanted if series in found), None)


def histories(kept: Store, nights: list[Row], comparison: Comparison) -> list[str]:
    """Return the history of each of the first items that got worse, as SVG."""
    nights = nights[-NIGHTS:]
    width, height = nights_report.WIDTH, nights_report.HEIGHT
    found = nights_report.series_of(kept, nights)
    series = [series_of(f, found) for f in comparison.of("worse")]
    drawn = []
    for one in list(dict.fromkeys(s for s in series if s))[:ITEMS]:
        title = html.escape(nights_report.title(*one))
        svg = nights_report.plot(nights, found[one], [])
        inner = svg[svg.index(">") + 1 : -len("</svg>")]
        drawn.append(
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 -30 {width} {height + 30}' "
            f"width='{width}' height='{height + 30}'><style>{STYLE}</style>"
            f"<rect y='-30' width='100%' height='100%' fill='#fff'/><text class='title' x='10' y='-10'>{title}</text>"
            f"{inner}</svg>\n"
        )
    return drawn


def draw(kept: Store, nights: list[Row], comparison: Comparison, reports: tuple[str, str], folder: str) -> list[str]:
    """Write the pictures of a night that is worse into its folder. reports: the median runs of the baseline and of the
    night. Return the names of the files. Raises OSError.
    """
    written = []
    for source in SOURCES:
        svg = difference(*reports, source) if all(map(os.path.exists, reports)) else None
        if svg:
            written.append((f"verdict.{source}.svg", svg))
    for number, svg in enumerate(histories(kept, nights, comparison), 1):
        written.append((f"verdict.history-{number}.svg", svg))
    for name, svg in written:
        notify.replace(os.path.join(folder, name), svg)
    return [name for name, _ in written]


def keep_profile(report: str, folder: str) -> bool:
    """Write the profile of a run, compressed: of its CPU samples, else of its calls. Return whether the report has
    either. Raises OSError.
    """
    for source in ("cpu", "osrt"):
        with exported(report, "pprof", source) as path:
            if not path:
                continue
            with open(path, "rb") as file, gzip.open(os.path.join(folder, PROFILE), "wb") as out:
                shutil.copyfileobj(file, out)
            return True
    return False
