#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""Compare the GPU's part of `trace why` with the critical path that Holistic Trace Analysis (HTA) computes of the same capture, which it reads from our Chrome JSON, unchanged.

HTA takes the longest path through a graph of its own; `trace why` walks back from the end. Where they differ, HTA's graph is corrected by the rules of docs/why-peers.md, which
are applied to all of it or to what our path uses: the time between calls counts, and links that it lacks are added, each by a rule that names its kind. HTA's own search must
then find our operations, in our order: a difference that the rules do not explain fails. Rules that take over links of ours would take over wrong ones, too, so the links of each
program are known here, from its source, and so are the rules that it needs, and for how many links. `FIGURES=1` prints the table of that page. VIEWERS: see viewers.py. Captures are of the
simulated device, and databases that nsys wrote on real ones."""
import collections
import json
import os
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import libdevice as device  # noqa: E402
import viewers  # noqa: E402
from _paths import path_of  # noqa: E402
from lib import Report, fixtures, folder, main, tap, trace  # noqa: E402

# Print HTA's events and the ends of its path; with a file of what our path says, the operations of the path of its graph, corrected by sets of rules. Times are in ns.
HTA = """
import bisect, itertools, json, logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
import networkx
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
graph, _ = analysis.critical_path_analysis(rank=0, annotation="", instance_id=None)
frame, names, first = analysis.t.get_trace(0), analysis.t.symbol_table.get_sym_table(), analysis.t.min_ts
ids = [int(i) for i in frame.index if i in graph.event_to_start_node_map and names[frame.loc[i, "cat"]] != "cuda_sync"]
events = {i: [round((r.ts + first) * 1000), round(r.dur * 1000), int(r.stream), int(r.tid), names[r["name"]], int(r.index_correlation), int(r.pid)]
          for i, r in frame.loc[ids].iterrows()}
nodes = [(int(n.ev_idx), bool(n.is_start)) for n in graph.node_list]  # with those of waits, which have no edges
edges = {(nodes[u], nodes[v]): (round(graph.edges[u, v]["weight"] * 1000), graph.edges[u, v]["object"].type.name) for u, v in graph.edges}
into = {}
for u, v in edges:
    into.setdefault((v, edges[u, v][1]), []).append(u)

def at(node):
    return events[node[0]][0] + (0 if node[1] else events[node[0]][1])

def operations(path):
    return [u[0] for u, v in zip(path, path[1:]) if u[0] == v[0] and u[1] and not v[1] and events[u[0]][2] >= 0]

def gaps(made):
    for (u, v), (_, kind) in edges.items():
        if kind == "DEPENDENCY":
            waits = sum(max(0, min(at(v), end) - max(at(u), start)) for tid, start, end in ours["waits"] if tid == events[u[0]][3])
            made[u, v] = max(at(v) - at(u) - waits, 0)

def last(made):
    before = {}
    for i in sorted((i for i in ids if events[i][2] >= 0), key=lambda i: events[i][0]):
        start, ns, stream, _, _, call, pid = events[i]
        synced = into.get(((i, True), "SYNC_DEPENDENCY"), [])
        for kind in ("KERNEL_LAUNCH_DELAY", "KERNEL_KERNEL_DELAY"):
            for u in into.get(((i, True), kind), ()):
                del made[u, (i, True)]
        begun = call in events and (at((call, False)) if at((call, False)) <= start else at((call, True)))
        previous = before.get((pid, stream))
        links = [(at(u), 1, u) for u in synced] + ([(at(previous), 2, previous)] if previous and at(previous) <= start else []) + ([(begun, 0, (call, True))] if call in events else [])
        if links and max(links)[2] not in synced:
            made[max(links)[2], (i, True)] = start - at(max(links)[2])
        if not previous or at((i, False)) >= at(previous):
            before[pid, stream] = (i, False)

def waits(made):
    works = sorted((at((i, False)), i) for i in ids if events[i][2] >= 0)
    own = {events[i][5]: events[i] for _, i in works}
    for i in (i for i in ids if events[i][2] < 0):
        start, end, name = at((i, True)), at((i, False)), events[i][4]
        is_wait = end - start >= 10000 and ("Synchronize" in name or "Memcpy" in name and "Async" not in name)
        synced = [u[0] for u in into.get(((i, False), "SYNC_DEPENDENCY"), ())]
        during = works[bisect.bisect_right(works, (start, 1 << 60)):bisect.bisect_right(works, (end, 1 << 60))] if is_wait else []
        streams = {(events[w][6], events[w][2]) for w in synced} or {(own[i][6], own[i][2])} if synced or i in own else None
        ended = [w for _, w in during if streams is None or (events[w][6], events[w][2]) in streams]
        for u in into.get(((i, False), "OPERATOR_KERNEL"), ()):
            made[u, (i, False)] = 0 if ended else end - at(u)
        for u in into.get(((i, False), "SYNC_DEPENDENCY"), ()):
            del made[u, (i, False)]
        if ended:
            made[(ended[-1], False), (i, False)] = end - at((ended[-1], False))

