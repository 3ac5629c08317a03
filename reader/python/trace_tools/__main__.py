"""python3 -m trace_tools COMMAND ...: finds the command; what fails becomes one line on stderr and exit status 2."""

import importlib
import importlib.util
import io
import os
import signal
import sys

from . import Failure

COMMANDS = {
    "diff": ("diff", "numpy", "scipy"),
    "nightly": ("nightly", "numpy", "scipy"),
    "parquet": ("parquet", "pyarrow"),
    "recipe": ("recipe", "duckdb"),
}  # command: its module, and what that needs


def end_by_pipe():
    """What we print is wanted no more: the end is that of other commands, by SIGPIPE."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)
    return 2


class Output(io.FileIO):
    """Standard output that says once, in our words, that it cannot be written: the interpreter tries again when it ends."""

    failed = False

    def write(self, data):
        try:
            return len(data) if self.failed else super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.failed = True
            raise Failure(f"cannot write 'standard output': {error.strerror}") from None


def run(module, arguments):
    """Its status. What it has printed is out then."""
    usual = sys.stdout
    if usual is None:  # closed
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    else:
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(Output(usual.fileno(), "w", closefd=False)),
            encoding=usual.encoding,
            errors=usual.errors,
            line_buffering=usual.isatty(),
        )
    try:
        status = module.main(arguments)
    except SystemExit as end:  # of --help
        status = end.code
    sys.stdout.flush()
    return status


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(f"trace: python3 -m trace_tools COMMAND ...; commands: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    module, *needed = COMMANDS[sys.argv[1]]
    lacking = [name for name in needed if not importlib.util.find_spec(name)]
    if lacking:
        name = "export -t parquet" if sys.argv[1] == "parquet" else sys.argv[1]
        print(
            f"trace: {sys.executable} lacks what 'trace {name}' needs ({', '.join(lacking)}); scripts/setup --python installs it",
            file=sys.stderr,
        )
        return 2
    module = importlib.import_module(f"trace_tools.{module}")
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
