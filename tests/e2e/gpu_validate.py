#!/usr/bin/env python3
"""scripts/gpu-validate works: on the simulated device it goes through all its steps, and notices what is wrong. timeout: 300"""
import json
import os
import tarfile

import libdevice as device
import lib
from lib import tap

COMMAND = os.path.join(lib.SRC, "scripts/gpu-validate")


def validate(**more):
    out = lib.folder()
    env = lib.clean_env(BUILD=lib.BUILD, SIM=device.SIM, **more)
    result = lib.run([COMMAND, "--sim", "--quick", "--out", out], env=env, limit=200)
    data = {}
    if os.path.exists(os.path.join(out, "gpu-validation.json")):
        with open(os.path.join(out, "gpu-validation.json"), encoding="utf-8") as file:
            data = json.load(file)
    return result, data, out


def test_all_right():
    result, data, out = validate()
    text = result.out.decode()
    tap.ok(result.status == 0 and data.get("wrong") == [] and "Nothing was wrong." in text, "on the simulated device nothing is wrong", f"{text}\n{result.err.decode()}")
    tap.ok("this says nothing about a GPU" in text, "and the section says that this was no GPU", text[:200])
    tap.ok(len(data.get("answers", {})) == 7 and all(data["answers"].values()), "all questions have an answer", data.get("answers"))
    costs = data.get("ns_per_launch", {})
    tap.ok(len(costs) >= 5 and all(None not in ns and min(ns) > 0 for ns in costs.values()), "each variant of the launch loop has its figures", costs)
    with tarfile.open(os.path.join(out, "buffers.tar.gz")) as archive:
        sizes = {member.name: member.size for member in archive.getmembers() if member.name.endswith(".bin")}
    tap.ok(len(sizes) >= 4 and all(sizes.values()), "recorded buffers are kept", sizes)


def test_no_gpu():
    if os.path.exists("/dev/nvidiactl"):
        tap.skip("no GPU", "there may be one here")
        return
    result = lib.run([COMMAND, "--quick", "--out", lib.folder()], env=lib.clean_env(BUILD=lib.BUILD), limit=200)
    tap.ok(result.status == 2 and result.err.strip().endswith((b"its driver?", b"names a toolkit)")), "without a GPU it says so at once", result)


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
lib.main(test_all_right, test_no_gpu, test_notices)
