# SPDX-License-Identifier: Apache-2.0
"""Answer the questions of scripts/gpu-validate.py in words, from the facts that tests/cuda/libprobe.c writes."""

from __future__ import annotations

import collections
import os
import statistics
from typing import Any, Dict

Fact = Dict[str, Any]  # a line that libprobe.c wrote


def of(facts: list[Fact], *names: str) -> list[Fact]:
    return [fact for fact in facts if fact["fact"] in names]


def first(facts: list[Fact], name: str) -> Fact:
    return (of(facts, name) or [{}])[0]


def injection(facts: list[Fact]) -> str:
    callers = sorted({os.path.basename(fact["caller"]) for fact in of(facts, "getenv")})
    return (
        f"InitializeInjection of the preloaded library was called {len(of(facts, 'injection'))} time(s); "
        'getenv("CUDA_INJECTION64_PATH") was called through the PLT by: ' + (", ".join(callers) or "none")
    )


def subscribe(facts: list[Fact]) -> str:
    done, fork, after = first(facts, "subscribe"), first(facts, "fork"), first(facts, "after_subscribe")
    count_result = after.get("device_count_result")
    state = "initialized" if count_result == 0 else "not initialized" if count_result == 3 else f"result {count_result}"
    return (
        f"result {done.get('result')} after {done.get('ns', 0) / 1e6:.2f} ms; the driver is {state} then; cuInit "
        f"in a child forked then: {fork.get('cuInit')}"
    )


def launch(facts: list[Fact]) -> str:
    launches = collections.Counter(
        (fact["name"], fact["cbid"]) for fact in of(facts, "call") if fact["domain"] == 2 and "aunch" in fact["name"]
    )
    internal = sorted({fact["name"] for fact in of(facts, "call") if fact["name"].startswith("__cuda")})
    outer, same, own = None, 0, 0
    for fact in of(facts, "call"):
        if fact["depth"] == 0:
            outer = fact
        elif outer:
            same, own = (
                same + (fact["correlation"] == outer["correlation"]),
                own + (fact["correlation"] != outer["correlation"]),
            )
    seen = ", ".join(f"{name} (cbid {cbid}) x{count}" for (name, cbid), count in launches.items())
    return (
        f"{seen or 'none'}; calls of __cuda*: {', '.join(internal) or 'none'}; nested calls: {same} with the "
        f"outer correlation id, {own} with their own"
    )


# The size in bytes of each kind of record in the headers of CUPTI 13.0, which the tracer expects of that version.
DECLARED = {1: 96, 2: 88, 4: 40, 5: 40, "kernel": 216, 22: 96, 25: 104, 36: 56, "sync": 56}


def records(facts: list[Fact]) -> str:
    steps: collections.defaultdict[Any, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    for fact in facts:
        if "step" in fact:
            steps[fact.get("kind", fact["fact"])][fact["step"]] += 1
    sizes = "; ".join(
        f"{kind}: " + ", ".join(f"{step} B x{count}" for step, count in sorted(counter.items()))
        for kind, counter in sorted(steps.items(), key=str)
    )
    other = sorted(
        str(kind) for kind, counter in steps.items() if kind in DECLARED and set(counter) != {DECLARED[kind]}
    )
    streams = sorted({(fact["context"], fact["stream"]) for fact in of(facts, "resource") if fact["cbid"] == 3})
    syncs = sorted({(fact["type"], fact["stream"], fact["event"]) for fact in of(facts, "sync")})
    kernel = first(facts, "kernel")
    return (
        f"sizes of records: {sizes}. Sizes that CUPTI 13.0 does not declare: {', '.join(other) or 'none'}. (context, "
        f"stream) ids: {streams}. Synchronizations (type, stream, event): {syncs}. "
        "First kernel: "
        f"{', '.join(f'{name} {kernel[name]}' for name in kernel if name not in ('fact', 'start', 'end'))}"
    )


def clock(facts: list[Fact]) -> str:
    clock = first(facts, "clock")
    calls: dict[int, list[int]] = {}
    for fact in of(facts, "api"):
        calls.setdefault(fact["correlation"], []).append(fact["start"])
    delays = [
        fact["start"] - min(calls[fact["correlation"]]) for fact in of(facts, "kernel") if fact["correlation"] in calls
    ]
    zero = sum(not fact["start"] or fact["end"] < fact["start"] for fact in of(facts, "kernel"))
    late = [fact for fact in of(facts, "flush") if fact["records"]]
    between = clock.get("realtime_before", 0) <= clock.get("cupti", -1) <= clock.get("realtime_after", 0)
    text = (
        f"cuptiGetTimestamp is {'' if between else 'not '}CLOCK_REALTIME; callback: result "
        f"{first(facts, 'timestamp_callback').get('result')}; {zero} kernels with impossible timestamps"
    )
    if delays:
        text += (
            f"; from call to start of kernel: minimum {min(delays)} ns, median {statistics.median(delays):.0f} ns, "
            f"{sum(delay < 0 for delay in delays)} negative"
        )
    return (
        text
        + "; flushes that delivered records: "
        + (", ".join(f"{fact['where']} {fact['records']} in {fact['ns'] / 1e6:.2f} ms" for fact in late) or "no flush")
    )


def kinds(facts: list[Fact]) -> str:
    refused = [f"{fact['kind']}: {fact['result']}" for fact in of(facts, "kind") if fact["result"]]
    slow = max(of(facts, "kind"), key=lambda fact: fact["ns"], default={"kind": 0, "ns": 0})
    moved = sum(fact["kind"] == 25 for fact in of(facts, "record"))
    return (
        f"refused (kind: result): {', '.join(refused) or 'none'}; slowest to enable: kind {slow['kind']}, "
        f"{slow['ns'] / 1e6:.2f} ms; "
        f"unified memory: configuration for all devices {first(facts, 'unified_memory_all_devices').get('result')}, "
        f"for the first one {first(facts, 'unified_memory_config').get('result')}, {moved} records"
    )


def graphs(facts: list[Fact]) -> str:
    events = of(facts, "graph")
    created = {fact["node"]: fact["graph"] for fact in events if fact["cbid"] == 13}
    cloned = {fact["node"]: fact["original_node"] for fact in events if fact["cbid"] == 20}
    ran = collections.Counter(fact["graph_node"] for fact in of(facts, "kernel") if fact["graph_node"])
    return (
        f"{len(created)} nodes created, {len(cloned)} cloned, "
        f"{sum(original in created for original in cloned.values())} of these from a created one; kernels ran for "
        f"{len(ran)} node ids: {sum(node in cloned for node in ran)} of clones, "
        f"{sum(node in created for node in ran)} of created ones; "
        f"callbacks: {dict(collections.Counter(fact['cbid'] for fact in events))}"
    )
