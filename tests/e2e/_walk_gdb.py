# SPDX-License-Identifier: Apache-2.0
"""For gdb: at each call of a wrapper, walk the thread's stack and print the addresses, innermost first, as lines of JSON."""
import json

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


gdb.execute("tbreak main")
gdb.execute("run")
library = next(o for o in gdb.objfiles() if o.filename.endswith("/libtrace.so"))
Walk(f"*{int(library.lookup_global_symbol('pread').value().address)}")
gdb.execute("continue")
OUTPUT.close()
