# SPDX-License-Identifier: Apache-2.0
"""A comparison as text, JSON, Markdown, JUnit XML and HTML."""

from __future__ import annotations

import html
import json
import math
import xml.etree.ElementTree as xml
from typing import Callable

from . import functions, sequential, terminal
from .compare import VERDICTS, WORSE, Comparison, Finding, title
from .profile import KINDS
from .samples import UNDISTURBED

TIMES = ("typical (ns)", UNDISTURBED)
CAUSES = 10  # most lines about causes
SHOWN = 40  # rows of a table that text, Markdown and HTML print unless all rows are requested


def number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:,.1f}"


def percent(ratio: float | None) -> str:
    if ratio is None or math.isnan(ratio):
        return "-"
    return "from 0" if math.isinf(ratio) else f"{100 * (ratio - 1):+.2f} %"


def interval(finding: Finding) -> str:
    if finding.exact:
        return "exact"
    return f"{percent(finding.interval[0])} .. {percent(finding.interval[1])}" if finding.interval else "-"


def noise(finding: Finding) -> str:
    return "-" if math.isnan(finding.floor) else "inf" if math.isinf(finding.floor) else f"{100 * finding.floor:.2f} %"


def result_text(finding: Finding) -> str:
    result = functions.TOO_FEW if finding.has_too_few() else finding.result
    return result + (f" ({finding.presence})" if finding.presence else "")


def metric_text(finding: Finding) -> str:
    """Return the metric; of a function with the number of samples of each side."""
    if not finding.samples:
        return finding.metric
    base, other = finding.samples
    return f"{finding.metric}, {base:,} and {other:,} samples"


COLUMNS = ("Result", "Kind", "NVTX Path", "Name", "Metric", "Base", "Other", "Change", "95 % Interval", "p", "Noise")


def row(f: Finding) -> tuple[str, ...]:
    path = f.key.path + (f" (was {f.formerly})" if f.formerly else "")
    return (
        result_text(f),
        KINDS[f.key.kind],
        path or "-",
        f.key.name + (f" at {f.lines}" if f.lines else ""),
        metric_text(f),
        number(f.base),
        number(f.other),
        percent(f.ratio) if not math.isnan(f.ratio) else percent(f.other / f.base if f.base else math.nan),
        interval(f),
        "-" if math.isnan(f.p) else f"{f.p:.2g}",
        noise(f),
    )


ORDER = {"worse": 0, "better": 1, "changed": 2}


def unseen(comparison: Comparison) -> list[Finding]:
    """Return the differences that are too small, compared with the spread of the runs, to be shown where there are too
    few runs for a test. A metric that is only in some runs of a side has no difference.
    """
    if comparison.decidable:
        return []
    return [
        f
        for f in comparison.findings
        if f.result not in ORDER
        and not f.presence
        and not f.stands_out
        and f.base != f.other
        and not math.isnan(f.base + f.other)
    ]


def unseen_lines(comparison: Comparison) -> list[str]:
    """Return the line about the differences that are not shown."""
    found = unseen(comparison)
    runs = min(len(comparison.base), len(comparison.other))
    what = "1 metric differs" if len(found) == 1 else f"{len(found):,} metrics differ"
    return [f"{what} by less than could be seen with {runs} runs a side; --all lists all"] if found else []


def chosen(comparison: Comparison, everything: bool) -> tuple[list[Finding], int]:
    """Return the findings to print: changed items, then new, vanished and renamed ones; with too few runs to decide,
    all differences that stand out from the spread of the runs.
    """
    changed = sorted(comparison.of("worse", "better", "changed"), key=lambda f: ORDER[f.result])
    rest = [f for f in comparison.findings if f.result not in ORDER]
    if not comparison.decidable:
        rest = [f for f in rest if everything or (f.base != f.other and (f.presence or f.stands_out))]
    elif not everything:
        rest = [f for f in rest if f.presence]
    found = changed + rest
    return found if everything else found[:SHOWN], 0 if everything else max(len(found) - SHOWN, 0)


def sensitivity(comparison: Comparison) -> list[Finding]:
    """Return the largest items, whose `floor` is the smallest detectable change."""
    known = [f for f in comparison.findings if not math.isnan(f.floor)]
    times = [f for f in known if f.metric in TIMES and f.key.kind in ("process", "range", "kernel")]
    sampled = sorted((f for f in known if f.samples), key=lambda f: -f.base)
    return sorted(times, key=lambda f: (f.key.kind != "process", -f.base))[:4] + sampled[:2]


def function_lines(comparison: Comparison) -> list[str]:
    """Return the line about functions: samples of both sides, and how many functions could be compared."""
    found = [f for f in comparison.findings if f.samples]
    if not found:
        return []
    base, other = (sum(p.samples for p in side) for side in (comparison.base, comparison.other))
    few = [f for f in found if f.has_too_few()]
    line = (
        f"functions: {base:,} base and {other:,} other CPU samples; {comparison.functions} of the metrics, with a "
        f"family-wise alpha of {comparison.options.alpha:g} of their own"
    )
    if not few:
        return [line]
    shown = [f"{f.key.name} ({f.samples[0]:,} and {f.samples[1]:,})" for f in few if f.samples][:3]
    return [f"{line}; too few samples of {len(few)}: {', '.join(shown)}{', ...' * (len(few) > len(shown))}"]


