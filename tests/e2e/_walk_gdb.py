# SPDX-License-Identifier: Apache-2.0
"""For gdb: at each call of a wrapper, walk the thread's stack and print the addresses, innermost first, as lines of JSON."""
import json
import subprocess

import gdb  # pylint: disable=import-error

OUTPUT = open(gdb.convenience_variable("output").string(), "w", encoding="ascii")  # noqa: SIM115
DEPTH = 128


def addresses():
    """Return the addresses of the callers of the newest frame. If a signal interrupted a function, return the address after the
    interrupted one, as reports do.
    """
    found, frame, exact = [], gdb.newest_frame().older(), False
    while frame is not None and len(found) <= DEPTH:
        kind = frame.type()
        if kind in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
            found.append(frame.pc() + exact)
            exact = kind == gdb.SIGTRAMP_FRAME
        frame = frame.older()
    return found


class Walk(gdb.Breakpoint):
    def stop(self):
        OUTPUT.write(json.dumps([gdb.selected_thread().ptid[1], addresses()]) + "\n")
        return False


def wrapper(path, name):
    """Return the address of an exported function of a loaded library: gdb itself finds it only if the library has debug information."""
    with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="ascii") as file:
        base = min(int(line.partition("-")[0], 16) for line in file if line.rstrip().endswith(path))
    listing = subprocess.run(["readelf", "--dyn-syms", "-W", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return base + next(int(row[1], 16) for row in rows if len(row) > 7 and row[6] != "UND" and row[7].partition("@")[0] == name)


gdb.execute("tbreak main")
gdb.execute("run")
library = next(o for o in gdb.objfiles() if o.filename.endswith("/libtrace.so"))
Walk(f"*{wrapper(library.filename, 'pread')}")
gdb.execute("continue")
OUTPUT.close()
