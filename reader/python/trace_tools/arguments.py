"""Options of the package's commands: what is wrong with one is a single line that names it, its value and what is allowed."""

import argparse
import math
import sys

from . import Failure


class Parser(argparse.ArgumentParser):
    """Raises Failure where argparse would print its usage and end the process. Options are not abbreviated."""

    def __init__(self, **more):
        super().__init__(allow_abbrev=False, **more)

    def print_help(self, file=None):
        (file or sys.stdout).write(self.format_help())  # argparse's own hides that it cannot be written

    def error(self, message):
        raise Failure(
            f"{self.prog.removeprefix('trace ')}: {message.removeprefix('argument ')}; see '{self.prog} --help'"
        )


def number(text, allowed, kind, is_allowed):
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not is_allowed(value):
        raise argparse.ArgumentTypeError(f"'{text}' is not {allowed}")
    return value


def count(least):
    """The type of an option that counts something, from `least` on."""
    return lambda text: number(text, f"a whole number from {least} on", int, lambda n: n >= least)


def amount(text):
    """The type of an option in days, MiB, seconds or percent: 0 or more, with a fraction or without."""
    return number(text, "a number from 0 on, such as 10 or 0.5", float, lambda n: 0 <= n < math.inf)


def probability(text):
    """The type of an option that is a chance."""
    return number(text, "a number between 0 and 1, such as 0.005", float, lambda n: 0 < n < 1)