def floor_text(f: Finding, least: float) -> str:
    """Return the smallest change of a metric that can be detected, at least `least` percent."""
    return f"{title(f.key)}, {f.metric.removesuffix(' (ns)')}: {max(100 * f.floor, least):.{int(f.floor < 0.1)}f} %"


def head(comparison: Comparison) -> list[str]:
    """Return the lines above the table."""
    lines = [
        f"verdict: {VERDICTS[comparison.verdict]}: {comparison.reason}",
        f"runs: {len(comparison.base)} base, {len(comparison.other)} other; {comparison.tested} metrics compared, "
        f"family-wise alpha {comparison.options.alpha:g}, time differences of at least "
        f"{100 * comparison.options.min_effect:g} %",
    ]
    lines += [
        f"{'differs, critical: ' if d.refuses else 'differs: '}{d.name}: {d.base} -> {d.other}"
        for d in comparison.differences
    ]
    lines += [f"machine: {'; '.join(comparison.machine)}"] if comparison.machine else []
    known = [f for f in comparison.of("worse", "better") if f.cause]
    lines += [f"cause: {title(f.key)}, {f.metric} {percent(f.ratio)}: {f.cause}" for f in known[:CAUSES]]
    lines += [f"{side} run '{path}': {text}" for side, path, text in comparison.problems]
    lines += [f"note: {note}" for note in comparison.notes]
    lines += function_lines(comparison)
    floors = sensitivity(comparison)
    if floors:
        least = 100 * comparison.options.min_effect
        lines.append(
            "smaller changes than these cannot be detected: " + "; ".join(floor_text(f, least) for f in floors)
        )
    lines += unseen_lines(comparison)
    planned = sequential.plan_text(comparison, sequential.SEE)
    if planned and comparison.verdict != WORSE:
        lines.append(planned)
    sampled = sequential.samples_text(comparison, sequential.SEE)
    if sampled and comparison.verdict != WORSE:
        lines.append(sampled)
    return lines


def filled(findings: list[Finding], room: int | None) -> list[str]:
    """Return the lines of a table without the columns that hold "-" in each row."""
    rows = [row(f) for f in findings]
    kept = [i for i, cells in enumerate(zip(*rows)) if any(cell != "-" for cell in cells)]
    numbers = {n for n, i in enumerate(kept) if i >= COLUMNS.index("Base")}
    return terminal.table(
        tuple(COLUMNS[i] for i in kept), [tuple(cells[i] for i in kept) for cells in rows], numbers, room
    )


def text(comparison: Comparison, everything: bool, room: int | None = None) -> str:
    """Return lines of at most `room` characters."""
    lines = [part for line in head(comparison) for part in terminal.wrapped(line, room, "  ")]
    findings, left_out = chosen(comparison, everything)
    if findings:
        lines += ["", *filled(findings, room)]
    if left_out:
        lines.append(f"{left_out} more; use --all to print them")
    return "\n".join(lines) + "\n"


def finite(value: float | None) -> float | str | None:
    return (
        value if value is not None and math.isfinite(value) else None if value is None or math.isnan(value) else "inf"
    )


def as_json(comparison: Comparison, everything: bool) -> str:
    del everything  # output for programs is always complete
    return json_of(comparison, comparison.findings)


def json_of(comparison: Comparison, chosen: list[Finding]) -> str:
    """Return a comparison with some of its findings."""
    findings = [
        {
            "result": f.result,
            "why": f.why or None,
            "cause": f.cause or None,
            "presence": f.presence or None,
            "formerly": f.formerly or None,
            "kind": f.key.kind,
            "program": f.key.program,
            "path": f.key.path,
            "name": f.key.name,
            "lines": f.lines or None,
            "metric": f.metric,
            "samples": f.samples,
            "base": finite(f.base),
            "other": finite(f.other),
            "ratio": finite(f.ratio),
            "interval": [finite(x) for x in f.interval] if f.interval else None,
            "p": finite(f.p),
            "noise_floor": finite(f.floor),
            "exact": f.exact,
            "impact_ns": finite(f.impact_ns),
        }
        for f in chosen
    ]
    return (
        json.dumps(
            {
                "verdict": VERDICTS[comparison.verdict],
                "exit_status": comparison.verdict,
                "reason": comparison.reason,
                "alpha": comparison.options.alpha,
                "min_effect": comparison.options.min_effect,
                "tested": comparison.tested,
                "functions": {
                    "tested": comparison.functions,
                    "samples": [sum(p.samples for p in side) for side in (comparison.base, comparison.other)],
                },
                "base": [p.path for p in comparison.base],
                "other": [p.path for p in comparison.other],
                "differences": [d._asdict() for d in comparison.differences],
                "problems": [{"side": s, "path": p, "text": t} for s, p, t in comparison.problems],
                "notes": comparison.notes,
                "machine": comparison.machine,
                "plan": [
                    {"kind": f.key.kind, "path": f.key.path, "name": f.key.name, "metric": f.metric, "runs": runs}
                    for f, runs in sequential.plans(comparison, sequential.SEE, comparison.options.alpha)
                ],
                "samples_plan": [
                    {"path": f.key.path, "name": f.key.name, "samples": needed}
                    for f, needed in sequential.samples_planned(comparison, sequential.SEE, comparison.options.alpha)
                ],
                "findings": findings,
            },
            indent=1,
        )
        + "\n"
    )


