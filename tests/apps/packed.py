# SPDX-License-Identifier: Apache-2.0
"""A benchmark that compresses texts by zlib at a level, and draws them in between (tests/proof/functions.py).

Usage: packed.py LEVEL STEPS
"""
import random
import sys
import zlib

level, steps = map(int, sys.argv[1:])
chance = random.Random(1)
words = ["".join(chance.choices("abcdefgh", k=chance.randint(2, 7))) for _ in range(2000)]


def draw():
    return " ".join(chance.choices(words, k=12000)).encode()


def pack(text):
    return zlib.compress(text, level)


for _ in range(steps):
    pack(draw())
