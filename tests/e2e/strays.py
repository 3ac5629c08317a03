#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Trace tasks and contexts that no wrapper sees: raw forks, forks in handlers, two tasks with one thread's memory, preemptive user threads.

The programs count their own calls. The report has each call once, or its verdict is not "complete".
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, TORTURE, app, clean_env, folder, leftovers, main, receipts_agree, run, spool_folder, tap, traced_env, wait_spool_gone  # noqa: E402

CHAINS = {"LIBTRACE_OSRT_BACKTRACE_THRESHOLD": 0}  # every call has a callchain, by the slow path each time
TIMES = 10 if TORTURE else 2
NOBODY = 65534


def traced(argv, user=None, **options):
    """Run a program untraced and traced, as `user`. Return report and text, or None if a test failed."""
    name = " ".join(argv) + "".join(f", {key[9:].lower()}={value}" for key, value in options.items()) + (f", user {user}" if user else "")
    command = [app(argv[0]), *argv[1:]]
    work, spool = folder(), spool_folder()
    for place in (work, spool) if user else ():
        os.chown(place, user, -1)
    other = {"user": user} if user else {}
    plain = run(command, env=clean_env(), cwd=work, **other)
    report = Report(os.path.join(work, "r.rep"))
    env = traced_env(report.path, spool, **options)
    env["APP_FACTS"] = "1"
    result = run(command, env=env, cwd=work, **other)
    text = result.out.decode(errors="replace")
    lines = [line for line in text.splitlines() if not line.startswith("facts:")]
    same = not result.hung and (result.status, lines) == (plain.status, plain.out.decode().splitlines()) and plain.status == 0
    finished = wait_spool_gone(spool)
    checked = report.check() if report.exists() else None
    sound = finished and checked is not None and checked.status == 0 and not receipts_agree(report)
    tap.ok(same and sound, f"{name}: runs as without the tracer, and its report is sound",
           f"status {result.status} {result.note}\n{text}\n{result.err.decode(errors='replace')}\n{leftovers(spool)}\n"
           f"{checked and checked.out.decode()}{checked and checked.err.decode()}\n{report.exists() and receipts_agree(report)}")
    return (report, text, name) if same and sound else None


def facts(text):
    return {name: [int(number) for number in numbers.split()] for name, numbers in re.findall(r"([a-z_]+)((?: \d+)+)", "".join(re.findall("^facts:.*", text, re.MULTILINE)))}


def verdict(report):
    return report.info()["verdict"].split(":")[0]


def story(report, made, held):
    return f"made {made}, in the report {held}, dropped {report.dropped()}, verdict {verdict(report)}, {report.info()['diagnostics']}"


def raw_forks():
    for how in ("bare", "clone", "clone3", "syscall", "threads", "waiting"):
        ran = traced(["raw_forks", how])
        if not ran:
            continue
        report, text, name = ran
        made, held = facts(text)["pread"][0], report.total("pread")
        tap.ok(made == held and verdict(report) == "complete" and not report.total("pread", "abandoned"), f"{name}: each call is recorded once, and the report is complete",
               story(report, made, held))
        processes, expected = len(report.processes()), 11 if how == "waiting" else 121
        tap.ok(processes == expected, f"{name}: {expected} processes", processes)


def forked_threads():
    """A thread of a forked child calls before the first thread does, which may still have its parent's lane."""
    for how, when, user in (("bare", "after", None), ("bare", "alone", None), ("bare", "beside", None), ("fork", "after", None), ("fork", "after", NOBODY), ("fork", "alone", NOBODY),
                            *[("fork", "beside", user) for user in (None, NOBODY)] * TIMES):
        if user and os.geteuid():
            user = None  # this user is as good
        ran = traced(["forked_threads", how, when], user=user)
        if not ran:
            continue
        report, text, name = ran
        made, held = facts(text)["pread"][0], report.total("pread")
        if how == "fork":
            tap.ok(made == held and verdict(report) == "complete", f"{name}: each call is recorded once, and the report is complete", story(report, made, held))
        elif when == "alone":
            tap.ok(held < made and "not traced" in report.info()["verdict"], f"{name}: the calls of a child that has no spool are missing, and the verdict says so", story(report, made, held))
        else:
            # Seen once in some hundred runs: one call more is counted as dropped than is missing. A loss without a word would be one less.
            told = held < made <= held + report.dropped() <= made + 1
            tap.ok(told or (made == held and verdict(report) == "complete"), f"{name}: each call is recorded or counted as dropped", story(report, made, held))


