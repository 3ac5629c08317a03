# SPDX-License-Identifier: Apache-2.0
"""Progress messages on stderr, for commands that take longer than a second."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

SECONDS = 1.0  # delay of the first line, and between two lines
REPEAT = 10  # an unchanged text is printed again after this many SECONDS; on a terminal, every SECONDS


class Progress:
    """A context manager: say() sets the text, a background thread prints it. On a terminal the line is rewritten, and
    removed at the end; elsewhere each text is a line. An unchanged text is repeated with the time that it has lasted.
    """

    def __init__(self, command: str) -> None:
        self.command = command
        self.text = self.shown = ""
        self.width = 0  # of the line that was written last
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def say(self, text: str) -> None:
        self.text = text

    def write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            self.ended.set()

    def watch(self) -> None:
        rounds = 0
        while not self.ended.wait(SECONDS):
            is_terminal = sys.stderr.isatty()
            rounds = rounds + 1 if self.text == self.shown else 0
            if rounds and not is_terminal and rounds % REPEAT:
                continue
            self.shown = self.text
            lasted = f" (for {rounds * SECONDS:.0f} s)" if rounds else ""
            line = f"trace: {self.command}: {self.shown}{lasted}"
            self.write(f"\r{line.ljust(self.width)}" if is_terminal else f"{line}\n")
            self.width = len(line)

    def __enter__(self) -> Progress:
        if sys.stderr is not None:
            self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        if not self.thread.ident:
            return
        self.thread.join()
        if self.shown and sys.stderr.isatty():
            self.write("\r" + " " * self.width + "\r")
