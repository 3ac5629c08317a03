# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for the GIL, in a program that knows when they do.

Usage: python_gil.py LOG ROUNDS [pair|fork|ends|conditions]. In each round the holder wakes the waiter while it has the GIL: functions of
ctypes.PyDLL do not release it, those of ctypes.CDLL do. The holder keeps the GIL until the kernel says that the waiter sleeps in futex(), which is
its wait for the GIL, and for 20 ms more. LOG gets the tids and how many waits the holder has seen.
"""
import ctypes
import json
import os
import sys
import threading
import time

log, rounds = sys.argv[1], int(sys.argv[2])
mode = sys.argv[3] if len(sys.argv) > 3 else "pair"
keeps, releases = ctypes.PyDLL(None), ctypes.CDLL(None)
keeps.usleep.argtypes = [ctypes.c_uint]
for library in keeps, releases:
    for name in "read", "write":
        getattr(library, name).argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    library.pread.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long]
told = {}
letter = ctypes.create_string_buffer(1)
FUTEX = b"202 "


def tid():
    return releases.syscall(186)


def sleeps_in_futex(descriptor, buffer):
    """Ask without releasing the GIL."""
    return keeps.pread(descriptor, buffer, 4, 0) == 4 and buffer.raw[:4] == FUTEX


def held(tids, to_waiter, to_holder, n):
    buffer = ctypes.create_string_buffer(4)
    tids["seen"] = 0
    releases.read(to_holder, buffer, 1)
    state = os.open("/proc/self/task/%d/syscall" % tids["waiter"], os.O_RDONLY)
    for _ in range(n):
        keeps.write(to_waiter, letter, 1)
        for _ in range(2000):
            if sleeps_in_futex(state, buffer):
                tids["seen"] += 1
                break
            keeps.usleep(50)
        keeps.usleep(20000)  # the holder's line
        releases.read(to_holder, buffer, 1)
    os.close(state)


def waits(tids, from_holder, to_holder, n):
    mine = ctypes.create_string_buffer(1)
    keeps.write(to_holder, letter, 1)
    for _ in range(n):
        releases.read(from_holder, mine, 1)  # the waiter's line
        keeps.write(to_holder, letter, 1)


def pair(n):
    """Run both threads, and return their tids."""
    wake, ready = os.pipe(), os.pipe()
    tids = {}
    both = threading.Barrier(2)

    def run(name, function, *arguments):
        tids[name] = tid()
        both.wait()
        function(tids, *arguments)

    threads = [threading.Thread(target=run, args=("holder", held, wake[1], ready[0], n)), threading.Thread(target=run, args=("waiter", waits, wake[0], ready[1], n))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for end in wake + ready:
        os.close(end)
    return tids


def own_conditions():
    """Wait at condition variables and locks that are not the GIL. Only one thread runs."""
    condition, lock, event = threading.Condition(), threading.Lock(), threading.Event()
    lock.acquire()
    with condition:
        condition.wait(0.01)
    lock.acquire(timeout=0.01)
    event.wait(0.01)
    buffers = [ctypes.create_string_buffer(64) for _ in range(2)]
    until = (ctypes.c_long * 2)(0, 0)
    for library in releases, keeps:
        releases.pthread_mutex_lock(buffers[1])
        for wanted in range(3):
            now = time.time() + 0.005
            until[0], until[1] = int(now), int(now % 1 * 1e9)
            library.pthread_cond_timedwait(buffers[0], buffers[1], until)
        releases.pthread_mutex_unlock(buffers[1])


if mode == "conditions":
    own_conditions()
elif mode == "fork":
    told["before"] = pair(rounds)
    child = os.fork()
    if not child:
        with open(log + ".child", "w") as out:
            json.dump({"pid": os.getpid(), "pair": pair(rounds)}, out)
        os._exit(0)
    os.waitpid(child, 0)
    told["pair"] = pair(rounds)
elif mode == "ends":
    told["pairs"] = [pair(1) for _ in range(rounds)]
else:
    told["pair"] = pair(rounds)
with open(log, "w") as out:
    json.dump(told, out)
