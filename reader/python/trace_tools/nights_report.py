# SPDX-License-Identifier: Apache-2.0
"""`trace nightly report`: the history of a benchmark as one HTML file with tables, plots (SVG), the nights where
something changed, and links to the evidence.
"""

from __future__ import annotations

import argparse
import html
import os
import statistics as plain
from typing import List, Tuple

import numpy

from . import Failure, functions, notify, store
from .profile import KINDS, Key, Profile
from .statistics import Reals
from .store import Row

Series = Tuple[Key, str]  # an item and the name of a metric
Points = List[Tuple[int, List[float]]]  # index of a night, the value of each of its runs

PLOTS = 12  # most plots of durations, of processor times, and of counts: of the items that take most of the time
TYPICAL, COUNT = "typical (ns)", "count"
LEAST_NIGHTS = 3  # nights on each side of a change point
SHUFFLES = 5000
BATCH = 100  # orders that are tested at once
MANY_NIGHTS = 500  # with more, a fifth of SHUFFLES
ALPHA = 0.05  # probability of a false change point anywhere in the history, over all items
WIDTH, HEIGHT, LEFT, TOP = 860, 160, 80, 12


def cpu_values(profiles: list[Profile], key: Key) -> tuple[str, list[float]]:
    """Return the processor time of an item in each run, or its number of samples if no time of theirs is known. A run
    with samples, but none of a function, has 0 of it.
    """
    items = [p.items.get(key) for p in profiles]
    metric = functions.CPU if any(i and i.cpu_ns for i in items) else functions.SAMPLES
    if key.kind != "function":
        return functions.CPU, [float(i.cpu_ns) for i in items if i and i.cpu_ns]
    return metric, [float(i.cpu_ns if metric == functions.CPU else i.count) if i else 0.0 for i in items]


def series_of(kept: store.Store, nights: list[Row]) -> dict[Series, Points]:
    """Return {(key, metric): [(index of the night, [value of each run])]}: typical times, processor times, counts."""
    found: dict[Series, Points] = {}
    sampled: dict[int, int] = {}  # index of a night with CPU samples: the number of its runs
    for index, n in enumerate(nights):
        profiles = kept.profiles(n["id"])
        functions.settle(profiles, [])
        if any(p.samples for p in profiles):
            sampled[index] = len(profiles)
        for key in set().union(*(p.items for p in profiles)) if profiles else ():
            items = [p.items[key] for p in profiles if key in p.items]
            typical = [i.typical_ns for i in items if i.typical_ns == i.typical_ns]
            metric, cpu = cpu_values(profiles, key)
            if typical:
                found.setdefault((key, TYPICAL), []).append((index, typical))
            if cpu:
                found.setdefault((key, metric), []).append((index, cpu))
            if key.kind not in ("function", "thread"):
                found.setdefault((key, COUNT), []).append((index, [i.count for i in items]))
    for (key, _), points in found.items():
        if key.kind == "function":
            absent = set(sampled) - {index for index, _ in points}
            points += [(index, [0.0] * sampled[index]) for index in absent]
            points.sort()
    return found


def weight(points: Points) -> float:
    return plain.median(plain.median(values) for _, values in points)


def chosen(found: dict[Series, Points]) -> list[tuple[Series, Points]]:
    """Choose the plots: the typical times of the heaviest processes, ranges and kernels, the largest processor times,
    and counts that ever changed.
    """
    times = [
        (k, p)
        for k, p in found.items()
        if k[1] == TYPICAL and k[0].kind in ("process", "range", "kernel", "copy", "startup")
    ]
    times.sort(key=lambda kp: -weight(kp[1]) * plain.median([weight(found[(kp[0][0], COUNT)])]))
    cpu = [(k, p) for k, p in found.items() if k[1] in (functions.CPU, functions.SAMPLES)]
    cpu.sort(key=lambda kp: (-weight(kp[1]), kp[0]))
    counts = [(k, p) for k, p in found.items() if k[1] == COUNT and len({v for _, values in p for v in values}) > 1]
    counts.sort(key=lambda kp: -weight(kp[1]))
    return times[:PLOTS] + cpu[:PLOTS] + counts[:PLOTS]


