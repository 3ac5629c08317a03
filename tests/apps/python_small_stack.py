# SPDX-License-Identifier: Apache-2.0
"""Take signals on an alternate signal stack with 720 bytes more than the kernel needs.

CPython's handler writes to a pipe there. Run it with LD_BIND_NOW=1: the loader needs more than that for a function's first call.
"""
import ctypes
import os
import signal
import sys

ROOM = 720
AMX_BYTES = 8192  # part of the size that the kernel states; used only by programs that have asked for AMX
AT_MINSIGSTKSZ = 51
READ_WRITE, PRIVATE_ANONYMOUS = 3, 0x22


class Stack(ctypes.Structure):
    _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


libc = ctypes.CDLL(None, use_errno=True)
libc.getauxval.restype = ctypes.c_ulong
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
area = libc.mmap(None, 65536, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0)
libc.mprotect(area, 4096, 0)
needed = libc.getauxval(AT_MINSIGSTKSZ) or 2048
with open("/proc/cpuinfo", encoding="ascii") as cpus:
    if " amx_tile" in cpus.read():
        needed -= AMX_BYTES
stack = Stack(area + 4096, 0, needed + ROOM)
if libc.sigaltstack(ctypes.byref(stack), None):
    sys.exit("no signal stack")
outlet, inlet = os.pipe()
os.set_blocking(inlet, False)
signal.set_wakeup_fd(inlet)
taken = []
signal.signal(signal.SIGUSR1, lambda *_: taken.append(1))
for _ in range(3):
    os.kill(os.getpid(), signal.SIGUSR1)
print(len(taken), len(os.read(outlet, 10)))
