# SPDX-License-Identifier: Apache-2.0
"""What a night tells others: metrics for Prometheus as a text file, and a command of the user when it got worse."""

from __future__ import annotations

import os
import statistics
import subprocess

from .profile import Profile

HOOK_S = 60  # longest time of the command
HEAVIEST = 20  # items whose times are published


def label(text: str) -> str:
    """Escape the value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def labels(**values: str) -> str:
    return "{" + ",".join(f'{name}="{label(value)}"' for name, value in values.items()) + "}"


def item_lines(benchmark: str, host: str, profiles: list[Profile]) -> list[str]:
    """Return the median time of the heaviest processes, ranges, kernels and functions, in seconds per run."""
    found = []
    for key in set().union(*(p.items for p in profiles)) if profiles else ():
        if key.kind in ("process", "range", "kernel", "function"):
            items = [p.items[key] for p in profiles if key in p.items]
            ns = statistics.median(i.cpu_ns if key.kind == "function" else i.total_ns for i in items)
            found.append((ns, key))
    found.sort(key=lambda one: (-one[0], one[1]))
    return [
        "libtrace_nightly_item_seconds"
        + labels(benchmark=benchmark, host=host, kind=k.kind, program=k.program, path=k.path, name=k.name)
        + f" {ns / 1e9:.9g}"
        for ns, k in found[:HEAVIEST]
        if ns
    ]


def prometheus(benchmark: str, host: str, begun_s: float, verdict: int, worse: int, profiles: list[Profile]) -> str:
    """Return the metrics of a night in Prometheus's text format."""
    own = labels(benchmark=benchmark, host=host)
    metrics = (
        ("verdict", "Verdict of the last night: 0 ok, 1 worse, 2 cannot tell.", f"{verdict}"),
        ("begun_timestamp_seconds", "When the last night began.", f"{begun_s:.0f}"),
        ("runs", "Complete runs of the last night.", f"{len(profiles)}"),
        ("worse", "Metrics that got worse in the last night.", f"{worse}"),
    )
    lines = []
    for name, meaning, value in metrics:
        full = f"libtrace_nightly_{name}"
        lines += [f"# HELP {full} {meaning}", f"# TYPE {full} gauge", f"{full}{own} {value}"]
    items = item_lines(benchmark, host, profiles)
    if items:
        name = "libtrace_nightly_item_seconds"
        lines += [
            f"# HELP {name} Time of an item in a run, the median of the last night.",
            f"# TYPE {name} gauge",
            *items,
        ]
    return "\n".join(lines) + "\n"


def replace(path: str, text: str) -> None:
    """Write a file at once, so that no reader sees a part of it. Raises OSError."""
    new = f"{path}.{os.getpid()}.new"
    try:
        with open(new, "w", encoding="utf-8") as out:
            out.write(text)
        os.rename(new, path)
    except OSError:
        if os.path.exists(new):
            os.unlink(new)
        raise


def run_hook(command: str, facts: dict[str, str], text: str) -> str:
    """Run the user's command by the shell, with the facts of the night in its environment and the verdict as its input.
    Return what went wrong, or "".
    """
    environment = {**os.environ, **{f"NIGHTLY_{name}": value for name, value in facts.items()}}
    try:
        result = subprocess.run(
            ["/bin/sh", "-c", command],
            input=text.encode("utf-8", "replace"),
            env=environment,
            stdout=subprocess.DEVNULL,
            timeout=HOOK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the command of --on-worse: {error}"
    return f"the command of --on-worse ended with status {result.returncode}" if result.returncode else ""
