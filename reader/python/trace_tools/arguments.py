# SPDX-License-Identifier: Apache-2.0
"""Options of the package's commands: an error is a single line that names the option, its value and what is allowed."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from typing import TYPE_CHECKING, Any, Callable, NoReturn, TypeVar

from . import Failure

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

Number = TypeVar("Number", int, float)


class Parser(argparse.ArgumentParser):
    """Raises Failure where argparse would print its usage and end the process. Options are not abbreviated."""

    def __init__(self, **more: Any) -> None:
        super().__init__(allow_abbrev=False, **more)

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        (file or sys.stdout).write(self.format_help())  # argparse's own method hides write errors

    def error(self, message: str) -> NoReturn:
        raise Failure(
            f"{self.prog.removeprefix('trace ')}: {message.removeprefix('argument ')}; see '{self.prog} --help'"
        )


def number(text: str, allowed: str, kind: Callable[[str], Number], is_allowed: Callable[[Number], bool]) -> Number:
    try:
        value: Number | None = kind(text)
    except ValueError:
        value = None
    if value is None or not is_allowed(value):
        raise argparse.ArgumentTypeError(f"invalid value '{text}': expected {allowed}")
    return value


def count(least: int) -> Callable[[str], int]:
    """Return the type of an option that is a count of at least `least`."""
    return lambda text: number(text, f"an integer of at least {least}", int, lambda n: n >= least)


def amount(text: str) -> float:
    """Parse an option in days, MiB, seconds or percent: a number >= 0, with or without a fraction."""
    return number(text, "a number of at least 0, such as 10 or 0.5", float, lambda n: 0 <= n < math.inf)


def words(text: str) -> list[str]:
    """Split a text into words, as a shell does."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of shell words: {str(error).lower()}") from None


def probability(text: str) -> float:
    """Parse an option that is a probability."""
    return number(text, "a number between 0 and 1, such as 0.005", float, lambda n: 0 < n < 1)
