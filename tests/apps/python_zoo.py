# SPDX-License-Identifier: Apache-2.0
"""Makes calls that are recorded, at random depths and in many ways, and writes the Python frames of each, from sys._getframe().

python_zoo.py LOG CALLS [THREADS [SEED [torture]]]: lines of LOG.PID are {"call": number, "frames": [[function, file, line], ...]}, innermost first. Call
number n is an lseek() that returns n. With `torture`, other threads fork, execute code, replace functions, collect garbage and end meanwhile.
Where greenlet can be imported, calls are made in greenlets, too.
"""
import contextlib
import ctypes
import functools
import gc
import json
import marshal
import os
import random
import sys
import threading

try:
    from greenlet import getcurrent, greenlet
except ImportError:
    greenlet = None

LOG, CALLS = sys.argv[1], int(sys.argv[2])
THREADS = int(sys.argv[3]) if len(sys.argv) > 3 else 1
SEED = int(sys.argv[4]) * 10000 if len(sys.argv) > 4 else 0
TORTURE = len(sys.argv) > 5
FILE = os.open(__file__, os.O_RDONLY)
DEPTH = 40
# Enough constants for EXTENDED_ARG, and a long line table. Each call loads a code object of its own, which takes less time than to compile one.
LONG_TEXT = "\n".join(f"v{i} = {i}.5" for i in range(400)) + "\nzoo.go(depth)\n" + "\n".join(f"w{i} = {i}.5" for i in range(9))
LONG_CODE = marshal.dumps(compile(LONG_TEXT, "long.py", "exec"))
told = []
shared = {}  # each frame once: 100,000 chains are held until the end
numbers = iter(range(1, 1 << 30))


def frames_of(frame):
    frames = []
    while frame:
        code = frame.f_code
        one = (getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno)
        frames.append(shared.setdefault(one, one))
        frame = frame.f_back
    return frames


def tell(number, frame):
    told.append((number, frames_of(frame)))
    return number


def call():
    os.lseek(FILE, tell(next(numbers), sys._getframe()), 0)


