# SPDX-License-Identifier: Apache-2.0
"""Run CUDA programs on the simulated device (tests/sim; docs/simulated-device.md).

    result = lib.run([device.app("vector_add")], env=device.env(truth=path, fault="drop_every=5"))
    for line in device.truth(path): ...         # what was called and what the device did: dicts with "type"

The programs are in tests/cuda. If they could not be built (no headers of CUDA, no nvcc) `missing(NAME...)` returns why: skip with that reason.
"""
import json
import os
import sys

import lib

SIM = os.environ.get("SIM") or os.path.join(lib.BUILD, "sim")


def app(name):
    return os.path.join(lib.BUILD, "tests/cuda", name)


def command(name):
    """Return the command that runs a program of tests/cuda, built or in Python."""
    return [sys.executable, os.path.join(lib.SRC, "tests/cuda", name)] if name.endswith(".py") else [app(name)]


def missing(*names):
    """Return why a test of those programs must be skipped, or None if it can run."""
    if not os.path.exists(os.path.join(SIM, "cuda13/libcupti.so.13")):
        return "no simulated device: built without headers of CUDA 13 with CUPTI"
    for name in names:
        if not os.path.exists(command(name)[-1]):
            return f"no {name}: built without nvcc"
    return None


def folder(toolkit="cuda13"):
    """Return the folder of libraries: cuda13, cuda12 and cuda11 differ in libcupti, nocupti has none, none has not even a driver."""
    return os.path.join(SIM, toolkit)


def env(toolkit="cuda13", truth=None, device=None, fault=None, base=None, **more):
    """Return the environment of a program on the simulated device, added to `base` (lib.clean_env(), lib.traced_env(...)).

    truth: file for the device's own log; device, fault: options of tests/sim/options.def as "name=value,..."."""
    made = dict(base) if base is not None else lib.clean_env()
    made["LD_LIBRARY_PATH"] = folder(toolkit)
    for name, value in (("SIM_LOG", truth), ("SIM_DEVICE", device), ("SIM_FAULT", fault)):
        if value is not None:
            made[name] = str(value)
    made.update({name: str(value) for name, value in more.items() if value is not None})
    return made


def recorded(argv, toolkit="cuda13", **options):
    """Call lib.recorded() on the device."""
    return lib.recorded(argv, environment=lambda base: env(toolkit, base=base), **options)


def lines(path):
    """Return the objects of a file of JSON lines."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def truth(path, *types):
    """Return the lines of these types (default: all) of the device's log, in the order in which the operations were enqueued."""
    return [line for line in lines(path) if not types or line["type"] in types]


def did(result):
    """Return what a program of tests/cuda says it did, by kind; None if it says that a result was wrong, or prints nothing."""
    for line in reversed(result.out.decode("utf-8", "replace").splitlines()):
        if line.startswith('{"did"'):
            said = json.loads(line)
            return said["did"] if said["right"] else None
    return None
