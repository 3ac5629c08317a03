#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check `trace info --json` and `trace dump --json` of NVIDIA's reports against every value that an independent reader took from them
(SHARED/fixtures/ncu/expected.json). `trace check`, `trace export` and `trace stats` open these reports, too, and agree.
"""
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import fixtures, folder, main, tap, trace  # noqa: E402
from libncu import Template, WORKLOADS, launch, write  # noqa: E402

FIXTURES = fixtures("ncu")
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
    # a double without a fraction is printed as an integer, so numbers of both kinds are counted together
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
        tap.ok(f"{len(results)} results" in printed("check", report), f"{name}: check counts its results")
        in_database(name, report, settled(results))
        as_statistics(name, report, settled(results))
        cut_off(name, report)


def value_in_tables(metric):
    """Return the value; that of a metric without one is 0 if its instances are numbers."""
    instances = metric.get("instances", ())
    return 0 if metric.get("value") is None and instances and isinstance(instances[0][1], (int, float)) else metric.get("value")


def wanted_metrics(results):
    """Return (result, name, value) of each metric, and (result, metric, key, value) of each instance, as the lines have them."""
    metrics = [(i, m["name"], value_in_tables(m)) for i, r in enumerate(results, 1) for m in r["metrics"]]
    instances = [(i, m["name"], *pair) for i, r in enumerate(results, 1) for m in r["metrics"] for pair in m.get("instances", ())]
    return metrics, instances


def findings(result):
    """Return the messages of rules, as the database has them."""
    for rule in result.get("rule_results", []):
        items = [x for x in rule.get("body", {}).get("items", []) if "message" in x or "speedup" in x]
        for item in items or [{}]:
            message = item.get("message", {})
            yield (rule["identifier"], rule["display_name"], rule.get("section_identifier"), message.get("name"), message.get("message"),
                   item.get("speedup", {}).get("value"))


def open_ranges(result):
    state = result.get("nvtx", {})
    for thread in state.get("threads", ()):
        for domain in thread["push_pop_domains"]:
            yield from (("PushPop", thread["tid"], depth, r["name"]) for depth, r in enumerate(domain.get("stack", ())))
    for domain in state.get("start_end_domains", ()):
        yield from (("StartEnd", r.get("start_tid", 0), None, r["name"]) for r in domain.get("ranges", ()))


def first_metric(result, name):
    return next((m.get("value") for m in result["metrics"] if m["name"] == name), None)


def shape(result):
    return tuple(result[size][axis] for size in ("grid_size", "block_size") for axis in "xyz")


def kernel_rows(results):
    """Return kernels as rows of nsys's table; a start is the second in which the result was created, or the end of the kernel before."""
    end = 0
    for result in results:
        duration = first_metric(result, "gpu__time_duration.sum")
        start = max(end, (result["creation_time"] - results[0]["creation_time"]) * 10**9)
        end = start + duration
        yield (start, end, result["kernel_demangled_name"] or result["kernel_function_name"], result["kernel_function_name"],
               result["kernel_mangled_name"], *shape(result), first_metric(result, "launch__registers_per_thread"), result["context_id"], result["stream_id"])


def settled(results):
    """Return the results with only the last metric of each name, as all commands but dump print them."""
    return [{**r, "metrics": [m for i, m in enumerate(r["metrics"]) if m["name"] not in {of["name"] for of in r["metrics"][i + 1:]}]} for r in results]


