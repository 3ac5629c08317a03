#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the source `streams`: what programs write to standard output and error, in any way, and that they do not notice it."""
import os
import pty
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import Report, app, clean_env, folder, main, run, spool_folder, tap, trace, traced_env, wait_spool_gone  # noqa: E402

PLACE = folder()
ELSEWHERE = os.path.join(PLACE, "elsewhere")
OUTPUT = "stdio 0\nraw\nvector\nback\nat exit"
SECRETS = ("API_KEY=****** next\npassword: *********\n{\"token\": \"***\", \"n\": 1}\n--hf-token **** done\ntokens=7 seen\nSECRET='****' end\n")


def recorded(name, *command, **options):
    path, spool = os.path.join(PLACE, name + ".rep"), spool_folder()
    ran = run(list(command), env=traced_env(path, spool, LIBTRACE_STREAMS="process-tree", **options))
    wait_spool_gone(spool)
    return path, ran


def writes(path):
    return [event for event in Report(path).events() if event["kind"] == "stream_write"]


def text_of(events, stream, pid=None, redirected=0):
    chosen = [e for e in events if e["stream"] == stream and pid in (None, e["pid"]) and e.get("redirected", 0) == redirected]
    return "".join(e["text"] for e in sorted(chosen, key=lambda e: e["position"]))


def ways_of_writing():
    plain = run([app("streams"), ELSEWHERE], env=clean_env())
    path, ran = recorded("ways", app("streams"), ELSEWHERE)
    tap.ok((ran.status, ran.out, ran.err) == (plain.status, plain.out, plain.err), "the program writes what it writes untraced", ran)
    events = writes(path)
    parent = [e["pid"] for e in events if e["text"] == "raw\n"][0]
    child = [e["pid"] for e in events if e["pid"] != parent]
    tap.ok(text_of(events, 1, parent) == OUTPUT, "stdio, write(), writev() and output at exit are recorded in order", text_of(events, 1, parent))
    tap.ok(text_of(events, 1, child[0] if child else 0) == "of the child\n", "and a forked child's, as its own", events)
    tap.ok(text_of(events, 1, parent, 1) == "elsewhere\n", "what went elsewhere is marked as redirected", events)
    tap.ok(text_of(events, 2) == SECRETS, "values of secrets are stars, also in pieces", text_of(events, 2))
    checked = trace("check", path)
    tap.ok(checked.status == 0, "the report is whole", checked)
    return path


def output():
    """Check `trace dump --output`: the bytes of each stream, nothing of what went elsewhere, and a note where none were recorded."""
    path = os.path.join(PLACE, "ways.rep")
    parent = [e["pid"] for e in writes(path) if e["text"] == "raw\n"][0]
    for stream, wanted in (("stdout", OUTPUT), ("stderr", SECRETS)):
        printed = trace("dump", "--output", stream, "--process", str(parent), path)
        tap.ok((printed.status, printed.out, printed.err) == (0, wanted.encode(), b""), f"dump --output {stream} prints what the process wrote", printed)
    both = trace("dump", "--output", "all", path)
    tap.ok(both.status == 0 and sorted(both.out) == sorted((OUTPUT + SECRETS + "of the child\n").encode()), "all: both streams of all processes", both)
    none, _ = os.path.join(PLACE, "none.rep"), run(["true"], env=traced_env(os.path.join(PLACE, "none.rep"), spool_folder()))
    printed = trace("dump", "--output", "all", none)
    tap.ok(printed.status == 0 and not printed.out and b"--streams=process-tree" in printed.err, "a report without output: a note says how to record it", printed)


def tables():
    path, database = os.path.join(PLACE, "ways.rep"), os.path.join(PLACE, "ways.sqlite")
    exported = trace("export", "-t", "sqlite", "-o", database, path)
    with sqlite3.connect(database) as d:
        rows = d.execute("SELECT p.pid, f.value, c.value FROM ProcessStreams AS s JOIN PROCESSES AS p USING (globalPid) "
                         "JOIN StringIds AS f ON f.id = s.filenameId JOIN StringIds AS c ON c.id = s.contentId").fetchall()
        doubled = d.execute("SELECT value FROM StringIds GROUP BY value HAVING count(*) > 1").fetchall()
    names = sorted((name.split("_")[2], content) for _, name, content in rows)
    tap.ok(exported.status == 0 and names == [("stderr.log", SECRETS), ("stdout.log", "of the child\n"), ("stdout.log", OUTPUT)] and
           all(name.startswith(f"pid_{pid}_") for pid, name, _ in rows), "ProcessStreams has a row for each stream of a process", rows)
    tap.ok(not doubled, "each text is in StringIds once", doubled)
    shown = trace("export", "-t", "chrome", "-o", "-", path)
    tap.ok(b'"name":"raw' in shown.out.replace(b'": "', b'":"'), "timelines show the writes", shown.out[-500:])


def limits():
    path, ran = recorded("limit", app("streams"), ELSEWHERE, "100000", LIBTRACE_STREAMS_LIMIT=64)
    kept = text_of(writes(path), 1)
    whole = "".join(chr(ord("a") + i % 26) for i in range(100000))
    tap.ok(ran.out.decode() == whole and kept == whole[:65536], "no more is kept than the limit", (len(ran.out), len(kept)))
    said = trace("info", "-v", path).out.decode()
    tap.ok("standard output: 100000 bytes" in said and "34464 bytes beyond the limit not kept" in said, "trace info says how much is missing", said)


def off_by_default():
    path, spool = os.path.join(PLACE, "off.rep"), spool_folder()
    run([app("streams"), ELSEWHERE], env=traced_env(path, spool))
    wait_spool_gone(spool)
    tap.ok(not writes(path), "without the option nothing is kept")


def terminal():
    """Check that a terminal stays one, and that output which is line-buffered there is recorded."""
    path, spool = os.path.join(PLACE, "terminal.rep"), spool_folder()
    ours, theirs = pty.openpty()
    with subprocess.Popen([app("streams"), ELSEWHERE], env=traced_env(path, spool, LIBTRACE_STREAMS="process-tree"), stdin=subprocess.DEVNULL,
                          stdout=theirs, stderr=subprocess.DEVNULL) as child:
        os.close(theirs)
        shown = b""
        while True:
            try:
                got = os.read(ours, 4096)
            except OSError:
                break
            if not got:
                break
            shown += got
        status = child.wait()
    os.close(ours)
    wait_spool_gone(spool)
    text = text_of(writes(path), 1)
    tap.ok(status == 0 and b"stdio 1\r\n" in shown and "stdio 1\n" in text and text.endswith("at exit"), "a terminal stays a terminal", (shown, text))


def programs():
    """Check programs that nobody here wrote: a shell's builtin, a program that uses stdio, Python."""
    path, ran = recorded("programs", "sh", "-c", "echo from the shell; printf 'by printf\\n' | cat; echo gone >/dev/null; "
                         f"{sys.executable} -c \"import sys; print('from Python'); sys.stderr.write('an error\\n')\"")
    events = writes(path)
    texts = sorted({text_of(events, stream, e["pid"]) for e in events for stream in (1, 2)})
    tap.ok(ran.out == b"from the shell\nby printf\nfrom Python\n" and {"from Python\n", "an error\n", "from the shell\n"} <= set(texts),
           "a shell, cat and Python", (ran, texts))
    shell = [e["pid"] for e in events if e["text"] == "from the shell\n"][0]
    tap.ok(text_of(events, 1, shell, 1) == "gone\n", "a builtin's redirected output is marked", events)


main(ways_of_writing, output, tables, limits, off_by_default, terminal, programs)