def split_statistics(orders: Reals) -> tuple[Reals, int]:
    """Return for each row the largest standardized distance of the means before and after a split, and the index of the
    split of the first row. All rows have the same values, in another order.
    """
    n = orders.shape[1]
    spread = orders[0].std()
    if not spread:
        return numpy.zeros(len(orders)), 0
    k = numpy.arange(LEAST_NIGHTS, n - LEAST_NIGHTS + 1)
    sums = numpy.cumsum(orders - orders[0].mean(), axis=1)[:, k - 1]
    apart = numpy.abs(sums) / (spread * numpy.sqrt(k * (n - k) / n))
    return apart.max(axis=1), int(k[apart[0].argmax()])


def is_split(ranks: Reals, clear: float, alpha: float, rng: numpy.random.Generator) -> bool:
    """Return whether at most a fraction alpha of random orders splits as clearly. Ends as soon as more of them do."""
    shuffles = SHUFFLES if 8 < len(ranks) <= MANY_NIGHTS else SHUFFLES // 5
    as_clear = 0
    for first in range(0, shuffles, BATCH):
        orders = rng.permuted(numpy.tile(ranks, (min(BATCH, shuffles - first), 1)), axis=1)
        as_clear += int((split_statistics(orders)[0] >= clear - 1e-9).sum())
        if (as_clear + 1) / (shuffles + 1) > alpha:
            return False
    return True