def in_database(name, report, results):
    """Check that the tables of the exported database have the values of `dump --json`, which was compared with the fixtures' own list."""
    to = os.path.join(PLACE, "results.sqlite")
    printed("export", "-t", "sqlite", "-f", "true", "-o", to, report)
    connection = sqlite3.connect(to)

    def rows(sql):
        return connection.execute(sql).fetchall()

    def table(name, sql):
        return rows(sql) if rows(f"SELECT 1 FROM sqlite_master WHERE name = '{name}'") else []

    wrong = Differences()
    metrics, instances = wanted_metrics(results)
    named = "FROM LIBTRACE_NCU_METRIC AS m JOIN StringIds AS s ON s.id = m.nameId"
    wrong.same("metrics", rows(f"SELECT m.resultId, s.value, m.value {named} ORDER BY m.id"), metrics)
    wrong.same("instances", rows(f"SELECT m.resultId, s.value, i.key, i.value {named} JOIN LIBTRACE_NCU_INSTANCE AS i ON i.metricId = m.id ORDER BY i.rowid"),
               instances)
    wrong.same("sections", rows("SELECT resultId, identifier FROM LIBTRACE_NCU_SECTION"),
               [(i, section) for i, r in enumerate(results, 1) for section in r["sections"]])
    wrong.same("rules", table("LIBTRACE_NCU_RULE", "SELECT resultId, identifier, name, section, title, message, speedup FROM LIBTRACE_NCU_RULE"),
               [(i, *f) for i, r in enumerate(results, 1) for f in findings(r)])
    wrong.same("ranges", table("LIBTRACE_NCU_RANGE", "SELECT resultId, style, globalTid & 0xffffff, depth, name FROM LIBTRACE_NCU_RANGE"),
               [(i, *f) for i, r in enumerate(results, 1) for f in open_ranges(r)])
    wrong.same("frames", table("LIBTRACE_NCU_FRAME", "SELECT resultId, symbol, address FROM LIBTRACE_NCU_FRAME"),
               [(i, f.get("func_name"), f["pc"]) for i, r in enumerate(results, 1) for f in r.get("cpu_stack", {}).get("frames", ())])
    names = [f"JOIN StringIds AS {column} ON {column}.id = k.{column}" for column in ("demangledName", "shortName", "mangledName")]
    wrong.same("kernels", rows("SELECT k.start, k.end, demangledName.value, shortName.value, mangledName.value, gridX, gridY, gridZ, blockX, blockY, blockZ, "
                               f"registersPerThread, contextId, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL AS k {' '.join(names)} ORDER BY k.rowid"),
               list(kernel_rows(results)))
    wrong.same("devices", rows("SELECT name, smCount FROM TARGET_INFO_GPU"), [(first_metric(results[0], "device__attribute_display_name"),
                                                                              first_metric(results[0], "device__attribute_multiprocessor_count"))])
    wrong.same("processes", rows("SELECT pid, globalPid FROM PROCESSES"), [(results[0]["pid"], 1 << 48 | results[0]["pid"] << 24)])
    wrong.same("integrity", rows("PRAGMA integrity_check"), [("ok",)])
    connection.close()
    tap.ok(not wrong, f"{name}: as a database", "\n".join(wrong[:5])[:4000])


def as_statistics(name, report, results):
    """Check `trace stats`: by default times by kernel, and each metric's sum, mean, minimum and maximum by kernel."""
    kernels = {}
    for result in results:
        kernels.setdefault(result["kernel_demangled_name"] or result["kernel_function_name"], []).append(result)
    done = trace("stats", "-f", "json", report)
    times = {row["Name"]: (row["Total Time (ns)"], row["Instances"]) for row in json.loads(done.out)[0]["rows"]}
    durations = {kernel: [first_metric(r, "gpu__time_duration.sum") for r in of] for kernel, of in kernels.items()}
    tap.ok(done.status == 0 and times == {kernel: (sum(d), len(d)) for kernel, d in durations.items()}, f"{name}: stats, times by kernel", done)
    values = {}
    for kernel, of in kernels.items():
        for metric in (m for r in of for m in r["metrics"] if isinstance(m.get("value"), (int, float))):
            values.setdefault((kernel, metric["name"]), []).append(metric["value"])
    rows = {(row["Name"], row["Metric"]): row for row in json.loads(printed("stats", "-f", "json", "-r", "ncu_metric_sum", report))}
    wrong = [(key, rows.get(key)) for key, v in values.items() if key not in rows or rows[key]["Values"] != len(v) or
             not all(near(rows[key][column], of) for column, of in (("Sum", sum(v)), ("Avg", sum(v) / len(v)), ("Min", min(v)), ("Max", max(v))))]
    tap.ok(values and not wrong and len(rows) == len(values), f"{name}: stats, {len(values)} metrics by kernel", wrong[:5])
    some = json.loads(printed("stats", "-f", "json", "-r", "ncu_metric_sum:base:metric=gpu__time*.sum", report))
    tap.ok({(r["Name"], r["Metric"]) for r in some} == {(r["kernel_function_name"], "gpu__time_duration.sum") for r in results},
           f"{name}: stats of some metrics, by the function's name", some)


def near(found, wanted):
    return abs(found - wanted) <= 1e-12 * abs(wanted)


def only_some_ranges():
    """Check that an NVTX filter selects results for statistics and databases, too, and that a filter that selects none is reported."""
    report = os.path.join(FIXTURES, "manual_nvtx.ncu-rep")
    if not os.path.exists(report):
        tap.skip("statistics of some NVTX ranges", "no fixtures")
        return
    done = trace("stats", "-f", "json", "--nvtx-include", "run_test/daxpy/", report)
    tap.ok([row["Instances"] for row in json.loads(done.out)[0]["rows"]] == [1], "statistics of the kernels in an NVTX range", done)
    none = trace("stats", "--nvtx-include", "nothing/", report)
    tap.ok(none.status == 0 and b"no kernel matches the NVTX filter" in none.err, "no kernel is in that range", none)


