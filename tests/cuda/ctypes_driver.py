# SPDX-License-Identifier: Apache-2.0
"""A Python program that opens the driver by ctypes, as Numba and others do. Usage: ctypes_driver.py [LAUNCHES=4]      prints what it did"""
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

cuda = ctypes.CDLL("libcuda.so.1")
launches = int(sys.argv[1]) if len(sys.argv) > 1 else 4
did = dict.fromkeys(("kernels", "copies_htod", "copies_dtoh", "syncs"), 0)


def check(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        sys.exit(f"{name}: error {result}")


context, module, function, values = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
check("cuInit", 0)
check("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
check("cuCtxSetCurrent", context)
check("cuModuleLoadData", ctypes.byref(module), PTX)
check("cuModuleGetFunction", ctypes.byref(function), module, b"leave_alone")
check("cuMemAlloc_v2", ctypes.byref(values), ctypes.c_size_t(4096))
sent, got = ctypes.create_string_buffer(b"copied there and back", 4096), ctypes.create_string_buffer(4096)
check("cuMemcpyHtoD_v2", values, sent, ctypes.c_size_t(4096))
did["copies_htod"] += 1
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(values), ctypes.c_void_p))
for _ in range(launches):
    check("cuLaunchKernel", function, 2, 1, 1, 32, 1, 1, 0, None, arguments, None)
    did["kernels"] += 1
check("cuCtxSynchronize")
did["syncs"] += 1
check("cuMemcpyDtoH_v2", got, values, ctypes.c_size_t(4096))
did["copies_dtoh"] += 1
check("cuMemFree_v2", values)
print(json.dumps({"did": did, "right": got.raw == sent.raw}))
sys.exit(got.raw != sent.raw)
