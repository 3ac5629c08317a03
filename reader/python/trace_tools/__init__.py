"""What `trace` does in Python: comparing runs (`trace diff`), nights of a benchmark (`trace nightly`), tables for other engines.

The command starts `python3 -m trace_tools COMMAND ...` and names itself in LIBTRACE_COMMAND. Reports are read through that command alone: it
exports them as SQLite databases with the tables of Nsight Systems, which databases of nsys have, too.
"""


class Failure(Exception):
    """Ends the command with one line on stderr and exit status 2."""
