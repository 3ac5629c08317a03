# SPDX-License-Identifier: Apache-2.0
"""Hashes of functions: whether the code of a function is the same in two builds of a program.

A hash covers the bytes of the function in its binary, found by an address that was sampled in it, if the binary has the
build-id of the recorded one. References to other places of the module (displacements of calls, jumps and data relative
to the instruction) are masked, because they change when other code moves. Linked binaries have no relocations left, so
on x86-64 a reference is known by the bytes before it and a target in the module and outside of the function. Other
machines have no hashes.
"""

from __future__ import annotations

import bisect
import hashlib
import mmap
import os
import stat
import struct

MOST_BYTES = 256 << 10  # of a function; larger ones have no hash
X86_64 = 62
LOAD, NOTE, BUILD_ID = 1, 4, 3
INVALID = (OSError, ValueError, IndexError, OverflowError, struct.error)
SYMTAB, DYNSYM, FUNCTION = 2, 11, 2


class Binary:
    """The functions of an ELF file. Its content is not trusted: the exceptions INVALID say that it cannot be read."""

    def __init__(self, path: str) -> None:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("no regular file")
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", self.data, 18)[0] != X86_64:
            raise ValueError("no ELF file of x86-64")
        self.segments, self.build_id = self.read_segments()
        self.functions = self.read_functions()
        self.starts = [start for start, _ in self.functions]

    def read_segments(self) -> tuple[list[tuple[int, int, int]], str]:
        """Return (address, bytes, offset) of each loaded segment, and the build-id."""
        (table,), (size, count) = struct.unpack_from("<Q", self.data, 32), struct.unpack_from("<HH", self.data, 54)
        segments, build_id = [], ""
        for i in range(count):
            kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", self.data, table + i * size)
            if kind == LOAD:
                segments.append((address, length, offset))
            at = offset
            while kind == NOTE and at + 12 <= offset + length:
                name, data, what = struct.unpack_from("<III", self.data, at)
                begin = at + 12 + (name + 3 & ~3)
                if what == BUILD_ID and self.data[at + 12 : at + 16] == b"GNU\0":
                    build_id = self.data[begin : begin + data].hex()
                at = begin + (data + 3 & ~3)
        return segments, build_id

    def read_functions(self) -> list[tuple[int, int]]:
        """Return (address, bytes) of each function, in their order."""
        (table,), (size, count) = struct.unpack_from("<Q", self.data, 40), struct.unpack_from("<HH", self.data, 58)
        found = set()
        for i in range(count):
            kind, _, _, offset, length = struct.unpack_from("<IQQQQ", self.data, table + i * size + 4)
            if kind in (SYMTAB, DYNSYM):
                part = self.data[offset : offset + length // 24 * 24]
                for _, info, _, _, value, bytes_ in struct.iter_unpack("<IBBHQQ", part):
                    if info & 15 == FUNCTION and 0 < bytes_ <= MOST_BYTES:
                        found.add((value, bytes_))
        return sorted(found)

    def hash_at(self, address: int) -> str:
        """Return the hash of the function at an address of the file; "" if there is none."""
        place = bisect.bisect_right(self.starts, address) - 1
        if place < 0:
            return ""
        start, size = self.functions[place]
        for begin, length, offset in self.segments:
            if address < start + size and begin <= start and start + size <= begin + length:
                file_offset = offset + start - begin
                code = bytearray(self.data[file_offset : file_offset + size])
                return hashlib.sha256(self.masked(code, start)).hexdigest()[:16]
        return ""

    def masked(self, code: bytearray, start: int) -> bytearray:
        """Set references to places in the module, and outside of the function, to 0."""
        low = min(begin for begin, _, _ in self.segments)
        high = max(begin + length for begin, length, _ in self.segments) + (1 << 20)  # data without bytes in the file
        i = 1
        while i + 4 <= len(code):
            jumps = code[i - 1] in (0xE8, 0xE9) or (i > 1 and code[i - 2] == 0x0F and code[i - 1] & 0xF0 == 0x80)
            if jumps or code[i - 1] & 0xC7 == 0x05:
                target = start + i + 4 + struct.unpack_from("<i", code, i)[0]
                if low <= target < high and not start <= target < start + len(code):
                    code[i : i + 4] = b"\0\0\0\0"
                    i += 4
                    continue
            i += 1
        return code


class Hashes:
    """Hashes of functions by module and address; a file is read once."""

    def __init__(self) -> None:
        self.binaries: dict[str, Binary | None] = {}

    def binary(self, path: str) -> Binary | None:
        if path not in self.binaries:
            try:
                self.binaries[path] = Binary(path)
            except INVALID:
                self.binaries[path] = None
        return self.binaries[path]

    def get(self, path: str, build_id: str, address: int) -> str:
        """Return the hash of the function at an address of the module's file; "" if the file is of another build."""
        found = self.binary(path) if path.startswith("/") and build_id else None
        try:
            return found.hash_at(address) if found and found.build_id == build_id else ""
        except INVALID:
            return ""
