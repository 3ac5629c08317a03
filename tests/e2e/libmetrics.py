# SPDX-License-Identifier: Apache-2.0
"""The hardware metrics of the simulated device (tests/sim/cupti_profiler.c), and a program that tests of them record."""

DURATION, THREADS, REGISTERS, WIDE, BLOCKS = "sim__duration.sum", "sim__threads.sum", "sim__registers.max", "sim__wide.sum", "sim__blocks.sum"
# Three threads launch 100 kernels each, of 1, 2 and 3 blocks.
THREADED = """
import ctypes, sys, threading
cuda = ctypes.CDLL("libcuda.so.1")
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
def check(result): result and sys.exit(str(result))
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxPushCurrent_v2(context))
ptx = b"//\\n.version 7.0\\n.target sm_75\\n.address_size 64\\n.visible .entry scale(.param .u64 values) { ret; }\\n"
check(cuda.cuModuleLoadData(ctypes.byref(module), ptx))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"scale"))
values = ctypes.c_uint64(0)
arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(values), ctypes.c_void_p))
def launch(blocks):
    check(cuda.cuCtxSetCurrent(context))
    for i in range(100):
        check(cuda.cuLaunchKernel(function, blocks, 1, 1, 32, 1, 1, 0, None, arguments, None))
threads = [threading.Thread(target=launch, args=(n,)) for n in (1, 2, 3)]
for t in threads: t.start()
for t in threads: t.join()
check(cuda.cuCtxSynchronize())
"""
