# SPDX-License-Identifier: Apache-2.0
"""python3 -m trace_tools COMMAND ...: runs the command. A failure is one line on stderr and exit status 2."""

from __future__ import annotations

import importlib
import importlib.util
import io
import os
import signal
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from . import Failure

if TYPE_CHECKING:
    from typing_extensions import Buffer

COMMANDS = {
    "diff": ("diff", "numpy", "scipy"),
    "nightly": ("nightly", "numpy", "scipy"),
    "parquet": ("parquet", "pyarrow"),
    "recipe": ("recipe", "duckdb"),
    "what-if": ("what_if",),
    "why": ("why",),
}  # command: its module, and the packages that it needs


def end_by_pipe() -> int:
    """End this process by SIGPIPE, like other commands, since the reader of the output has gone."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)
    return 2


class Output(io.FileIO):
    """Standard output that reports a write error once, in our words. Otherwise the interpreter tries again when it
    exits.
    """

    failed = False

    def write(self, data: Buffer) -> int:
        try:
            return memoryview(data).nbytes if self.failed else super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.failed = True
            raise Failure(f"cannot write 'standard output': {error.strerror}") from None


def run(module: ModuleType, arguments: list[str]) -> int:
    """Run the command and flush its output. Returns its exit status."""
    usual = sys.stdout
    if usual is None:  # closed
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the process ends
    else:
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(Output(usual.fileno(), "w", closefd=False)),
            encoding=usual.encoding,
            errors=usual.errors,
            line_buffering=usual.isatty(),
        )
    try:
        status: int = module.main(arguments)
    except SystemExit as end:  # from --help, with a number
        status = int(end.code or 0)
    sys.stdout.flush()
    return status


def way_to_install(extra: str) -> str:
    """Return the command that installs what an extra of the wheel needs: by pip if we were installed by it."""
    ours = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
    if ours == os.path.realpath(os.path.join(sys.prefix, "lib/libtrace/python")):
        return f"{sys.executable} -m pip install 'libtrace[{extra}]'"
    return "scripts/setup --python"


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(f"usage: python3 -m trace_tools COMMAND ...; commands: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    name_of_module, *needed = COMMANDS[sys.argv[1]]
    lacking = [name for name in needed if not importlib.util.find_spec(name)]
    if lacking:
        name = "export -t parquet" if sys.argv[1] == "parquet" else sys.argv[1]
        print(
            f"trace: 'trace {name}' needs {', '.join(lacking)}, which {sys.executable} does not have; "
            f"to install it: {way_to_install('diff' if 'numpy' in needed else 'parquet')}",
            file=sys.stderr,
        )
        return 2
    module = importlib.import_module(f"trace_tools.{name_of_module}")
    try:
        return run(module, sys.argv[2:])
    except Failure as failure:
        print(f"trace: {failure}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return end_by_pipe()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