class Zoo:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ways = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("way_") and (greenlet or name != "way_greenlets")]

    def go(self, depth):
        if depth <= 0:
            return call()
        return self.random.choice(self.ways)(depth - 1)

    def way_method(self, depth):
        return self.go(depth)

    @staticmethod
    def recursion(self, depth, times):
        if times:
            return Zoo.recursion(self, depth, times - 1)
        return self.go(depth)

    def way_recursion(self, depth):
        times = self.random.randrange(4)
        return self.recursion(self, depth - times, times)

    def way_generator(self, depth):
        def inner():
            yield 1
            yield self.go(depth)

        def outer():
            yield from inner()

        for _ in outer():
            pass

    def way_left_generator(self, depth):
        def left():
            try:
                yield 1
            finally:
                self.go(depth)
        next(left())

    def way_lambda(self, depth):
        list(map(lambda _: self.go(depth), [1]))

    def way_sorted(self, depth):
        sorted([1], key=lambda _: self.go(depth) or 1)

    def way_comprehension(self, depth):
        return [
            self.go(depth)
            for _ in range(1)
        ]

    def way_exec(self, depth):
        before = "\n" * self.random.randrange(300)
        between = "\n".join("x = 1" if self.random.random() < 0.5 else "" for _ in range(self.random.randrange(40)))
        exec(compile(before + between + "\nzoo.go(depth)\n", "<string>", "exec"), {"zoo": self, "depth": depth})

    def way_exec_same_size(self, depth):
        """Create code objects at the same address, with different lines."""
        at = self.random.randrange(6)
        text = "\n".join(["pass"] * 1 + [""] * at + ["zoo.go(depth)"] + [""] * (6 - at))
        exec(compile(text, "same.py", "exec"), {"zoo": self, "depth": depth})

    def way_exec_named(self, depth):
        name = self.random.choice(["plain", "été", "漢字", "имя", "𝒳𝓎"])
        file = self.random.choice(["/tmp/plain.py", "/tmp/é.py", "/tmp/файл.py", "/tmp/😀.py"])
        space = {"zoo": self, "depth": depth}
        exec(compile(f"def {name}(zoo, depth):\n    if True:\n        zoo.go(depth)\n\n{name}(\n  zoo,\n  depth)", file, "exec"), space)

    def way_class_body(self, depth):
        class Made:
            made = self.go(depth)
        return Made

    def way_wrapped(self, depth):
        @functools.lru_cache(maxsize=None)
        def cached(_):
            return self.go(depth)

        @functools.wraps(cached)
        def wrapper(*arguments):
            return cached(*arguments)
        wrapper(1)

    def way_context(self, depth):
        @contextlib.contextmanager
        def manager():
            yield
            self.go(depth)
        with manager():
            pass

    def way_enter(self, depth):
        zoo = self

        class Manager:
            def __enter__(self):
                zoo.go(depth)

            def __exit__(self, *_):
                return False
        with Manager():
            pass

    def way_deleted(self, depth):
        zoo = self

        class Deleted:
            def __del__(self):
                zoo.go(depth)
        held = Deleted()
        del held

    def way_attribute(self, depth):
        zoo = self

        class Lazy:
            @property
            def value(self):
                return zoo.go(depth)

            def __getattr__(self, name):
                return zoo.go(depth)
        return self.random.choice([lambda: Lazy().value, lambda: Lazy().other])()

    def way_coroutine(self, depth):
        async def inner():
            return self.go(depth)

        async def outer():
            return await inner()
        with contextlib.suppress(StopIteration):
            outer().send(None)

    def way_callback(self, depth):
        ctypes.CFUNCTYPE(ctypes.c_int)(lambda: self.go(depth) and 0 or 0)()

    def way_exception(self, depth):
        try:
            raise KeyError
        except KeyError:
            self.go(depth)
        finally:
            gc.isenabled()

    def way_greenlets(self, depth):
        """Switch between two greenlets at different depths, whose C stacks have the same addresses."""
        def below(times):
            if times:
                return below(times - 1)
            outer.switch()
            return self.go(depth)
        outer, inner = getcurrent(), greenlet(below)
        inner.switch(self.random.randrange(5))

        def other():
            inner.switch()
            outer.switch()
        greenlet(other, parent=outer).switch()
        while not inner.dead:
            inner.switch()

    def way_many_names(self, depth):
        exec(marshal.loads(LONG_CODE), {"zoo": self, "depth": depth})


def work(seed, calls):
    zoo = Zoo(seed)
    for _ in range(calls):
        zoo.go(zoo.random.randrange(DEPTH))


def write():
    with open(f"{LOG}.{os.getpid()}", "w", encoding="utf-8") as log:
        for number, frames in told:
            log.write(json.dumps({"call": number, "frames": frames}) + "\n")


def disturb(seed, ended):
    """Do what a thread can do to the objects that frames of other threads refer to."""
    zoo = Zoo(seed)

    def replaced():
        return 1
    while not ended.is_set():
        zoo.random.choice([zoo.way_exec, zoo.way_many_names])(3)
        replaced.__code__ = (lambda: 2).__code__ if zoo.random.random() < 0.5 else compile("1", "made.py", "eval")
        replaced()
        gc.collect(0)
        short = threading.Thread(target=work, args=(zoo.random.random(), 3))
        short.start()
        short.join()
        if zoo.random.random() < 0.05:
            fork(zoo.random.random())


def fork(seed):
    pid = os.fork()
    if pid == 0:
        del told[:]
        work(seed, 30)
        write()
        os._exit(0)
    os.waitpid(pid, 0)


def run():
    sys.setrecursionlimit(10000)
    ended = threading.Event()
    others = [threading.Thread(target=disturb, args=(SEED + 1000 + i, ended)) for i in range(3 if TORTURE else 0)]
    threads = [threading.Thread(target=work, args=(SEED + i, CALLS // THREADS)) for i in range(1, THREADS)]
    for thread in others + threads:
        thread.start()
    work(SEED, CALLS // THREADS)
    for thread in threads:
        thread.join()
    ended.set()
    for thread in others:
        thread.join()
    fork(SEED + 2)
    write()
    print("done", len(told))


if __name__ == "__main__":
    run()
