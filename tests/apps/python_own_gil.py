# SPDX-License-Identifier: Apache-2.0
"""Threads of a sub-interpreter that compete for its own GIL, while a thread of the main interpreter has the main one.

Usage: python_own_gil.py LOG. LOG gets the interpreter's identifier and the tids of both sides.
"""
import json
import os
import sys
import threading
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

CODE = """
import json, threading, time
tids = []
def spin():
    tids.append(threading.get_native_id())
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
threads = [threading.Thread(target=spin) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(LOG, "w") as out:
    json.dump(tids, out)
"""
run = getattr(interpreters, "exec", None) or interpreters.run_string
made = interpreters.create()
ended = threading.Event()
mine = []


def spin():
    mine.append(threading.get_native_id())
    while not ended.is_set():
        pass


threads = [threading.Thread(target=spin) for _ in range(2)]
for thread in threads:
    thread.start()
run(made, "LOG = %r\n" % (sys.argv[1] + ".sub") + CODE)
ended.set()
for thread in threads:
    thread.join()
interpreters.destroy(made)
with open(sys.argv[1] + ".sub") as told:
    others = json.load(told)
with open(sys.argv[1], "w") as out:
    json.dump({"interpreter": int(made), "sub": others + [os.getpid()], "main": mine + [os.getpid()]}, out)
