# SPDX-License-Identifier: Apache-2.0
"""A Python program that asks the device itself for what a tracer computes: the memory in use, and how many blocks of a launch fit on a multiprocessor.

Prints what it did, and as "device" the answers: "asked" and "used" bytes at the peak of its own memory, and [threads, shared bytes, blocks] of each launch.
"""
import ctypes
import json
import sys

PTX = b"""//
.version 7.0
.target sm_75
.address_size 64
.visible .entry leave_alone(.param .u64 values)
{
  ret;
}
"""
SIZES = (96 << 20, 4096, 300 << 20)
LAUNCHES = [(threads, shared) for threads in (32, 96, 256, 1000, 1024) for shared in (0, 5000, 48 << 10)]

cuda = ctypes.CDLL("libcuda.so.1")


def check(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        sys.exit(f"{name}: error {result}")


def free_bytes():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    check("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value


def launch(threads, shared):
    check("cuLaunchKernel", function, 2, 1, 1, threads, 1, 1, shared, None, arguments, None)
    blocks = ctypes.c_int()
    check("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), function, threads, ctypes.c_size_t(shared))
    return [threads, shared, blocks.value]


context, module, function, values = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64(0)
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(values), ctypes.c_void_p))
check("cuInit", 0)
check("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
check("cuCtxSetCurrent", context)
check("cuModuleLoadData", ctypes.byref(module), PTX)
check("cuModuleGetFunction", ctypes.byref(function), module, b"leave_alone")
fits = [launch(*each) for each in LAUNCHES]
check("cuCtxSynchronize")
before, addresses = free_bytes(), [ctypes.c_uint64() for _ in SIZES]
for address, size in zip(addresses, SIZES):
    check("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
used = before - free_bytes()
for address in addresses:
    check("cuMemFree_v2", address)
print(json.dumps({"did": {"kernels": len(LAUNCHES), "syncs": 1}, "right": used > 0, "device": {"asked": sum(SIZES), "used": used, "blocks": fits}}))
