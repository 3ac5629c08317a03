# SPDX-License-Identifier: Apache-2.0
"""Programs of Python whose critical path is known: stages sleep by usleep(), as those of stages.h. Usage: waited.py queue|event|gil|future"""
import concurrent.futures
import ctypes
import queue
import sys
import threading

libc = ctypes.CDLL(None)
held = ctypes.PyDLL(None)  # its calls keep the GIL


def first():
    libc.usleep(30000)


def second():
    libc.usleep(60000)


def third():
    libc.usleep(140000)


def third_held():
    held.usleep(140000)


def put(items):
    third()
    items.put(1)


def run_queue():
    """The main thread waits for an item that another one puts into a queue."""
    items = queue.Queue()
    thread = threading.Thread(target=put, args=(items,))
    thread.start()
    items.get()
    second()
    thread.join()


def run_event():
    """Two threads, each of which waits for an event of the one before it."""
    events = [threading.Event() for _ in range(2)]

    def relay():
        events[0].wait()
        second()
        events[1].set()
    thread = threading.Thread(target=relay)
    thread.start()
    third()
    events[0].set()
    events[1].wait()
    first()
    thread.join()


def run_gil():
    """A thread keeps the GIL while it sleeps; the main thread, which has slept less, waits for the GIL."""
    begun = threading.Event()

    def hold():
        begun.set()
        third_held()
    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    first()
    second()
    thread.join()


def run_future():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(third).result()
        first()


{"queue": run_queue, "event": run_event, "gil": run_gil, "future": run_future}[sys.argv[1]]()
