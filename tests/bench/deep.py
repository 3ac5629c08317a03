#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make calls from many depths of Python functions, for the section `depth` of run.

deep.py [CALLS]: walks a pseudo-random tree with generators, sorted() and plain calls, and writes a byte to /dev/null at each leaf. Prints "calls N".
"""
import os
import random
import sys


class Walk:
    def __init__(self, calls):
        self.left = self.calls = calls
        self.random = random.Random(1)
        self.file = os.open("/dev/null", os.O_WRONLY)

    def leaf(self):
        self.left -= 1
        return os.write(self.file, b"x")

    def plain(self, depth):
        return sum(self.descend(depth + 1) for _ in range(self.random.randint(1, 3)) if self.left > 0)

    def keyed(self, depth):
        return len(sorted(range(2), key=lambda _: self.descend(depth + 1) if self.left > 0 else 0))

    def each(self, depth):
        return sum(map(self.descend, [depth + 1] * self.random.randint(1, 2))) if self.left > 0 else 0

    def descend(self, depth):
        if depth < 30 and self.random.random() > 0.1:
            return self.random.choice((self.plain, self.keyed, self.each))(depth)
        return self.leaf()


def main():
    walk = Walk(int(sys.argv[1]) if len(sys.argv) > 1 else 50000)
    while walk.left > 0:
        walk.descend(0)
    print("calls", walk.calls - walk.left, sep="\t")


if __name__ == "__main__":
    main()
