#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that scripts/gpu-validate runs all its steps on the simulated device, and notices what is wrong.

timeout: 600
"""
import json
import os
import sys
import tarfile

import libdevice as device
import lib
from lib import tap

COMMAND = os.path.join(lib.SRC, "scripts/gpu-validate")


def validate(*options, **more):
    out = lib.folder()
    env = lib.clean_env(**{"BUILD": lib.BUILD, "SIM": device.SIM, **more})
    result = lib.run([COMMAND, "--sim", "--quick", *options, "--out", out], env=env, limit=200)
    data = {}
    if os.path.exists(os.path.join(out, "gpu-validation.json")):
        with open(os.path.join(out, "gpu-validation.json"), encoding="utf-8") as file:
            data = json.load(file)
    return result, data, out


def test_all_right():
    result, data, out = validate()
    text = result.out.decode()
    tap.ok(result.status == 0 and data.get("wrong") == [] and "No errors." in text, "on the simulated device nothing is wrong", f"{text}\n{result.err.decode()}")
    tap.ok("this says nothing about a GPU" in text, "the section says that the simulated device is not a GPU", text[:200])
    tap.ok(len(data.get("answers", {})) == 7 and all(data["answers"].values()), "all questions have an answer", data.get("answers"))
    costs = data.get("ns_per_launch", {})
    tap.ok(len(costs) >= 8 and all(None not in ns and min(ns) > 0 for ns in costs.values()), "each variant of the launch loop has its figures", costs)
    tap.ok(data.get("goal", {}).get("met") in (True, False) and len(data.get("rest", {})) == 8 and all(None not in runs for runs in data["rest"].values()),
           "the goal is judged, and there are figures without launches", (data.get("goal"), data.get("rest")))
    sampled = data.get("samples", {})
    tap.ok(len(sampled.get("metrics", [])) == 12 and sampled["host"] and sampled["cost ms/s"], "a stand-in for NVML is sampled, with its cost", sampled)
    rows = data.get("metrics", {}).get("rows", [])
    tap.ok({r["Metric"] for r in rows} == {"sim__duration.sum", "sim__threads.sum", "sim__registers.max"} and all(r["Kernels"] == data["metrics"]["kernels"] == 10 for r in rows),
           "hardware metrics of each kernel are counted, in two runs", data.get("metrics"))
    rows = data.get("metric samples", {}).get("rows", [])
    tap.ok({row[0] for row in rows} == {"sim__duration.sum", "sim__threads.sum"} and all(abs(row[3] - 500_000) < 1000 and abs(row[4]) < 1000 for row in rows), "hardware metrics are sampled without gaps", rows)
    read = data.get("readers", {})
    tap.ok(len(read.get("commands", [])) == 7 and all(status == 0 for _, status, _ in read["commands"]) and any(r["Peak Bytes"] for r in read["memory"]), "every reader of GPU data reads a report", read)
    with tarfile.open(os.path.join(out, "buffers.tar.gz")) as archive:
        sizes = {member.name: member.size for member in archive.getmembers() if member.name.endswith(".bin")}
    tap.ok(len(sizes) >= 4 and all(sizes.values()), "recorded buffers are kept", sizes)
    with tarfile.open(os.path.join(out, "reports.tar.gz")) as archive:
        names = archive.getnames()
    tap.ok({"vector_add.rep", "pipeline.rep", "probe-vector_add.jsonl"} <= set(names), "reports and probes, too", names)
    left = {name: os.path.getsize(os.path.join(out, name)) for name in os.listdir(out)}
    tap.ok(len(left) == 5 and sum(left.values()) < 16 << 20, "five files in all, small ones", left)
    code = data.get("code", {})
    tap.ok(any(code.get("cubins CUPTI showed (bytes)", [])) and code.get("launches that trace lists") == "10 of 10", "launches are listed, with their code", code)
    counts = data.get("device counts", {})
    tap.ok(counts.get("peaks") == [counts["device"]["asked"]] and sorted(counts["device"]["blocks"]) == counts["occupancy"] and len(counts["occupancy"]) == 15,
           "memory and occupancy are compared with the device's own counts", counts)
    lines = data.get("timelines", {})
    tap.ok(lines.get("work") == lines.get("chrome") == 3 and lines["perfetto"] in (None, 3), "timelines have the device's work", lines)
    rows = data.get("paths", {}).get("what-if", [])
    tap.ok(data["paths"]["why"]["causes"] and [row[1] for row in rows] == [0, 0, 0] and rows[0][3] == 0 < rows[1][3] < rows[2][3], "the critical path is walked, and predictions follow the factor", data.get("paths"))
    captures_are_played(out)


def captures_are_played(out):
    """Check that the captures can be played, which is what they are kept for."""
    kept = lib.folder()
    with tarfile.open(os.path.join(out, "captures.tar.gz")) as archive:
        archive.extractall(kept)
    played = lib.run([sys.executable, os.path.join(lib.SRC, "tests/e2e/replayed.py"), "given_captures"], env={**os.environ, "CAPTURES": os.path.join(kept, "captures")}, limit=200)
    words = played.out.decode()
    tap.ok(played.status == 0 and words.count("analyses find the same") == 2 and "# SKIP" not in words, "the simulated device plays the kept captures", words)


def test_wrong_counts():
    """Check that a report that differs from the device's own counts is noticed: records of launches and of memory are lost."""
    result, data, _ = validate(SIM_FAULT="drop_every=2")
    wrong = data.get("wrong", [])
    tap.ok(result.status == 1 and any(w.startswith("occupancy: ") for w in wrong) and any(w.startswith("memory: ") for w in wrong), "lost records are noticed beside the device's counts", wrong)