def links(made):
    for source, target, weight in ours["links"]:
        source, target = tuple(source), tuple(target)
        if events[target[0]][2] >= 0:  # the last one of the operation
            for e in [e for e in made if e[1] == target]:
                del made[e]
        made[source, target] = weight
    for event in ours["woken"]:
        for u in into.get(((event, False), "OPERATOR_KERNEL"), ()):
            made[u, (event, False)] = 0

if len(sys.argv) > 2:
    ours, found = json.load(open(sys.argv[2])), []
    rules = [gaps, last, waits, links]
    for chosen in (c for n in range(len(rules) + 1) for c in itertools.combinations(rules, n)):
        made = {e: weight for e, (weight, _) in edges.items()}
        for rule in chosen:
            rule(made)
        whole = networkx.DiGraph()
        whole.add_weighted_edges_from((u, v, weight) for (u, v), weight in made.items())
        found.append([[rule.__name__ for rule in chosen], operations(networkx.dag_longest_path(whole, weight="weight"))])
        if found[-1][1] == ours["works"]:
            break
    print(json.dumps(found))
else:
    print(json.dumps({"events": events, "works": operations([nodes[n] for n in graph.critical_path_nodes]), "edges": list(edges)}))
"""
# Run HTA's other analyses of one rank. Prints the error of each, "" = none.
OTHERS = """
import json, logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis, ran = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True), {}
for name in ("temporal_breakdown", "idle_time_breakdown", "gpu_kernel_breakdown", "comm_comp_overlap", "cuda_kernel_launch_stats", "memory_bw_summary", "queue_length_summary"):
    try:
        getattr(analysis, "get_" + name)(**({} if name.endswith("summary") else {"visualize": False}))
        ran[name] = ""
    except Exception as error:
        ran[name] = repr(error)
print(json.dumps(ran))
"""
TRIES = 4  # a thread of a busy machine may launch so late that its stream waits for it
SYNCED = [("main cudaLaunchKernel", "kernel scale"), ("kernel scale", "main waking up from cudaStreamSynchronize"), ("main cudaMemcpy", "[CUDA memcpy Device-to-Host]"),
          ("[CUDA memcpy Device-to-Host]", "main waking up from cudaMemcpy"), ("main cudaLaunchKernel", "kernel scale"),
          ("kernel scale", "main waking up from cudaDeviceSynchronize")]  # ordered() and managed() of pipeline.cu
WORKED = [("main pthread_create", "thread computing"), ("thread cudaLaunchKernel", "kernel scale"), ("[CUDA memcpy Device-to-Host]", "thread waking up from cudaStreamSynchronize"),
          ("thread computing", "main waking up from pthread_join (work(int, int, int))"), *SYNCED]


class Truth(NamedTuple):
    """What is known of the path of a program from its source: kernel_ns: duration of its kernels, unless it chooses that. links: from one thread or stream to
    the next, each with the call or operation; None = HTA does not read the program. works: how many operations are on it. rules: those that HTA's graph needs."""
    kernel_ns: "int | None"
    links: "list[tuple[str, str]] | None"
    works: int = 0
    rules: tuple = ()
    may_need_none: bool = False  # the calls, of which HTA counts the times, take as long as the kernels: either path may be longer


PROGRAMS = {
    "waited_gpu event": Truth(None, [("main cudaLaunchKernel", "kernel third"), ("kernel third", "kernel second"), ("kernel second", "main waking up from cudaStreamSynchronize")], 2),
    "waited_gpu ordered": Truth(None, [("main cudaLaunchKernel", "kernel third"), ("kernel third", "kernel second"), ("kernel second", "kernel first"),
                                       ("kernel first", "main waking up from cudaStreamSynchronize")], 3, ("order of streams: 2",)),
    "waited_gpu copy": Truth(None, [("main cudaLaunchKernel", "kernel third"), ("[CUDA memcpy Device-to-Host]", "main waking up from cudaMemcpy"),
                                    ("main cudaLaunchKernel", "kernel first"), ("kernel first", "main waking up from cudaDeviceSynchronize")], 3, ("calls that wait",)),
    "waited_gpu graph": Truth(None, None),
    "pipeline 1 8": Truth(2000000, WORKED, 14, ("the last link", "calls that wait", "order of threads: 2")),
    "pipeline 2 4": Truth(2000000, WORKED, 8, ("the last link", "calls that wait", "order of threads: 2")),
    "nvtx_launch 7": Truth(2000000, [("main cuLaunchKernel", "kernel scale"), ("kernel scale", "main waking up from cuStreamSynchronize")], 42, ("calls that wait",),
                           may_need_none=True),
}
REAL_RULES = {"um_osrt-2026.1.3": (), "nvtx_sampling-2023.3.1": ("the last link", "calls that wait"), "nvtx_pytorch-2022.1.3": ("the last link", "calls that wait")}
FEWEST = {"nvtx_sampling-2023.3.1": 100, "nvtx_pytorch-2022.1.3": 5}  # operations on the path of a real capture
KNOWN_LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync")  # of HTA 0.5
NOT_READ = "object is not subscriptable"  # the error of HTA where a trace has no call of these


