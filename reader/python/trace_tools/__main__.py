"""python3 -m trace_tools COMMAND ...: finds the command; what fails becomes one line on stderr and exit status 2."""
import importlib
import importlib.util
import sys

from . import Failure

COMMANDS = {"diff": ("diff", "numpy", "scipy"), "nightly": ("nightly", "numpy", "scipy"),
            "parquet": ("parquet", "pyarrow"), "recipe": ("recipe", "duckdb")}  # command: its module, and what that needs


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(f"trace: python3 -m trace_tools COMMAND ...; commands: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    module, *needed = COMMANDS[sys.argv[1]]
    lacking = [name for name in needed if not importlib.util.find_spec(name)]
    if lacking:
        print(f"trace: {sys.executable} lacks what 'trace {sys.argv[1]}' needs ({', '.join(lacking)}); scripts/setup --python installs it", file=sys.stderr)
        return 2
    module = importlib.import_module(f"trace_tools.{module}")
    try:
        return module.main(sys.argv[2:])
    except Failure as failure:
        print(f"trace: {failure}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
