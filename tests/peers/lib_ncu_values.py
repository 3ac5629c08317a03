# SPDX-License-Identifier: Apache-2.0
"""Print every value that a module ncu_report returns for a report, as JSON lines: [path, value].

It is run once for each module that is compared: ours, that of an installed Nsight Compute, and that of PyPI. It calls only the methods that the module has,
so there is no line for a method that a release does not have.
"""
import enum
import json
import sys

import ncu_report

INSTANCES = 64  # how many instances of a metric are printed at each end; reports have up to millions
out = sys.stdout


def plain(value):
    """Return a value that JSON prints with its type: 1 and 1.0 differ, and so do None and ""."""
    if isinstance(value, dict):
        return {str(key): plain(of) for key, of in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(of) for of in value]
    if isinstance(value, enum.Enum):
        return repr(int(value))
    return repr(value)


def show(path, value):
    out.write(json.dumps([path, plain(value)]) + "\n")


def ask(path, of, name, *arguments):
    """Call a method, print its result, and return it."""
    method = getattr(of, name, None)
    if method is None:
        return None
    try:
        found = method(*arguments)
    except Exception as error:
        found = None
        show([*path, name], f"raises {type(error).__name__}")
        return None
    if isinstance(found, (str, int, float, type(None), dict, bool)):
        show([*path, name], found)
    return found


def ends(count):
    return list(range(count)) if count <= 2 * INSTANCES else [*range(INSTANCES), *range(count - INSTANCES, count)]


def metric(path, m):
    for name in ("name", "label", "metric_type", "metric_subtype", "rollup_operation", "unit", "kind", "has_value", "as_double", "as_uint64", "as_string",
                 "num_instances", "has_correlation_ids", "value", "__str__"):
        ask(path, m, name)
    count = m.num_instances()
    picked = ends(count)
    show([*path, "instances"], [[m.kind(i), m.value(i), m.as_double(i), m.as_uint64(i), m.as_string(i)] for i in picked])
    keys = m.correlation_ids()
    if keys is not None:
        show([*path, "keys"], [keys.num_instances()] + [[keys.kind(i), keys.value(i)] for i in ends(keys.num_instances())])
    return [keys.value(i) for i in picked] if keys is not None else []


def rule(path, r):
    for name in ("rule_identifier", "name", "section_identifier", "has_rule_message", "has_speedup_estimation"):
        ask(path, r, name)
    for name, has in (("rule_message", r.has_rule_message()), ("speedup_estimation", r.has_speedup_estimation())):
        if has:
            ask(path, r, name)
    for name in ("focus_metrics", "result_tables"):
        if hasattr(r, name):
            show([*path, name], getattr(r, name)())


def nvtx(path, state):
    if state is None:
        return
    for key in state.domains():
        domain = state.domain_by_id(key)
        ask([*path, str(key)], domain, "name")
        for stack in ("push_pop", "start_end"):
            ranges = getattr(domain, stack + "_ranges")()
            show([*path, str(key), stack], list(ranges))
            for i in range(len(ranges)):
                r = getattr(domain, stack + "_range")(i)
                for name in ("name", "has_attributes", "category", "color", "payload_type", "payload_as_uint64", "payload_as_double", "payload_as_string", "message"):
                    ask([*path, str(key), stack, str(i)], r, name)


def action(path, a):
    for name in ("workload_type", "__str__", "__len__"):
        ask(path, a, name)
    for base in ("FUNCTION", "DEMANGLED", "MANGLED"):
        show([*path, "name", base], a.name(getattr(a, "NameBase_" + base)))
    names = list(a.metric_names())
    show([*path, "metric_names"], names)
    places = set()
    for name in names:
        keys = metric([*path, "metric", name], a[name])
        places.update(key for key in keys if isinstance(key, int) and key > 1 << 32)
    for place in sorted(places)[:4096]:
        found = a.source_info(place)
        show([*path, "source_info", hex(place)], found and [found.file_name(), found.line()])
        show([*path, "ptx_by_pc", hex(place)], a.ptx_by_pc(place))
    if hasattr(a, "source_files"):
        show([*path, "source_files"], dict(a.source_files()))
    nvtx([*path, "nvtx"], a.nvtx_state())
    if hasattr(a, "rule_results"):
        for i, r in enumerate(a.rule_results()):
            rule([*path, "rule", str(i)], r)
        show([*path, "rule_results_as_dicts"], a.rule_results_as_dicts())
    if hasattr(a, "source_markers"):
        show([*path, "source_markers"], a.source_markers())
    if hasattr(a, "timed_warp_samples"):
        show([*path, "timed_warp_samples"], a.timed_warp_samples()[:INSTANCES])
    if hasattr(a, "sections"):
        for i, section in enumerate(a.sections()):
            of = [*path, "section", str(i)]
            for name in ("identifier", "description", "name", "parent_identifier", "order"):
                ask(of, section, name)
            for name in ("header_metrics", "body_metrics"):
                show([*of, name], [m.name() for m in getattr(section, name)()])
            show([*of, "rules"], [r.rule_identifier() for r in section.rules()])
    if hasattr(a, "timelines"):
        lines = a.timelines()
        show([*path, "timelines"], lines is not None)
        for name in names if lines is not None else []:
            aligned = lines.aligned_metric(a[name])
            show([*path, "aligned", name], aligned is not None)
            if aligned is not None:
                metric([*path, "aligned", name], aligned)


def main():
    report = ncu_report.load_report(sys.argv[1])
    show(["num_ranges"], report.num_ranges())
    for r, of in enumerate(report):
        show([f"range {r}", "num_actions"], of.num_actions())
        for i, a in enumerate(of):
            action([f"range {r}", f"action {i}"], a)


def interface():
    """Print the names in the module and in its classes, and the values of constants. Leave out the names that SWIG adds."""
    for name in sorted(vars(ncu_report)):
        of = getattr(ncu_report, name)
        if name.startswith("_") or name[:6] in ("vector", "map_st", "set_st", "set_ul") or name.startswith("Swig"):
            continue
        if isinstance(of, int):
            show([name], int(of))
        elif isinstance(of, type) and of.__module__.startswith("ncu_report"):
            for inner in sorted(dir(of)):
                constant = getattr(of, inner)
                if not inner.startswith("_") and inner not in ("this", "thisown", *dir(int)):
                    show([name, inner], int(constant) if isinstance(constant, int) else "method")
        elif callable(of):
            show([name], "function")


interface() if sys.argv[1] == "--interface" else main()