class Ours:
    """Our path, as ends of HTA's events: `points` in order of time, each (event, is_start)."""
    def __init__(self, segments, events):
        works, calls, ends = {}, {}, {}
        for key, (start, ns, stream, tid, *_) in events.items():
            if stream >= 0:
                works[start, start + ns, stream] = int(key)
            else:
                calls[start, tid], ends[start + ns, tid] = int(key), int(key)
        self.points, self.works, self.woken, self.segments = [], [], [], segments
        for s in segments:
            start, end = s["Start (ns)"], s["Start (ns)"] + s["Duration (ns)"]
            event = calls.get((start, s["TID"]))
            if s["Stream"] is not None and (start, end, s["Stream"]) in works:
                self.works.append(works[start, end, s["Stream"]])
                self.points += [(self.works[-1], True), (self.works[-1], False)]
            elif s["Cause"].startswith("waking up from ") and (end, s["TID"]) in ends:
                self.woken.append(ends[end, s["TID"]])
                self.points.append((self.woken[-1], False))
            elif event is not None:  # a call that an operation began in is on the path up to there
                self.points += [(event, True)] + ([(event, False)] if ends.get((end, s["TID"])) == event else [])


def rule_of(events, before, after):
    """Return which rule of docs/why-peers.md a link of our path needs that HTA's graph lacks; "" = one of those that are applied to the whole graph; None = none of them."""
    source, target = events[str(before[0])], events[str(after[0])]
    if source[2] >= 0 and target[2] >= 0:
        return "" if source[2] == target[2] else "order of streams"
    if source[2] >= 0:
        return ""
    if target[2] >= 0:
        return "" if target[5] == before[0] else None
    return "order of threads" if source[3] != target[3] else None


def links_of(ours, found):
    """Return the links of our path that HTA's graph lacks and no rule for the whole graph adds, how many each rule needs, and those that no rule explains."""
    events, edges = found["events"], {(tuple(u), tuple(v)) for u, v in found["edges"]}
    rules, links, wrong = collections.Counter(), [], []
    for before, after in zip(ours.points, ours.points[1:]):
        source, target = events[str(before[0])], events[str(after[0])]
        begin = (before[0], True) if source[2] < 0 <= target[2] else before  # HTA's launches begin with the call
        rule = "" if before[0] == after[0] or (begin, after) in edges else rule_of(events, before, after)
        if rule is None:
            wrong.append((source, target))
        if rule:
            rules[rule] += 1
            at, to = (event[0] + (0 if is_start else event[1]) for event, is_start in ((source, begin[1]), (target, after[1])))
            links.append([begin, after, max(to - at, 0)])
    return links, rules, wrong