def markdown(comparison: Comparison, everything: bool) -> str:
    def cell(value: str) -> str:
        return value.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")

    first, *rest = head(comparison)
    lines = [
        f"### trace diff: {cell(VERDICTS[comparison.verdict])}",
        "",
        cell(first.partition(": ")[2].partition(": ")[2]),
        "",
    ] + [f"- {cell(line)}" for line in rest]
    findings, left_out = chosen(comparison, everything)
    if findings:
        lines += ["", "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * 5 + "---:|" * 6]
        lines += ["| " + " | ".join(cell(c) for c in row(f)) + " |" for f in findings]
    if left_out:
        lines += ["", f"{left_out} more."]
    return "\n".join(lines) + "\n"


def xml_text(value: str) -> str:
    """Remove control characters, which XML cannot store."""
    return "".join(
        c if c in "\t\n" or (c >= " " and c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff") else "\ufffd"
        for c in value
    )


def junit(comparison: Comparison, everything: bool) -> str:
    del everything
    few = [f for f in comparison.of("undecided") if not math.isnan(f.p)]
    tested = [f for f in comparison.findings if f.result != "undecided"] + few
    suite = xml.Element(
        "testsuite",
        name="trace diff",
        tests=str(len(tested) + 1),
        failures=str(len(comparison.of("worse"))),
        errors=str(int(comparison.verdict == 2)),
        skipped=str(len(few)),
    )
    if comparison.machine:
        facts = xml.SubElement(suite, "properties")
        xml.SubElement(facts, "property", name="machine", value=xml_text("; ".join(comparison.machine)))
    whole = xml.SubElement(suite, "testcase", classname="trace.diff", name="comparable")
    if comparison.verdict == 2:
        xml.SubElement(whole, "error", message=xml_text(comparison.reason))
    for f in tested:
        name = f"{f.key.path}/{f.key.name}" if f.key.path else f.key.name
        case = xml.SubElement(
            suite, "testcase", classname=f"trace.diff.{f.key.kind}", name=xml_text(f"{name}: {f.metric}")
        )
        if f.result == "undecided":
            xml.SubElement(case, "skipped", message=xml_text(f.why))
        if f.result == "worse":
            failure = xml.SubElement(
                case,
                "failure",
                message=xml_text(
                    f"{number(f.base)} -> {number(f.other)}, {percent(f.ratio)}{'; ' * bool(f.cause)}{f.cause}"
                ),
            )
            failure.text = xml_text(", ".join(f"{c}: {v}" for c, v in zip(COLUMNS, row(f))))
    tree = xml.Element("testsuites")
    tree.append(suite)
    xml.indent(tree)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(tree, encoding="unicode") + "\n"


STYLE = (
    "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:2px 8px;border-bottom:1px "
    "solid #ccc;text-align:left}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}tr.worse "
    "td:first-child{color:#b00020;font-weight:bold}tr.better td:first-child{color:#00701a}"
)


def as_html(comparison: Comparison, everything: bool) -> str:
    findings, left_out = chosen(comparison, everything)
    esc = html.escape
    rows = "".join(
        f"<tr class='{f.result}'>"
        + "".join(f"<td{' class=n' if i > 4 else ''}>{esc(c)}</td>" for i, c in enumerate(row(f)))
        + "</tr>\n"
        for f in findings
    )
    table = (
        "<table><tr>" + "".join(f"<th>{esc(c)}</th>" for c in COLUMNS) + f"</tr>\n{rows}</table>" if findings else ""
    )
    lines = "".join(f"<p>{esc(line)}</p>\n" for line in head(comparison))
    more = f"<p>{left_out} more.</p>" if left_out else ""
    return (
        "<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>trace diff: "
        f"{VERDICTS[comparison.verdict]}</title><style>{STYLE}</style></head>\n<body>\n"
        f"{lines}{table}{more}</body></html>\n"
    )


FORMATS: dict[str, Callable[[Comparison, bool], str]] = {
    "text": text,
    "json": as_json,
    "markdown": markdown,
    "junit": junit,
    "html": as_html,
}
