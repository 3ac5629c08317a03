#!/usr/bin/env python3
# timeout: 300
"""The extensions of NVTX: payloads, counters, memory, synchronization objects."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, app, folder, main, receipts_agree, run, spool_folder, tap, traced_env, wait_spool_gone  # noqa: E402


def traced(program):
    """The report of a program; None where it was not built."""
    if not os.path.exists(app(program)):
        tap.skip(program, "not built: no headers of NVTX")
        return None
    where, spool = folder(), spool_folder()
    result = run([app(program)], env=traced_env(os.path.join(where, "r.rep"), spool), cwd=where)
    finished, report = wait_spool_gone(spool, 30), Report(os.path.join(where, "r.rep"))
    ok = finished and result.status == 0 and report.exists() and not receipts_agree(report) and report.check().status == 0
    tap.ok(ok, f"{program}: runs as it should, and its report is sound", f"status {result.status}\n{result.out.decode()}\n{result.err.decode()}")
    return report if ok else None


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
    large = {text: bytes_of(rows, mark["payload"]) for text, mark in marks.items() if text.startswith(("of ", "longer "))}
    same("one of 10000 bytes is there whole", large["of 10000 bytes"], (bytes(i // 256 & 255 for i in range(10000)), False))
    same("one that is longer than the memory ends where that ends", (len(large["longer than memory"][0]), large["longer than memory"][1]), (64 * 4096, True))
    same("one of 2 MiB is cut at 1 MiB", (len(large["of 2 MiB"][0]), large["of 2 MiB"][1]), (1 << 20, True))
    same("messages, categories and colours of events that are payloads",
         [(e["kind"], e["text"], e["category"], e["color"]) for e in report.events() if e.get("category")],
         [("nvtx_mark", "message of a payload", 4, "0xff00ff00"), ("nvtx_range", "another one at the end", 5, "0xff0000ff"),
          ("nvtx_start_end", "another one at the end", 5, "0xff0000ff"), ("nvtx_range", "another one at the end", 5, "0xff0000ff")])
    same("a message that lies in the payload", "its message is in it" in marks, True)
    same("a scope", [(e["parent_scope"], e["path"]) for e in report.events("--kind", "nvtx_scope")], [(1, "node[1]/gpu")])
    same("a clock", [(e["time_domain"], e["ticks_per_second"], e["origin"]) for e in report.events("--kind", "nvtx_time_domain")], [((1 << 24) + 9, 1000, 3)])
    syncs = report.events("--kind", "nvtx_time_sync")
    same("points of synchronization", [(e["target"], e["source_time"], e["target_time"], e["slope"]) for e in syncs[1:]],
         [(10, 5, -6, None), (14, 1, 2, None), (14, 3, 4, None), (14, 10, 20, 2.5)])
    same("the program's clock is asked", (syncs[0]["source_time"], syncs[0]["target_time"] > 0), (77, True))


main(payloads_are_copied)
