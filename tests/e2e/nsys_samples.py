#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the statistics and exports of CPU samples on databases of nsys, against the tables themselves."""
import collections
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import fixtures, folder, main, tap, trace  # noqa: E402
from libwire import fields, one  # noqa: E402

PATH = os.path.join(fixtures("nsys"), "nvtx_sampling-2023.3.1.sqlite")
PLACE = folder()


def rows(name, *more):
    return list(csv.DictReader(io.StringIO(trace("stats", "-r", name, "-f", "csv", *more, PATH).out.decode())))


def tables():
    """Return {sample: [(function, module), ... the innermost first]} and {sample: tid}."""
    db = sqlite3.connect(PATH)
    chains = collections.defaultdict(list)
    for number, symbol, module in db.execute("SELECT f.id, s.value, m.value FROM SAMPLING_CALLCHAINS f JOIN StringIds s ON s.id = f.symbol JOIN StringIds m ON m.id = f.module "
                                             "ORDER BY f.id, f.stackDepth"):
        chains[number].append((symbol, module))
    threads = dict(db.execute("SELECT id, globalTid & 16777215 FROM COMPOSITE_EVENTS"))
    db.close()
    return chains, threads


def statistics():
    chains, threads = tables()
    found = {int(r["TID"]): int(r["Samples"]) for r in rows("cpu_sum")}
    tap.ok(found == collections.Counter(threads.values()), "cpu_sum", found)
    leaves = collections.Counter((re.sub("^0x.*", "[no symbol]", name), module) for name, module in (frames[0] for frames in chains.values()))
    found = {(r["Name"], r["Module"]): int(r["Self Samples"]) for r in rows("cpu_by_function") if int(r["Self Samples"])}
    tap.ok(found and all(leaves[key] == count for key, count in found.items()) and sum(found.values()) >= 0.95 * len(chains), "cpu_by_function", (found, leaves))
    flat = collections.Counter()
    for r in rows("callchain_flat", "--source", "cpu"):
        flat[r["Name"]] += int(r["Self Calls"])
    named = collections.Counter(frames[0][0] for frames in chains.values())
    wrong = {name: (flat[name], count) for name, count in named.items() if not re.match("0x|\\[", name) and flat[name] != count}
    tap.ok(sum(flat.values()) == len(chains) and not wrong, "callchain_flat --source cpu counts the samples, since nsys has no time of them", wrong)
    tree = rows("callchain_tree", "--source", "cpu")
    tap.ok(sum(int(r["Self Calls"]) for r in tree) == len(chains), "callchain_tree --source cpu", tree[:2])


def exports():
    chains, threads = tables()
    wanted = collections.Counter(threads[number] for number in chains)
    folded = collections.Counter()
    for line in trace("export", "-t", "folded", "--source", "cpu", "-o", "-", PATH).out.decode().splitlines():
        path, _, count = line.rpartition(" ")
        folded[int(re.search(r"\((\d+)\)$", path.split(";")[1]).group(1))] += int(count)
    tap.ok(folded == wanted, "folded: samples by thread", (folded, wanted))
    speedscope = json.loads(trace("export", "-t", "speedscope", "--source", "cpu", "-o", "-", PATH).out)
    sampled = {p["name"]: sum(p["weights"]) for p in speedscope["profiles"] if p["type"] == "sampled"}
    tap.ok(sorted(sampled.values()) == sorted(wanted.values()), "speedscope: a profile for each thread", sampled)
    pprof = fields(trace("export", "-t", "pprof", "--source", "cpu", "-o", "-", PATH).out)
    tap.ok(sum(fields(sample)[2][0][0] for sample in pprof[2]) == len(chains), "pprof", len(pprof[2]))
    path = os.path.join(PLACE, "p.perfetto-trace")
    trace("export", "-t", "perfetto", "-o", path, PATH)
    with open(path, "rb") as file:
        packets = [fields(packet) for packet in fields(file.read())[1]]
    found = collections.Counter(one(fields(packet[66][0]), 3) for packet in packets if packet[66])
    tap.ok(found == collections.Counter(threads.values()), "perfetto: samples of their threads", found)


def addresses():
    """Check that a frame has its name in the database, also with an address that only Python frames of a report have."""
    path = os.path.join(PLACE, "addresses.sqlite")
    shutil.copy(PATH, path)
    db = sqlite3.connect(path)
    db.execute("UPDATE SAMPLING_CALLCHAINS SET originalIP = CASE symbol % 4 WHEN 0 THEN 0 WHEN 1 THEN -1 WHEN 2 THEN 4611686018427387904 + symbol "
               "ELSE 9223372036854775807 END")
    db.commit()
    db.close()
    plain, changed = (trace("export", "-t", "folded", "--source", "cpu", "-o", "-", each).out.decode().splitlines() for each in (PATH, path))
    names = [collections.Counter(name for line in lines for name in line.rpartition(" ")[0].split(";")) for lines in (plain, changed)]
    tap.ok(names[0] and names[0].keys() == names[1].keys(), "names do not depend on addresses", list(names[0].keys() ^ names[1].keys())[:8])


def switches():
    """Check that context switches of databases are events, with what the database knows of them."""
    db = sqlite3.connect(PATH)
    wanted = db.execute("SELECT globalTid & 16777215, start, cpu, isSchedIn FROM SCHED_EVENTS ORDER BY globalTid, start, rowid").fetchall()
    db.close()
    lines = [json.loads(line) for line in trace("dump", "--kind", "sched_switch", "--json", PATH).out.splitlines()]
    found = collections.defaultdict(list)
    for line in lines:
        found[line["tid"]].append((line["tid"], line["time_ns"], line["cpu"], line["is_in"]))
    tap.ok(wanted and [row for tid in sorted(found) for row in found[tid]] == wanted, "dump: the switches of each thread, in their order", (len(lines), len(wanted)))
    tap.ok(all(line.get("state") is None and line.get("how") is None for line in lines), "what the database does not say is unknown", lines[:1])
    said = trace("info", PATH).out.decode()
    tap.ok(re.search(f"sched_switch.* {len(wanted)}|{len(wanted)}.* sched_switch", said), "info counts them", said)


def account():
    """Check that what needs the threads' account says so."""
    for source in ("wall", "offcpu"):
        result = trace("export", "-t", "folded", "--source", source, "-o", "-", PATH)
        tap.ok(result.status == 2 and not result.out and b"nothing to export" in result.err, f"--source {source}: nothing, in one line", result)


if os.path.exists(PATH):
    main(statistics, exports, addresses, switches, account)
else:
    tap.skip("samples of nsys", "no fixtures")
    tap.finish()
