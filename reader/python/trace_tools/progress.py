# SPDX-License-Identifier: Apache-2.0
"""Progress messages on stderr, for commands that take longer than a second."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

SECONDS = 1.0  # delay of the first line, and between two lines


class Progress:
    """A context: say() sets what is being done, a thread of its own prints it. On a terminal the line is rewritten and
    removed at the end; elsewhere each text is a line.
    """

    def __init__(self, command: str) -> None:
        self.command = command
        self.text = self.shown = ""
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
        while not self.ended.wait(SECONDS):
            if self.text == self.shown:
                continue
            is_terminal = sys.stderr.isatty()
            padding = " " * (len(self.shown) - len(self.text)) if is_terminal else ""
            self.shown = self.text
            line = f"trace: {self.command}: {self.text}{padding}"
            self.write(f"\r{line}" if is_terminal else f"{line}\n")

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
            self.write("\r" + " " * (len(f"trace: {self.command}: ") + len(self.shown)) + "\r")