def test_no_time():
    for limit in ("0.01", "0.3"):  # before the first command; in the middle
        result, data, _ = validate("--limit", limit)
        tap.ok(result.status == 1 and any("time limit" in word for word in data.get("wrong", [])), f"steps without time in {limit} s are reported", f"{data.get('wrong')}\n{result.err.decode()}")


def test_broken_reader():
    """Check that a step that finds nothing, or fails unexpectedly, does not prevent the results of the others."""
    build = lib.folder()
    for part in ("lib", "tests", "sim"):
        os.symlink(os.path.join(lib.BUILD, part), os.path.join(build, part))
    os.mkdir(os.path.join(build, "bin"))
    with open(os.path.join(build, "bin/trace"), "w", encoding="ascii") as file:
        file.write(f"""#!/bin/sh\ncase $1 in\nrun | --version) exec {lib.TRACE} "$@" ;;\n*) echo '{{"kind": 1}}'; echo '[' ;;\nesac\n""")
    os.chmod(os.path.join(build, "bin/trace"), 0o755)
    result, data, _ = validate(BUILD=build)
    tap.ok(result.status == 1 and data.get("wrong") and len(data.get("answers", {})) == 7 and data.get("ns_per_launch"), "a reader with invalid output is reported, and all other steps run",
           f"{data.get('wrong')}\n{result.err.decode()[-2000:]}")


def test_no_python():
    result, _, out = validate(GPU_VALIDATE_PYTHON="none")
    text = result.out.decode()
    tap.ok(result.status == 0 and "No errors." in text and text.count("kernels; complete") == 5, "without python the shell script does most steps", f"{text}\n{result.err.decode()}")
    with tarfile.open(os.path.join(out, "reports.tar.gz")) as archive:
        names = archive.getnames()
    tap.ok({"pipeline.rep", "probe-pipeline.jsonl", "buffers/pipeline/records.jsonl", "captures/pipeline.sqlite"} <= set(names), "the shell script keeps reports, probes, recordings and captures", names)
    tap.ok(text.count(" of pipeline: exit status 0") == 7, "the shell script reads a report in seven ways", text)
    result, _, _ = validate(GPU_VALIDATE_PYTHON="none", SIM_FAULT="drop_every=4")
    tap.ok(result.status == 1 and "wrong: vector_add: " in result.out.decode(), "the shell script notices lost records", result.out.decode())


def test_no_gpu():
    if os.path.exists("/dev/nvidiactl"):
        tap.skip("no GPU", "there may be one here")
        return
    result = lib.run([COMMAND, "--quick", "--out", lib.folder()], env=lib.clean_env(BUILD=lib.BUILD), limit=200)
    tap.ok(result.status == 2 and result.err.strip().endswith((b"with its driver", b"to the toolkit")), "without a GPU it says so at once", result)


def test_notices():
    result, data, _ = validate(SIM_FAULT="fail=cudaMemset:1:1")
    tap.ok(result.status == 1 and any(word.startswith("vector_add untraced") for word in data.get("wrong", [])), "a program that fails is noticed", data.get("wrong"))
    result, data, _ = validate(SIM_FAULT="subscribe_fails=999")
    tap.ok(result.status == 1 and any("no recording" in word for word in data.get("wrong", [])), "CUPTI that refuses is noticed", data.get("wrong"))
    result, data, _ = validate(SIM_FAULT="drop_every=4")
    if "programs" not in data:
        tap.skip("lost records are noticed", "this build has no CUDA source")
        return
    tap.ok(result.status == 1 and any("did {" in word or "report says" in word for word in data.get("wrong", [])), "lost records are noticed", data.get("wrong"))


if device.missing("vector_add", "launch_loop"):
    tap.skip("scripts/gpu-validate", device.missing("vector_add", "launch_loop"))
    tap.finish()
lib.main(test_all_right, test_wrong_counts, test_no_gpu, test_notices, test_no_time, test_broken_reader, test_no_python)
