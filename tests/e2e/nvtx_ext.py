#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Check the extensions of NVTX: payloads, counters, memory, synchronization objects."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import app, main, recorded, tap  # noqa: E402


def traced(program, *arguments, status=0, **options):
    """Return the report of a program; None if it was not built."""
    if not os.path.exists(app(program)):
        tap.skip(program, "not built: no headers of NVTX")
        return None
    return recorded([app(program), *arguments], status=status, **options)


def same(name, got, wanted):
    tap.ok(got == wanted, name, f"wanted {wanted}\n   got {got}")


def bytes_of(rows, payload, index=0):
    pieces = [r for r in rows if r["payload_id"] == payload and r["payload_index"] == index]
    return bytes.fromhex("".join(r["data"] for r in sorted(pieces, key=lambda r: r["offset"]))), any("payload_cut" in r["flags"] for r in pieces)


def payloads_are_copied():
    report = traced("nvtx_payloads")
    if not report:
        return
    rows, marks = report.events("--kind", "nvtx_payload"), {e["text"]: e for e in report.events("--kind", "nvtx_mark")}
    large = {text: bytes_of(rows, mark["payload_id"]) for text, mark in marks.items() if text.startswith(("of ", "longer "))}
    same("a payload of 10000 bytes is recorded whole", large["of 10000 bytes"], (bytes(i // 256 & 255 for i in range(10000)), False))
    same("a payload of 10000 bytes is printed whole", bytes.fromhex(marks["of 10000 bytes"]["payload"]), large["of 10000 bytes"][0])
    same("a payload that is longer than the readable memory ends there", (len(large["longer than memory"][0]), large["longer than memory"][1]), (64 * 4096, True))
    same("a payload of 2 MiB is cut at 1 MiB", (len(large["of 2 MiB"][0]), large["of 2 MiB"][1]), (1 << 20, True))
    same("messages, categories and colors of events that are payloads",
         [(e["kind"], e["text"], e["category"], e["color"]) for e in report.events() if e.get("category")],
         [("nvtx_mark", "message of a payload", 4, "0xff00ff00"), ("nvtx_range", "another one at the end", 5, "0xff0000ff"),
          ("nvtx_start_end", "another one at the end", 5, "0xff0000ff"), ("nvtx_range", "another one at the end", 5, "0xff0000ff")])
    same("a message that lies in the payload", "its message is in it" in marks, True)
    same("a scope", [(e["parent_scope"], e["path"]) for e in report.events("--kind", "nvtx_scope")], [(1, "node[1]/gpu")])
    same("a clock", [(e["time_domain"], e["ticks_per_second"], e["origin"]) for e in report.events("--kind", "nvtx_time_domain")], [((1 << 24) + 9, 1000, 3)])
    syncs = [e for e in report.events("--kind", "nvtx_time_sync") if e["source"] == (1 << 24) + 9]
    same("points of synchronization", [(e["target"], e["source_time"], e["target_time"], e["slope"]) for e in syncs[1:]],
         [(10, 5, -6, None), (14, 1, 2, None), (14, 3, 4, None), (14, 10, 20, 2.5)])
    same("the program's clock is asked", (syncs[0]["source_time"], syncs[0]["target_time"] > 0), (77, True))


NUMBERS = {"i8": -1, "u16": 65535, "i32": -2000000000, "u64": 2**64 - 1}
FIRST = {"message": "message of a payload", "category": 4, "color": "0xff00ff00"}
LAST = {"message": "another one at the end", "category": 5, "color": "0xff0000ff", "number": 4}
DECODED = [
    ("struct", {**NUMBERS, "f": 0.5, "d": -0.1, "name": "abcd", "raw": "0011ff", "three": [1, -2, 3], "address": "0x1234"}),
    ("struct cut short", {**NUMBERS, **dict.fromkeys(("f", "d", "name", "raw", "three", "address"))}),
    ("enums", {"color": "BLUE", "bits": "ONE|0x4"}),
    ("values without a name", {"color": 3, "bits": "ONE|0x8"}),
    ("nested", {"points": [{"x": 1, "y": 2}, {"x": 3, "y": 4}], "which": 1, "either": {"whole": -5}}),
    ("union with selector", {"text": "hey"}),
    ("dynamic", {"count": 3, "values": [10, -20, 30], "text": "words"}),
    ("a length that lies", {"count": 60000, "values": [10, -20, 30, 0x6f77, 0x6472, 0x73], "text": None}),
    ("types of NVTX", [[7, -8], "measured", "01ff", None, None]),
    ("message of a payload", {**FIRST, "number": 1}),
    ("another one at the end", [{**FIRST, "number": 2}, LAST]),  # a range: begin and end
    ("another one at the end", [{**FIRST, "number": 3}, LAST]),  # started and ended
    ("another one at the end", LAST),  # never popped
    ("its message is in it", {"text": "its message is in it"}),
    ("16\u20ac\U0001f600\ufffd.", {"near": "16\u20ac\U0001f600\ufffd."}),
    ("32\u20ac\U0001f600\ufffd", {"far": "32\u20ac\U0001f600\ufffd"}),
    ("32\u20ac\U0001f600\ufffd", {"far": "32\u20ac\U0001f600\ufffd"}),  # an event without a text of its own
    ("another one at the end", LAST),
    ("a text of its own", {"far": "32\u20ac\U0001f600\ufffd"}),
    ("", 5),
    ("nvtx_deferred", {"begin": 1000, "end": 2000}),
    ("nvtx_deferred", [{"begin": 1000, "end": 2000}, {"begin": 3000, "end": 4000}])]


def payloads_are_decoded(*arguments, status=0):
    report = traced("nvtx_payloads", *arguments, status=status)
    if not report:
        return
    found = [(e.get("text", e["kind"]), e["payload"]) for e in report.events() if e.get("payload_type") == "extended"]
    same("layouts, enumerations, unions, lengths", [f for f in found if not f[0].startswith(("of ", "longer ", "texts", "empty "))], DECODED)
    rows = dict(found)["empty rows without end"]["rows"]
    tap.ok(rows and not any(rows) and len(rows) < 2**21, "2^40 empty rows are not printed to their end", str(len(rows)))
    texts = dict(f for f in found if f[0] == "texts")["texts"]
    same("texts that a payload refers to", texts, {"far": "a text elsewhere", "nowhere": "0x8", "near": "another payload", "handle": "a registered one", "no_handle": "0xdeadbeef"})


def counters_and_objects():
    report = traced("nvtx_counters")
    if not report:
        return
    names = {e["counter"]: e["name"] for e in report.events("--kind", "nvtx_counter")}
    same("samples of every kind", [(names[e["counter"]], e["payload_type"], e["payload"], e["no_value"]) for e in report.events("--kind", "nvtx_sample")],
         [("whole", "int64", -4, ""), ("whole", "int64", 2**63 - 1, ""), ("real", "double", 0.25, ""), ("small", "extended", 65535, ""),
          ("whole", "none", None, "zero"), ("whole", "none", None, "unchanged"), ("whole", "none", None, "unavailable"),
          ("group", "extended", {"used": 7, "load": 0.5}, "")])
    same("batches", [(names[e["counter"]], e["payload"], e["batch_flags"]) for e in report.events("--kind", "nvtx_sample_batch")],
         [("whole", {"values": [1, 2, 3], "times": [100, 200, 300]}, "0x6"), ("group", {"values": [{"used": 1, "load": 1.5}, {"used": 2, "load": 2.5}], "times": None}, "0x0")])
    meanings = report.events("--kind", "nvtx_semantics")
    same("counters have their semantics", [(names.get(e["counter"]), e["semantic"], e["value"], e["unit"], e["unit_numerator"], e["minimum"], e["maximum"]) for e in meanings],
         [("whole", "counter", "0x40c", "bytes", 1024, -5, 500), ("whole", "time", "0x1", "", 0, None, None), (None, "scope", "0x15", "", 0, None, None)])
    objects = report.events("--kind", "nvtx_sync")
    same("synchronization objects", [(e["what"], e["name"], e["object"] == objects[0]["object"]) for e in objects],
         [("create", "spin \u20ac", True), ("create", "other", False), ("acquire start", "", True), ("acquire failed", "", True), ("acquire start", "", True),
          ("acquire success", "", True), ("releasing", "", True), ("destroy", "", True)])


def memory_is_told():
    report = traced("nvtx_memory")
    if not report:
        return
    heaps, regions, sets = (report.events("--kind", kind) for kind in ("nvtx_heap", "nvtx_region", "nvtx_permission"))
    begin = int(heaps[0]["address"], 16)
    same("heaps", [(e["what"], int(e["heap"], 16) == begin, e["size_bytes"], e["usage"], e["category"], e["name"]) for e in heaps],
         [("register", True, 8192, 1, 6, "a heap"), ("reset", True, 0, 0, 0, ""), ("unregister", True, 0, 0, 0, "")])
    same("regions", [(e["what"], int(e["region"], 16) - begin, e["size_bytes"], e["category"], e["name"]) for e in regions],
         [("register", 0, 256, 0, ""), ("register", 4096, 512, 0, ""), ("resize", 4096, 1024, 0, ""), ("name", 0, 0, 7, "a region"), ("unregister", 0, 0, 0, "")])
    made = sets[0]["permissions"]
    same("permissions", [(e["what"], e["permissions"] == made, e["bind_scope"], e["permission_flags"]) for e in sets],
         [("create", True, 0, "0x2"), ("assign", True, 0, "0x1"), ("bind", True, 1, "0x2"), ("unbind", False, 1, "0x0"), ("reset", True, 0, "0x0"), ("destroy", True, 0, "0x0")])


def killed():
    payloads_are_decoded("kill", status=-9)


def domains_are_chosen():
    for options, wanted in (({"LIBTRACE_NVTX_DOMAIN_EXCLUDE": "counters"}, set()),
                            ({"LIBTRACE_NVTX_DOMAIN_INCLUDE": "counters"}, {"nvtx_counter", "nvtx_sample", "nvtx_sample_batch", "nvtx_semantics", "nvtx_schema",
                                                                            "nvtx_schema_entry", "nvtx_payload", "nvtx_sync"})):
        report = traced("nvtx_counters", **options)
        if report:
            same(f"{options}", {e["kind"] for e in report.events() if e["kind"].startswith("nvtx")} - {"nvtx_name"}, wanted)
            same(f"{options}: synchronization objects", len(report.events("--kind", "nvtx_sync")), 8 if wanted else 0)


main(payloads_are_copied, payloads_are_decoded, killed, counters_and_objects, memory_is_told, domains_are_chosen)