def ranks_of(values: list[float]) -> Reals:
    """Return the rank of each value; equal values share the mean of theirs."""
    _, place, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    ranks: Reals = (numpy.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def change_points(medians: list[float], alpha: float, rng: numpy.random.Generator) -> list[int]:
    """Find the nights where the level changed, in a list with one number per night. Split the list in two, and split
    each part again, as long as at most a fraction alpha of random orders of the nights splits as clearly. Works on
    ranks, so that one odd night is not a change.
    """

    def within(first: int, end: int) -> list[int]:
        if end - first < 2 * LEAST_NIGHTS:
            return []
        ranks = ranks_of(medians[first:end])
        (clear,), k = split_statistics(ranks[numpy.newaxis])
        if not clear or not is_split(ranks, float(clear), alpha, rng):
            return []
        return [*within(first, first + k), first + k, *within(first + k, end)]

    return within(0, len(medians))


def short_commit(night: Row) -> str:
    return (night["commit_id"] or "-")[:12]


def plot(nights: list[Row], points: Points, changes: list[int]) -> str:
    """Draw a series: a dot for the median of each night, a line from the least to the greatest run, a mark where the
    level changed.
    """
    values = [v for _, run in points for v in run]
    low, high = min(values), max(values)
    high = high if high > low else low + 1
    usual = sorted(values)[: max(1, int(len(values) * 0.98))]
    high = (
        max(usual[-1], plain.median(values) * 1.05) if high > 3 * usual[-1] else high
    )  # otherwise one very slow run would flatten all others

    def x(index: int) -> float:
        return LEFT + (WIDTH - LEFT - 10) * (index + 0.5) / max(len(nights), 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - 2 * TOP) * (1 - (min(value, high) - low) / (high - low))

    parts = [f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' height='{HEIGHT}' role='img'>"]
    for value in (low, (low + high) / 2, high):
        parts.append(
            f"<line x1='{LEFT}' x2='{WIDTH}' y1='{y(value):.1f}' y2='{y(value):.1f}' stroke='#ddd'/><text "
            f"x='{LEFT - 6}' y='{y(value) + 4:.1f}' text-anchor='end'>{value:,.0f}</text>"
        )
    for change in changes:
        parts.append(
            f"<line x1='{(x(change) + x(change - 1)) / 2:.1f}' x2='{(x(change) + x(change - 1)) / 2:.1f}' y1='0' "
            f"y2='{HEIGHT}' stroke='#b00020' stroke-dasharray='4 3' class='change'/>"
        )
    for index, run in points:
        night = nights[index]
        tip = html.escape(
            f"night {night['id']}, {night['begun']}, {short_commit(night)}: median {plain.median(run):,.0f}, "
            f"{min(run):,.0f} to {max(run):,.0f} in {len(run)} runs"
        )
        color = {"worse": "#b00020", "ok": "#1a5fb4"}.get(night["verdict"], "#888")
        parts.append(
            f"<g><title>{tip}</title><line x1='{x(index):.1f}' x2='{x(index):.1f}' y1='{y(min(run)):.1f}' "
            f"y2='{y(max(run)):.1f}' stroke='{color}'/>"
            f"<circle cx='{x(index):.1f}' cy='{y(plain.median(run)):.1f}' r='3' fill='{color}'/></g>"
        )
    return "".join(parts) + "</svg>"


def commit_cell(night: Row, url: str | None) -> str:
    """Return the commit of a night as HTML, a link if there is an address."""
    text = html.escape(short_commit(night))
    if not url or not night["commit_id"]:
        return text
    return f"<a href='{html.escape(url.replace('{commit}', night['commit_id']), quote=True)}'>{text}</a>"


def evidence(folder: str) -> list[str]:
    """Return the names of the files of a night that are for readers."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    first = [name for name in ("verdict.html", "verdict.txt", "verdict.json") if name in names]
    return first + [name for name in names if name.endswith(".svg") or name == "profile.pb.gz"]


def nights_table(nights: list[Row], folder: str, url: str | None) -> str:
    rows = []
    for n in nights:
        there = os.path.relpath(n["folder"], folder)
        links = [f"<a href='{html.escape(os.path.join(there, name))}'>{name}</a>" for name in evidence(n["folder"])]
        overhead = f"{100 * (n['overhead'] - 1):+.1f} %" if n["overhead"] else "-"
        cells = [
            str(n["id"]),
            n["begun"],
            n["verdict"] or n["state"],
            "yes" if n["is_baseline"] else "-",
            overhead,
            n["reason"] or "",
            n["notes"] or "",
        ]
        rows.append(
            f"<tr class='{(n['verdict'] or '').replace(' ', '-')}'>"
            + "".join(f"<td>{html.escape(c)}</td>" for c in cells[:2])
            + f"<td>{commit_cell(n, url)}</td>"
            + "".join(f"<td>{html.escape(c)}</td>" for c in cells[2:])
            + f"<td>{' '.join(links)}</td></tr>"
        )
    head = "".join(
        f"<th>{t}</th>"
        for t in (
            "Night",
            "Begun (UTC)",
            "Commit",
            "Verdict",
            "Baseline",
            "Overhead",
            "Reason",
            "Notes",
            "Evidence",
        )
    )
    return f"<table><tr>{head}</tr>\n" + "\n".join(reversed(rows)) + "</table>"


def title(key: Key, metric: str) -> str:
    return f"{KINDS[key.kind]} {key.path + '/' if key.path else ''}{key.name}: {metric}"


STYLE = (
    "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:2px 8px;border-bottom:1px "
    "solid #ccc;text-align:left;vertical-align:top}"
    "tr.worse td:nth-child(4){color:#b00020;font-weight:bold}svg "
    "text{font-size:11px;fill:#555}h3{font-size:14px;margin:1.2em 0 .2em}"
)


def page(given: argparse.Namespace, kept: store.Store, nights: list[Row], folder: str) -> str:
    count = f"{len(nights)} nights" if len(nights) <= given.last else f"the last {given.last} of {len(nights)} nights"
    nights = nights[-given.last :]
    found = chosen(series_of(kept, nights))
    rng = numpy.random.default_rng(1)
    moved, plots = [], []
    for (key, metric), points in found:
        at = change_points([plain.median(run) for _, run in points], ALPHA / max(len(found), 1), rng)
        for c in at:
            before, after = (
                plain.median(plain.median(run) for _, run in part)
                for part in (points[max(c - 5, 0) : c], points[c : c + 5])
            )
            moved.append((points[c][0], title(key, metric), before, after))
        plots.append(f"<h3>{html.escape(title(key, metric))}</h3>\n{plot(nights, points, [points[c][0] for c in at])}")
    lines = []
    for index, name, before, after in sorted(moved):
        n = nights[index]
        change = f"{100 * (after / before - 1):+.1f} %" if before else "from 0"
        lines.append(
            f"<li>night {n['id']} ({html.escape(n['begun'])}), commit {html.escape(short_commit(n))} after "
            f"{html.escape(short_commit(nights[index - 1]))}: "
            f"{html.escape(name)} {before:,.0f} &rarr; {after:,.0f} ({change})</li>"
        )
    return (
        f"<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>{html.escape(given.name)}</title><style>"
        f"{STYLE}</style></head>\n<body>\n"
        f"<h1>{html.escape(given.name)} on {html.escape(given.host)}</h1>\n<p>{count}</p>\n"
        "<h2>Changes</h2>\n"
        f"{'<ul>' + chr(10).join(lines) + '</ul>' if lines else '<p>no change</p>'}\n<h2>Nights</h2>"
        f"\n{nights_table(nights, folder, given.commit_url)}\n<h2>Plots</h2>\n"
        "<p>A dot is the median of the runs of a night, a line their range from minimum to "
        f"maximum.</p>\n{chr(10).join(plots)}\n</body></html>\n"
    )


def history(given: argparse.Namespace, kept: store.Store, nights: list[Row], output: str) -> None:
    """Write the history of a benchmark on a host."""
    text = page(given, kept, nights, os.path.dirname(os.path.abspath(output)))
    try:
        notify.replace(output, text)
    except OSError as error:
        raise Failure(f"cannot write '{output}': {error.strerror}") from None


def index(given: argparse.Namespace, kept: store.Store) -> str:
    """Write the history of each benchmark and host, and an index of them. Return its path."""
    by_place: dict[tuple[str, str], list[Row]] = {}
    for n in kept.nights():
        by_place.setdefault((n["benchmark"], n["host"]), []).append(n)
    if not by_place:
        raise Failure("no nights of any benchmark")
    output = given.output or os.path.join(given.folder, "index.html")
    rows = []
    for (benchmark, host), nights in sorted(by_place.items()):
        file = os.path.join(given.folder, benchmark, host, "history.html")
        os.makedirs(os.path.dirname(file), exist_ok=True)
        given.name, given.host = benchmark, host
        history(given, kept, nights, file)
        last = nights[-1]
        link = html.escape(os.path.relpath(file, os.path.dirname(os.path.abspath(output))))
        verdict = last["verdict"] or last["state"]
        cells = (host, verdict, last["begun"], short_commit(last), str(len(nights)), last["reason"] or "")
        rows.append(
            f"<tr class='{html.escape(verdict.replace(' ', '-'))}'>"
            f"<td><a href='{link}'>{html.escape(benchmark)}</a></td>"
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            + "</tr>"
        )
    titles = ("Benchmark", "Host", "Verdict", "Last Night (UTC)", "Commit", "Nights", "Reason")
    head = "".join(f"<th>{title_}</th>" for title_ in titles)
    text = (
        f"<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>Benchmarks</title><style>{STYLE}</style></head>\n"
        f"<body>\n<h1>Benchmarks</h1>\n<table><tr>{head}</tr>\n{chr(10).join(rows)}</table>\n</body></html>\n"
    )
    try:
        notify.replace(output, text)
    except OSError as error:
        raise Failure(f"cannot write '{output}': {error.strerror}") from None
    return output


def write(given: argparse.Namespace) -> int:
    kept = store.Store(given.store)
    if not given.name:
        print(index(given, kept))
        kept.close()
        return 0
    nights = kept.nights(given.name, given.host)
    if not nights:
        raise Failure(f"no nights of '{given.name}' on '{given.host}'")
    output = given.output or os.path.join(given.folder, given.name, given.host, "history.html")
    history(given, kept, nights, output)
    kept.close()
    print(output)
    return 0
