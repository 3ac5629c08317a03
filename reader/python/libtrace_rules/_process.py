# SPDX-License-Identifier: Apache-2.0
"""Execution of foreign code in a separate process, so that its crashes and endless loops affect no other code."""

import contextlib
import os
import pickle
import resource
import select
import signal
import struct
import sys
import time
from typing import Callable, Iterable, Optional, TypeVar

_HEAD = struct.Struct("<Q")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class _Gone(Exception):
    """The process ended early."""


def _child(fd: int, one: Callable[[_Item], _Result], todo: Iterable[_Item]) -> None:
    """Run the code in the child. Never returns."""
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.setpgid(0, 0)
        for item in todo:
            data = pickle.dumps(one(item))
            sys.stdout.flush()
            data = _HEAD.pack(len(data)) + data
            while data:
                data = data[os.write(fd, data) :]
        status = 0
    finally:
        os._exit(status)


def _read(fd: int, count: int, deadline: float) -> bytes:
    out = b""
    while len(out) < count:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            raise TimeoutError
        piece = os.read(fd, min(count - len(out), 1 << 20))
        if not piece:
            raise _Gone
        out += piece
    return out


def _wait(pid: int) -> str:
    status = os.waitpid(pid, 0)[1]
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"


def _end(pid: int) -> None:
    """End the process and all processes that it started."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            kill(pid, signal.SIGKILL)
    _wait(pid)


def over_all(
    one: Callable[[_Item], _Result], todo: Iterable[_Item], limit_s: float, take: Callable[[_Item, _Result], None]
) -> Optional[str]:
    """Call one(item) for each item, in order, in another process, and take(item, result) in this one. Each item may
    take limit_s seconds.

    Return None, or the reason for an early end; take() was then not called for the item that failed, nor for those
    after it.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        _child(writer, one, todo)
    os.close(writer)
    try:
        for item in todo:
            deadline = time.monotonic() + limit_s
            size = _HEAD.unpack(_read(reader, _HEAD.size, deadline))[0]
            take(item, pickle.loads(_read(reader, size, deadline)))
    except TimeoutError:
        _end(pid)
        return f"did not end within {limit_s:g} s"
    except _Gone:
        return "ended its process by " + _wait(pid)
    finally:
        os.close(reader)
    _end(pid)  # its threads and children may still run
    return None
