#!/usr/bin/env python3
# timeout: 120
"""`trace info --json` and `trace dump --json` of NVIDIA's reports: every value that an independent reader took from them
(SHARED/fixtures/ncu/expected.json). `trace check` and `trace export` open them, too.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import folder, main, tap, trace  # noqa: E402

FIXTURES = os.path.join(os.environ.get("SHARED") or "/nonexistent", "fixtures/ncu")
PLACE = folder()


class Differences(list):
    def same(self, what, found, wanted):
        if found != wanted:
            self.append(f"{what}: {found!r}, not {wanted!r}")


def printed(*words):
    done = trace(*words)
    if done.status != 0 or done.err:
        raise RuntimeError(f"{words}: {done.status} {done.err!r}")
    return done.out.decode()


def file_as_expected(info, sources, want):
    wrong = Differences()
    wrong.same("bytes", info["bytes"], want["size"])
    wrong.same("blocks", info["blocks"], len(want["blocks"]))
    wrong.same("results", info["results"], sum(block["res"] for block in want["blocks"]))
    wrong.same("problems", (info["problems"], info["bad_blocks"], info["torn_bytes"]), (0, 0, 0))
    details = info["details"]
    wrong.same("versions", [[v["provider"], v["version"]] for v in details["versions"]], want["versions"])
    wrong.same("devices", [[d["id"], d["name"], len(d["attributes"])] for d in details["device_attributes"]], want["devices"])
    wrong.same("command line", (details.get("command_line") or "").rstrip(), (want["cmdline"] or "").rstrip())
    wrong.same("creation", details["creation_time_s"], want["creation"])
    wrong.same("sources", [{"ref": s["reference"], "binary_bytes": s["binary_bytes"] or None, "sasslevel": s["sass_level"] or None,
                            "smrev": s["sm_revision"] or None, "functions": s["functions"]} for s in sources],
               [{"ref": s["ref"], "binary_bytes": s["binary_bytes"] or None, "sasslevel": s["sasslevel"] or None, "smrev": s["smrev"] or None,
                 "functions": s["functions"] or 0} for s in want["sources"]])
    return wrong


def kind_of(value):
    return {str: "str", int: "u64", float: "f64", type(None): "absent"}[type(value)]


def number(pair):
    return pair[1]


def metrics_as_expected(wrong, metrics, want):
    by_name = {}
    for metric in metrics:
        by_name.setdefault(metric["name"], metric)
    kinds = {}
    for metric in metrics:
        kind = kind_of(metric.get("value"))
        kinds[kind] = kinds.get(kind, 0) + 1
    # a double without digits behind the point is printed as a whole number: numbers are counted together
    numbers = sum(want["kinds"].get(k, 0) for k in ("u64", "f64"))
    wrong.same("metrics", len(metrics), want["metric_count"])
    wrong.same("kinds", (kinds.get("str", 0), kinds.get("absent", 0), kinds.get("u64", 0) + kinds.get("f64", 0)),
               (want["kinds"].get("str", 0), want["kinds"].get("absent", 0), numbers))
    wrong.same("instances", (sum("instances" in m for m in metrics), sum(len(m.get("instances", ())) for m in metrics)),
               (want["instanced"], want["instances_total"]))
    wrong.same("series", sum(m.get("category") == 1 for m in metrics), want["f4"].get("1", 0))
    for name, value in {**want["sample"], **want["strings_metrics"]}.items():
        wrong.same(name, by_name[name].get("value"), value)
    for example in want["instanced_examples"]:
        metric = by_name[example["name"]]
        wrong.same(example["name"], metric.get("value"), number(example["aggregate"]) if example["aggregate"] else None)
        wrong.same(example["name"], (len(metric["instances"]), metric["instances"][0], metric["instances"][-1]),
                   (example["count"], [number(p) for p in example["first"]], [number(p) for p in example["last"]]))


def rules_as_expected(wrong, rules, want):
    wrong.same("rules", [(r["identifier"], r["display_name"], r.get("section_identifier")) for r in rules], [(r["id"], r["name"], r["section"]) for r in want])
    for rule, wanted in zip(rules, want):
        items = rule.get("body", {}).get("items", [])
        messages = [item["message"] for item in items if "message" in item]
        wrong.same(f"messages of {wanted['id']}", [(m["type"], m.get("id"), m.get("name"), len(m["message"])) for m in messages],
                   [(m["type"], m["id"], m["title"], m["text_len"]) for m in wanted["messages"]])
        wrong.same(f"focus metrics of {wanted['id']}", sum(len(item.get("focus_metrics", ())) for item in items), wanted["focus_metrics"])
        speedups = [item["speedup"] for item in items if "speedup" in item]
        near = [abs(s["value"] - w[1]) < 1e-6 and s["speedup_type"] == w[0] for s, w in zip(speedups, wanted["speedups"])]
        wrong.same(f"speedups of {wanted['id']}", (len(speedups), all(near)), (len(wanted["speedups"]), True))
        wrong.same(f"markers of {wanted['id']}", len(rule.get("source_markers", ())), wanted["source_markers"])


def nvtx_as_expected(wrong, state, want):
    if want is None:
        wrong.same("NVTX", state, None)
        return
    wrong.same("domains", {str(d["id"]): d["name"] for d in state["domains"]}, want["domains"])
    threads = [{"tid": t["tid"], "stacks": {str(d["id"]): [r["name"] for r in d.get("stack", ())] for d in t["push_pop_domains"]}} for t in state["threads"]]
    wrong.same("stacks", threads, want["threads"])
    wrong.same("started ranges", [[d["id"], len(d.get("ranges", ()))] for d in state.get("start_end_domains", ())], want["start_end"])


def result_as_expected(found, want):
    wrong = Differences()
    fields = {"thread_id": "thread", "api_call_id": "api_call", "program_handle": "program", "kernel_id": "kernel_id", "kernel_mangled_name": "mangled",
              "kernel_function_name": "function", "kernel_demangled_name": "demangled", "creation_time": "creation", "context_id": "ctx", "stream_id": "stream"}
    for ours, theirs in fields.items():
        wrong.same(ours, found.get(ours), want[theirs])
    wrong.same("grid", [found["grid_size"][axis] for axis in "xyz"], want["grid"])
    wrong.same("block", [found["block_size"][axis] for axis in "xyz"], want["block"])
    wrong.same("source", found["source"]["reference"], want["source_ref"])
    wrong.same("sections", found["sections"], want["sections"])
    driver = found.get("display_driver_version")
    wrong.same("driver", driver and round(driver, 2), want["driver_f32"] and round(want["driver_f32"], 2))
    frames = found.get("cpu_stack", {}).get("frames")
    wrong.same("frames", frames and [f["func_name"] for f in frames], want["cpu_frames"])
    metrics_as_expected(wrong, found["metrics"], want)
    rules_as_expected(wrong, found.get("rule_results", []), want["rules"])
    nvtx_as_expected(wrong, found.get("nvtx"), want["nvtx"])
    return wrong


def values():
    path = os.path.join(FIXTURES, "expected.json")
    if not os.path.exists(path):
        tap.skip("values of the fixtures", "no fixtures")
        return
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
    for name, want in expected.items():
        report = os.path.join(FIXTURES, name)
        lines = [json.loads(line) for line in printed("dump", "--json", report).splitlines()]
        sources, results = [x for x in lines if "source" in x and "result" not in x], [x for x in lines if "result" in x]
        wrong = file_as_expected(json.loads(printed("info", "--json", report)), sources, want)
        tap.ok(not wrong and len(results) == len(want["results"]), f"{name}: blocks, versions, devices, modules", "\n".join(wrong[:20]))
        wrong = [f"{i} {line}" for i, (found, wanted) in enumerate(zip(results, want["results"])) for line in result_as_expected(found, wanted)]
        tap.ok(not wrong, f"{name}: {len(results)} results with all their values", "\n".join(wrong[:20]))
        tap.ok(len(printed("dump", report).splitlines()) == len(results), f"{name}: a line for each result")
        to = os.path.join(PLACE, "lines.json")
        printed("export", "-t", "json", "-f", "true", "-o", to, report)
        with open(to, encoding="utf-8") as file:
            tap.ok([json.loads(line) for line in file] == lines, f"{name}: exported as JSON")
        tap.ok(f"{len(results)} results" in printed("check", report), f"{name}: checked")
        cut_off(name, report)


def cut_off(name, report):
    """The last byte is missing: what is left is printed, and it is said."""
    short = os.path.join(PLACE, "short.ncu-rep")
    with open(report, "rb") as file, open(short, "wb") as copy:
        copy.write(file.read()[:-1])
    silent = [words for words in (("details",), ("details", "--page", "raw"), ("dump",), ("export", "-t", "json", "-o", "-"))
              if (done := trace(*words, short)).status != 1 or b"short.ncu-rep': the file is cut off" not in done.err]
    tap.ok(not silent, f"{name}, cut off: each command says so", silent)


if __name__ == "__main__":
    main(values)
