# SPDX-License-Identifier: Apache-2.0
"""The commands of `trace` that are written in Python: `trace diff`, `trace nightly`, `trace export -t parquet` and
`trace recipe`.

`trace` starts `python3 -m trace_tools COMMAND ...` and passes its own path in LIBTRACE_COMMAND. Reports are read only
through that command, which exports them as SQLite databases with the tables of Nsight Systems. Databases written by
nsys have the same tables.
"""


class Failure(Exception):
    """Ends the command with one line on stderr and exit status 2."""