def asked(chrome, ours=None):
    path = os.path.join(folder(), "ours.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(ours, file)
    return viewers.asked(HTA, chrome, *([path] if ours else []), HTA_DISABLE_NS_ROUNDING="1")


def launches_of(chrome):
    """Return the operations whose launch HTA knows."""
    with open(chrome, encoding="utf-8") as file:
        items = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X" and "correlation" in e["args"]]
    known = {e["args"]["correlation"] for e in items if e["name"] in KNOWN_LAUNCHES}
    return [e for e in items if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"]["correlation"] in known]


GLOBAL = {"gaps": "time between calls", "last": "the last link", "waits": "calls that wait"}


def waits_of(source):
    """Return the calls of the OS runtime that waited: thread, start and end."""
    said = trace("query", "-f", "json", source.path, "SELECT track & 0xffffff AS tid, start, \"end\" FROM LIBTRACE_WAIT_GRAPH WHERE sure IS NOT NULL AND kind NOT IN "
                 "('work', 'device', 'rank')")
    return [[row["tid"], row["start"], row["end"]] for row in json.loads(said.out or b"[]")]


def compare(name, source):
    chrome = os.path.join(folder(), "r.json")
    made = trace("export", "-t", "chrome", "-o", chrome, source.path)
    try:
        found = asked(chrome)
    except RuntimeError as error:
        tap.ok(not launches_of(chrome) and NOT_READ in str(error), f"{name}: HTA does not read a trace without a launch that it knows", (made, error))
        return None
    ours, theirs = Ours(path_of(source), found["events"]), found["works"]
    tap.ok(len(ours.works) >= FEWEST.get(name, 1), f"{name}: our path has operations that HTA knows", ours.segments[:5])
    ran = viewers.asked(OTHERS, chrome, HTA_DISABLE_NS_ROUNDING="1")
    tap.ok(len(ran) == 7 and not any(ran.values()), f"{name}: HTA's other analyses run", ran)
    links, rules, wrong = links_of(ours, found)
    tried = asked(chrome, {"works": ours.works, "waits": waits_of(source), "woken": ours.woken, "links": links})
    chosen, works = tried[-1]
    used = [GLOBAL[rule] if rule in GLOBAL else ", ".join(f"{name}: {count}" for name, count in sorted(rules.items())) for rule in chosen]
    tap.ok(works == ours.works, f"{name}: the operations of HTA's path are ours, in our order, if its graph is corrected by the rules",
           (wrong, rules, [found["events"][str(e)] for e in ours.works if e not in works][:5], [found["events"][str(e)] for e in works if e not in ours.works][:5],
            len(ours.works), len(works)))
    both = len(set(theirs) & set(ours.works))
    if os.environ.get("FIGURES"):
        ms = [sum(found["events"][str(e)][1] for e in path) / 1e6 for path in (ours.works, theirs)]
        print(f"| {name} | {len(ours.works)}, {ms[0]:.3f} ms | {len(theirs)}, {ms[1]:.3f} ms | {both} | "
              f"{'NOT EXPLAINED' if works != ours.works else '; '.join(used) or 'none: the same path'} |", flush=True)
    return used if works == ours.works else None


def waker_of(segment):
    """Return who has a segment, and what it is; of the device the latter."""
    who = "" if segment["TID"] is None else "main " if segment["TID"] == segment["PID"] else "thread "
    return who + segment["Cause"]


def links_known(segments):
    """Return where a path leads from one thread or stream to another. A thread that begins after its pthread_create() has returned is still that call's."""
    links = [(waker_of(a), waker_of(b)) for a, b in zip(segments, segments[1:]) if (a["TID"], a["Stream"]) != (b["TID"], b["Stream"])]
    return [("main pthread_create", woken) if woken == "thread computing" and waker in ("main computing", "main pthread_join") else (waker, woken) for waker, woken in links]


def simulated():
    for text, truth in PROGRAMS.items():
        program, *arguments = text.split()
        reason = device.missing(program)
        for _ in range(TRIES):
            report = None if reason else device.recorded([device.app(program), *arguments], LIBTRACE_TRACE="cuda,nvtx,osrt",
                                                         **({"SIM_DEVICE": f"kernel_ns={truth.kernel_ns}"} if truth.kernel_ns else {}))
            segments = path_of(report) if report else []
            links, works = links_known(segments), sum(s["Stream"] is not None and s["Cause"].startswith(("kernel ", "[CUDA mem")) for s in segments)
            if not report or truth.links is None or (links, works) == (truth.links, truth.works):
                break
        if not report:
            tap.skip(text, reason or "not recorded")
            continue
        tap.ok(truth.links is None or (links, works) == (truth.links, truth.works), f"{text}: our path leads from thread to thread as the program does", (links, works))
        used = compare(text, report)
        tap.ok(truth.links is None or used == list(truth.rules) or (truth.may_need_none and used == []), f"{text}: the rules that HTA's graph needs are {', '.join(truth.rules) or 'none'}", used)


def real():
    """Databases that nsys wrote."""
    for name in ("um_addblock-2024.4.1", "um_osrt-2026.1.3", "nvtx_sampling-2023.3.1", "nvtx_pytorch-2022.1.3"):
        used = compare(name, Report(os.path.join(fixtures("nsys"), name + ".sqlite")))
        tap.ok(used == (list(REAL_RULES[name]) if name in REAL_RULES else None), f"{name}: the rules that HTA's graph needs are known", used)


def all_of_them():
    if not viewers.has("hta.trace_analysis"):
        tap.skip("Holistic Trace Analysis", f"no HolisticTraceAnalysis in {viewers.PYTHON}: see tests/peers/viewers.txt")
        return
    simulated()
    if fixtures("nsys"):
        real()
    else:
        tap.skip("databases of nsys", "they are not here")


main(all_of_them)