def cut_off(name, report):
    """Check a report without its last byte: the results before it are printed, and the damage is reported."""
    short = os.path.join(PLACE, "short.ncu-rep")
    with open(report, "rb") as file, open(short, "wb") as copy:
        copy.write(file.read()[:-1])
    into = ("-f", "true", "-o", os.path.join(PLACE, "short.sqlite"))
    silent = [words for words in (("details",), ("details", "--page", "raw"), ("dump",), ("export", "-t", "json", "-o", "-"), ("stats",), ("export", *into))
              if (done := trace(*words, short)).status != 1 or b"short.ncu-rep': the file is truncated" not in done.err]
    tap.ok(not silent, f"{name}, cut off: each command says so", silent)


def no_place_is_told():
    """Check that a format that cannot have results of Nsight Compute has nothing to export, in one line, and that formats with kernels have them."""
    if not os.path.isdir(FIXTURES):
        tap.skip("formats without a place for results", "no fixtures")
        return
    for name in ("manual_nvtx", "ex-gpu.s10"):
        report = os.path.join(FIXTURES, name + ".ncu-rep")
        count = sum("result" in json.loads(line) for line in printed("export", "-t", "json", "-o", "-", report).splitlines())
        for kind in ("folded", "speedscope", "nvtxt", "perfetto", "chrome", "firefox", "xplane"):
            done = trace("export", "-t", kind, "-o", "-", report)
            tap.ok(done.status == 2 and count and done.err.decode() == f"trace: '{report}': nothing to export as {kind}\n", f"{name}: {kind} has no place for {count} results", done.err)
        for kind in ("ncu", "json", "atp", "csv", "occupancy"):
            tap.ok(b"results" not in trace("export", "-t", kind, "-o", "-", report).err, f"{name}: {kind} has them")


def other_workloads():
    """Check results of ranges, command lists and graphs, which no fixture has: those of kernels are stored under the field numbers of these messages."""
    report = os.path.join(FIXTURES, "manual_nvtx.ncu-rep")
    if not os.path.exists(report):
        tap.skip("results of ranges, command lists and graphs", "no fixtures")
        return
    was = [json.loads(line) for line in printed("dump", "--json", report).splitlines()]
    was = [line for line in was if "result" in line]
    for workload in WORKLOADS:
        made, database = os.path.join(PLACE, workload + ".ncu-rep"), os.path.join(PLACE, workload + ".sqlite")
        Template(report).write_as(made, workload)
        now = [json.loads(line) for line in printed("dump", "--json", made).splitlines()]
        now = [line for line in now if "result" in line]
        parts = ("pid", "thread_id", "context_id", "nvtx", "sections", "metrics", "creation_time")
        tap.ok(len(was) == 3 and [[r.get(part) for part in parts] for r in now] == [[r.get(part) for part in parts] for r in was]
               and {r["workload"] for r in now} == {workload} and {r["workload"] for r in was} == {"kernel"}, f"{workload}: dump", now[:1])
        name = {"cmdlist": was[0]["kernel_function_name"]}.get(workload, workload)
        printed("export", "-t", "sqlite", "-f", "true", "-o", database, made)
        connection = sqlite3.connect(database)
        rows = connection.execute("SELECT workload, kernelId, gridX, value FROM LIBTRACE_NCU_RESULT JOIN StringIds AS s ON s.id = demangledName").fetchall()
        kernels = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'").fetchall()
        values = connection.execute("SELECT count(*) FROM LIBTRACE_NCU_METRIC").fetchall()
        connection.close()
        tap.ok(len(rows) == 3 and rows[0] == (workload, None, None, name) and kernels == [(0,)] and values == [(sum(len(r["metrics"]) for r in was),)],
               f"{workload}: rows of the database, none of kernels", (rows, kernels, values))
        info = json.loads(printed("info", "--json", made))
        tap.ok((info["results"], info[workload + "_results"]) == (0, 3), f"{workload}: info counts them", info)


def check_reads_messages():
    """Check that `trace check` reads the results, too: a report with a valid container can be damaged."""
    def checked(name, names, *launches):
        path = os.path.join(PLACE, name + ".ncu-rep")
        write(path, names, launches)
        done = trace("check", path)
        return done.status, (done.out + done.err).decode()

    names = []
    one, two = launch(names, {"m__x.sum": 3.0}), launch(names, {"m__x.sum": 3.0, "m__y.sum": 4.0})
    status, said = checked("sound", names, one, two)
    tap.ok(status == 0 and "2 blocks, 2 results" in said and "names of 3 metrics" in said, "check says what it has read of a sound report", said)
    status, said = checked("nameless", names[:1], one, two)
    tap.ok(status == 1 and "a metric of a result has a name that is in no string table at offset" in said, "a metric without a name is damage", said)
    status, said = checked("broken", names, one, two + b"\xff\xff")
    tap.ok(status == 1 and "cannot decode the message of a result at offset" in said, "a result that is not a message is damage", said)


if __name__ == "__main__":
    main(values, only_some_ranges, no_place_is_told, other_workloads, check_reads_messages)