def handler_forks():
    # Without memory for a copy of the parent's lane, and inside a filter, the program still runs, and the report is sound.
    for limit in ("data", "space", "filter"):
        traced(["handler_forks", "fork", limit], **CHAINS)
    for how, options in (("fork", {}), ("_Fork", {}), ("bare", {}), ("fork", CHAINS), ("_Fork", CHAINS)):
        ran = traced(["handler_forks", how], **options)
        if not ran:
            continue
        report, text, name = ran
        root = min(p["id"] for p in report.processes())
        wrong, dropped = [], report.dropped()
        children = len(report.processes()) - 1
        for function, (parent, child) in facts(text).items():
            held = [sum(c.all for (process, _, called), c in report.counts.items() if called == function and (process == root) == first) for first in (True, False)]
            # A child that is created after the program has counted a call, and before the call, makes it again; a call that a
            # fork interrupted is not recorded for the child (docs/limitations.md).
            if not (held[0] <= parent <= held[0] + dropped and held[1] - children <= child <= held[1] + dropped + children):
                wrong.append(f"{function}: begun {parent} and {child}, in the report {held}")
        tap.ok(not wrong, f"{name}: calls of parent and children are each their own", "\n".join(wrong) + f"\ndropped {dropped}")
        tap.ok((dropped == 0) == (verdict(report) == "complete") and dropped < children * 10, f"{name}: complete if nothing is missing", (dropped, verdict(report)))


def shared_tls():
    recovered = []
    for how in ("wrapped", "thread", "bare", "child", "child_of_task", "child_beside") * TIMES:
        ran = traced(["shared_tls", how])
        if not ran:
            continue
        report, text, name = ran
        made, held = facts(text)["pread"][0], report.total("pread")
        after = int(re.search(r"expect-after (\d+)", text).group(1))
        tap.ok(verdict(report) != "complete" or made == held, f"{name}: complete only if each call is there once", story(report, made, held))
        if how not in ("bare", "child_beside"):
            tap.ok(made <= held + report.dropped() <= made + 100, f"{name}: each call is recorded or counted as missing", story(report, made, held))
        if how == "bare":
            recovered.append(held >= after)
        else:
            tap.ok(held >= after, f"{name}: the task that is left is recorded again", story(report, made, held))
        tap.ok(report.dropped() <= 2 * made, f"{name}: a number of dropped events that can be", story(report, made, held))
    # The other task's tid may stay unknown: then its end is not noticed, and calls are still dropped, which the verdict says.
    tap.ok(not recovered or any(recovered), "shared_tls bare: in one run at least the task that is left is recorded again", recovered)


def preempted():
    for argv, options in ((["preempted"], {}), (["preempted", "16"], {}), (["preempted", "3"], CHAINS)):
        for _ in range(TIMES):
            ran = traced(argv, **options)
            if not ran:
                continue
            report, text, name = ran
            wrong, dropped, missing = [], report.dropped(), 0
            for function, (made,) in facts(text).items():
                held = report.total(function)
                missing += made - held
                if held > made:
                    wrong.append(f"{function}: {story(report, made, held)}")
            tap.ok(not wrong and missing <= dropped <= missing + 100, f"{name}: each call is recorded once or counted as missing",
                   "\n".join(wrong) + f"\nmissing {missing}, dropped {dropped}")
            tap.ok((dropped == 0) == (verdict(report) == "complete"), f"{name}: complete if nothing is missing", (dropped, verdict(report)))
            made = sum(numbers[0] for numbers in facts(text).values())
            tap.ok(dropped < made / (3 if options else 10), f"{name}: hardly any is missing", f"made {made}, dropped {dropped}")


if __name__ == "__main__":
    main(raw_forks, forked_threads, handler_forks, shared_tls, preempted)
