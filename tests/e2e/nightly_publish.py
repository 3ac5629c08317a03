#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Check what nights tell others: metrics for Prometheus, the command for worse nights, the index of all benchmarks, and the shell parts of the CI examples. The times
are simulated (tests/apps/simulated_cost.c).
"""
import glob
import gzip
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import lib
import lib_compare as made
import libwire
from lib import tap

made.enter_interpreter("publishing nights")
import numpy  # noqa: E402
from trace_tools import nightly, nights_report, notify, pictures, profile  # noqa: E402

PROGRAM = lib.app("simulated_cost")
SAMPLE = re.compile(r'[a-z_]+\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\} -?[0-9.e+-]+')


def environment(**more):
    return lib.clean_env(LIBTRACE_PYTHON=sys.executable, PATH=f"{os.path.dirname(lib.TRACE)}:{os.environ['PATH']}", **more)


def a_night(folder, day, cost, *options, name="n"):
    with open(os.path.join(folder, "cost"), "w", encoding="ascii") as file:
        file.write(f"{cost}\n")
    return lib.run([lib.TRACE, "nightly", "run", f"--name={name}", f"--folder={folder}/kept", "--host=a", "--runs=8", f"--now=2026-03-0{day}T03:00:00", f"--commit={day:040x}",
                    "--trace-options=-t nvtx", *options, "--", PROGRAM, "cost", "count", "1", "1"], env=environment(), cwd=folder)


def worse_nights_run_a_command():
    folder = lib.folder()
    options = [f"--prometheus={folder}/n.prom", f"--on-worse=cat >{folder}/said; env | grep ^NIGHTLY_ | sort >>{folder}/said; exit $(cat {folder}/status)"]
    with open(os.path.join(folder, "status"), "w", encoding="ascii") as file:
        file.write("0")
    first = a_night(folder, 1, 400000, *options)
    tap.ok(first.status == 2 and not os.path.exists(os.path.join(folder, "said")), "a first night runs no command", first.err)
    worse = a_night(folder, 2, 600000, *options)
    said = open(os.path.join(folder, "said"), encoding="utf-8").read()
    tap.ok(worse.status == 1 and said.startswith("verdict: worse") and "NIGHTLY_NAME=n\n" in said and f"NIGHTLY_COMMIT={2:040x}\n" in said and "NIGHTLY_VERDICT=worse\n" in said,
           "a night that is worse runs it, with the verdict as its input", f"{worse.out} {worse.err} {said}")
    text = open(os.path.join(folder, "n.prom"), encoding="utf-8").read()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    tap.ok(lines and all(SAMPLE.fullmatch(line) for line in lines) and 'libtrace_nightly_verdict{benchmark="n",host="a"} 1' in lines, "the metrics are those of the night", text)
    tap.ok(any("simulated:cost" in line and line.startswith("libtrace_nightly_item_seconds{") for line in lines), "the heaviest items are among them", text)
    with open(os.path.join(folder, "status"), "w", encoding="ascii") as file:
        file.write("3")
    failed = a_night(folder, 3, 600000, *options[1:], f"--prometheus={folder}/none/n.prom")
    tap.ok(failed.status == 1 and b"--on-worse ended with status 3" in failed.err and b"none/n.prom" in failed.err, "a command that fails, or a file that cannot be written, is a note", failed.err)


def svg(path):
    """Return the root of a picture, and the texts of its tooltips."""
    root = xml.etree.ElementTree.parse(path).getroot()
    return root, [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]


def worse_nights_have_pictures():
    folder = lib.folder()
    options = ["--trace-options=-t nvtx,osrt --osrt-threshold 0 --osrt-backtrace-threshold 0 --thread-time=process-tree"]
    nights = [a_night(folder, day, cost, *options) for day, cost in ((1, 400000), (2, 600000))]
    first, worse = (os.path.dirname(path) for path in sorted(glob.glob(os.path.join(folder, "kept/n/a/*/verdict.json"))))
    tap.ok([n.status for n in nights] == [2, 1] and not glob.glob(os.path.join(first, "*.svg")), "a night that is not worse has no pictures", [n.err for n in nights])
    for place in (first, worse):
        with gzip.open(os.path.join(place, "profile.pb.gz")) as file:
            profile_ = libwire.fields(file.read())
        tap.ok(len(profile_[2]) and b"main" in profile_[6], "each night keeps its profile for pprof", len(profile_.get(2, ())))
    names = {os.path.basename(path) for path in glob.glob(os.path.join(worse, "*.svg"))}
    tap.ok({"verdict.history-1.svg", "verdict.wall.svg", "verdict.offcpu.svg"} <= names, "a worse night has the history of what got worse, and flame graphs", names)
    drawn = [svg(os.path.join(worse, name)) for name in sorted(names) if "history" in name]
    drawn = [(" ".join(t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")), tips) for root, tips in drawn]
    own = [tips for text, tips in drawn if "simulated:cost: typical" in text]  # other items may be worse, too, by other work of the machine
    tap.ok(len(own) == 1 and len(own[0]) == 2 and "median 400," in own[0][0] and "median 600," in own[0][1], "the history has a dot for each night", drawn)
    _, tips = svg(os.path.join(worse, "verdict.wall.svg"))
    tap.ok(any(tip.startswith("main: ") for tip in tips), "the flame graph has the functions", tips[:5])
    history = lib.run([lib.TRACE, "nightly", "report", "--name=n", f"--folder={folder}/kept", "--host=a"], env=environment(), cwd=folder)
    text = open(os.path.join(folder, "kept/n/a/history.html"), encoding="utf-8").read()
    tap.ok(history.status == 0 and "verdict.history-1.svg'" in text and text.count("profile.pb.gz'") == 2, "the history links to them", history.err)
    nightly.reports_remove(first)
    left = {os.path.basename(path) for path in glob.glob(os.path.join(first, "*"))}
    tap.ok("profile.pb.gz" in left and not any(name.endswith((".rep", ".log")) for name in left), "pruning leaves the profile", left)


def flame_graphs_show_the_difference():
    base = ["app (1);main (1);main;solve 600", "app (1);main (1);main;io 300", "app (1);main (1);main;gone 100"]
    other = ["app (7);main (7);main;solve 900", "app (7);main (7);main;io 300", "app (7);main (7);main;new<int> 300"]
    root = pictures.tree_of([base, other])
    path = os.path.join(lib.folder(), "flame.svg")
    with open(path, "w", encoding="utf-8") as file:
        file.write(pictures.flame(root, "processor time"))
    picture, tips = svg(path)
    shown = {tip.split(": ")[0]: tip for tip in tips}
    tap.ok("(+50.0 %), 60.0 %" in shown["solve"] and "(+0.0 %)" in shown["io"] and "(new), 20.0 %" in shown["new<int>"] and "gone" not in shown, "tooltips have both times", tips)
    width = {}
    for group in picture.iter("{http://www.w3.org/2000/svg}g"):
        rect, tip = group.find("{http://www.w3.org/2000/svg}rect"), group.find("{http://www.w3.org/2000/svg}title").text
        width[tip.split(": ")[0]] = float(rect.get("width")), rect.get("fill"), int(rect.get("y"))
    whole = width["all"][0]
    tap.ok(abs(width["solve"][0] / whole - 0.6) < 1e-4 and abs(width["io"][0] / whole - 0.2) < 1e-4, "widths are shares of the night", width)
    tap.ok(width["solve"][1] == "#ee5858" and width["io"][1] == "#eeeeee" and width["new<int>"][1] == "#ee5858", "colors are differences of the functions themselves", width)
    tap.ok(width["solve"][2] > width["main"][2] > width["all"][2], "callers are above what they call", width)


def deep_stacks_are_cut():
    stack = "app (1);main (1);" + ";".join(f"f{n}" for n in range(5000))
    path = os.path.join(lib.folder(), "deep.svg")
    with open(path, "w", encoding="utf-8") as file:
        file.write(pictures.flame(pictures.tree_of([[f"{stack} 100", "app (1);main (1);g 100"], [f"{stack} 300", "app (1);main (1);g 100"]]), "processor time"))
    picture, tips = svg(path)
    title = picture.find("{http://www.w3.org/2000/svg}text").text
    shown = {tip.split(": ")[0]: tip for tip in tips}
    tap.ok("deeper than 200 frames are cut" in title and len(tips) == 203 and "(+200.0 %), 75.0 %" in shown["[deeper frames]"] and "f197" in shown and "f198" not in shown,
           "a stack of 5,000 frames is drawn to its 200th", (title, len(tips), tips[-3:]))


def labels_are_escaped():
    key = profile.Key("range", 'a"b', "", "x\\y\nz")
    text = notify.prometheus('q"', "h", 1.5, 0, 0, [profile.Profile("x", {key: profile.Item(1, 1000)})])
    tap.ok(all(SAMPLE.fullmatch(line) for line in text.splitlines() if not line.startswith("#")) and '\\"' in text and "\\\\y\\nz" in text, "quotes, backslashes and line ends are escaped", text)


def an_index_lists_all_benchmarks():
    folder = lib.folder()
    for name in ("one", "two"):
        a_night(folder, 1, 400000, name=name)
    result = lib.run([lib.TRACE, "nightly", "report", f"--folder={folder}/kept", "--commit-url=https://x.example/c/{commit}?a=1&b"], env=environment())
    page = open(os.path.join(folder, "kept/index.html"), encoding="utf-8").read()
    links = re.findall(r"href='([^']+history.html)'", page)
    tap.ok(result.status == 0 and links == ["one/a/history.html", "two/a/history.html"] and all(os.path.exists(os.path.join(folder, "kept", link)) for link in links),
           "the index links to each history", f"{result.err} {page}")
    history = open(os.path.join(folder, "kept", links[0]), encoding="utf-8").read()
    tap.ok(f"<a href='https://x.example/c/{1:040x}?a=1&amp;b'>" in history, "commits are links", history[-2000:])


def changes_are_found_in_long_histories():
    rng = numpy.random.default_rng(1)
    level = numpy.where(numpy.arange(1200) < 700, 100, 104)
    found = nights_report.change_points(list(level + rng.normal(0, 1, 1200)), 0.002, numpy.random.default_rng(2))
    tap.ok(found == [700], "one change in 1,200 nights", found)
    none = sum(bool(nights_report.change_points(list(rng.normal(0, 1, 40)), 0.05, numpy.random.default_rng(n))) for n in range(200))
    tap.ok(none <= 18, f"without a change, {none} of 200 histories have one at alpha 0.05")


def shell_of(path):
    """Return the shell part of a CI file: the block after `run: |` or `- |`."""
    with open(os.path.join(lib.SRC, "examples/ci", path), encoding="utf-8") as file:
        match = re.search(r"^( *)(?:- \||run: \|)\n((?:\1 +.*\n|\n)+)", file.read(), re.MULTILINE)
    lines = match[2].splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    kept = []
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            break
        kept.append(line[indent:])
    return "\n".join(kept)


def repository(cost):
    folder = os.path.join(lib.folder(), "project")
    os.mkdir(folder)
    files = {"Makefile": "bench:\n\tprintf '#!/bin/sh\\nd=$$(dirname \"$$0\")\\nexec %s \"$$d/cost\" \"$$d/count\" 1 1\\n' $(PROGRAM) >bench && chmod +x bench\n", "cost": f"{cost}\n"}
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    git = ["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e@e"]
    subprocess.run([*git[:3], "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "base"], check=True)
    return folder


def the_shell_parts_of_the_examples_run():
    folder, summary = repository(400000), os.path.join(lib.folder(), "summary.md")
    base = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    with open(os.path.join(folder, "cost"), "w", encoding="ascii") as file:
        file.write("600000\n")
    result = lib.run(["/bin/sh", "-e", "-c", shell_of("github-pull-request.yml")], cwd=folder, env=environment(BASE=base, GITHUB_STEP_SUMMARY=summary, PROGRAM=PROGRAM))
    tap.ok(result.status == 1 and "simulated:cost" in open(summary, encoding="utf-8").read() and os.path.exists(os.path.join(folder, "diff.xml")), "GitHub: a pull request that is worse fails, with a summary", result.out + result.err)
    nights = os.path.join(lib.folder(), "nights")
    for cost, wanted in ((400000, 0), (600000, 1)):
        with open(os.path.join(folder, "cost"), "w", encoding="ascii") as file:
            file.write(f"{cost}\n")
        result = lib.run(["/bin/sh", "-e", "-c", shell_of("gitlab-nightly.yml")], cwd=folder, env=environment(NIGHTLY=nights, CI_PROJECT_URL="https://x.example/p", PROGRAM=PROGRAM))
        tap.ok(result.status == wanted, f"GitLab: a night with status {wanted}", result.out + result.err)
    tap.ok(os.path.exists(os.path.join(folder, "public/index.html")) and glob.glob(os.path.join(folder, "public/bench/*/history.html")) and glob.glob(os.path.join(folder, "public/bench/*/*/verdict.txt"))
           and os.path.exists(os.path.join(folder, "verdict.xml")), "GitLab: pages with the history and verdicts, and a test report")


if os.path.exists(PROGRAM):
    lib.main(labels_are_escaped, flame_graphs_show_the_difference, deep_stacks_are_cut, worse_nights_have_pictures, worse_nights_run_a_command, an_index_lists_all_benchmarks, changes_are_found_in_long_histories, the_shell_parts_of_the_examples_run)
else:
    tap.skip("publishing nights", "no headers of NVTX")
    tap.finish()
