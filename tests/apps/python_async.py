# SPDX-License-Identifier: Apache-2.0
"""Makes calls that are recorded in coroutines, tasks and asynchronous generators, and writes the Python frames of each, as python_zoo.py does.

python_async.py LOG CALLS [SEED [uvloop]]. From 3.14 on, the frames that await the running task follow its outermost one, as asyncio.capture_call_graph()
has them, with "await " before their names.
"""
import asyncio
import os
import random
import sys
import types

OPTIONS = sys.argv[3:]
del sys.argv[3:]  # python_zoo has others
import python_zoo as zoo  # noqa: E402

DEPTH = 14
NEW = sys.version_info[:2]


def awaiters_of(graph):
    """Return the frames of the one chain of awaiting tasks, the innermost first."""
    frames = []
    while graph and len(graph.awaited_by) == 1:
        graph = graph.awaited_by[0]
        frames += [("await " + f.f_code.co_qualname, f.f_code.co_filename, f.f_lineno) for f in (entry.frame for entry in graph.call_stack)]
    return frames


def frames_of(frame):
    """Return the frames of this thread, and of the tasks that await its own."""
    frames = zoo.frames_of(frame)
    try:
        task = asyncio.current_task() if NEW >= (3, 14) else None
    except RuntimeError:
        task = None
    root, at = task and task.get_coro().cr_frame, 0
    while root and frame is not root:
        frame, at = frame.f_back, at + 1
    return frames[:at + 1] + awaiters_of(asyncio.capture_call_graph(task)) + frames[at + 1:] if root else frames


def tell(number, frame):
    zoo.told.append((number, frames_of(frame)))
    return number


def call():
    os.lseek(zoo.FILE, tell(next(zoo.numbers), sys._getframe()), 0)


class Awaited:
    """An object with __await__()."""

    def __init__(self, coroutine):
        self.coroutine = coroutine

    def __await__(self):
        return (yield from self.coroutine.__await__())


class Manager:
    def __init__(self, zoo, depth):
        self.go, self.depth = zoo.go, depth

    async def __aenter__(self):
        await self.go(self.depth)

    async def __aexit__(self, *_):
        return False


class Async:
    def __init__(self, seed, loop):
        self.random, self.loop = random.Random(seed), loop
        self.ways = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("way_")]

    async def go(self, depth):
        if depth <= 0:
            return call()
        return await self.random.choice(self.ways)(depth - 1)

    async def way_await(self, depth):
        await asyncio.sleep(0)
        return await self.go(depth)

    async def way_gather(self, depth):
        return await asyncio.gather(
            asyncio.sleep(0),
            self.go(depth))

    async def way_task(self, depth):
        return await self.loop.create_task(self.go(depth))

    async def way_shield(self, depth):
        return await asyncio.shield(self.go(depth))

    async def way_wait_for(self, depth):
        return await asyncio.wait_for(self.go(depth), 600)

    async def way_group(self, depth):
        if NEW < (3, 11):
            return await self.go(depth)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.go(depth))

    async def way_eager(self, depth):
        if NEW < (3, 12):
            return await self.go(depth)
        return await asyncio.Task(self.go(depth), loop=self.loop, eager_start=True)

    async def way_generator(self, depth):
        async def inner():
            yield 1
            yield await self.go(depth)

        async for _ in inner():
            pass

    async def way_comprehension(self, depth):
        async def inner():
            yield depth
        return [await self.go(n) async for n in inner()]

    async def way_context(self, depth):
        async with Manager(self, depth):
            pass

    async def way_object(self, depth):
        return await Awaited(self.go(depth))

    async def way_old(self, depth):
        @types.coroutine
        def old():
            return (yield from self.go(depth))
        return await old()

    async def way_callback(self, depth):
        future = self.loop.create_future()

        def later():
            call()
            future.set_result(None)
        self.loop.call_soon(later)
        await future
        return await self.go(depth)

    async def way_thread(self, depth):
        await self.loop.run_in_executor(None, call)
        return await self.go(depth)

    async def way_two_await(self, depth):
        task = self.loop.create_task(self.go(depth))

        async def one():
            return await task
        await asyncio.gather(one(), one())

    async def way_not_awaited(self, depth):
        task = self.loop.create_task(self.go(depth))
        while not task.done():
            await asyncio.sleep(0)

    async def way_by_hand(self, depth):
        async def other():
            call()
        try:
            other().send(None)
        except StopIteration:
            pass
        return await self.go(depth)


async def work(loop, seed, calls):
    made = Async(seed, loop)
    while len(zoo.told) < calls:
        await made.go(made.random.randrange(DEPTH))


def run():
    seed = int(OPTIONS[0]) if OPTIONS else 0
    sys.setrecursionlimit(10000)
    if "uvloop" in OPTIONS:
        import uvloop
        loop = uvloop.new_event_loop()
    else:
        loop = asyncio.new_event_loop()
    loop.run_until_complete(work(loop, seed, zoo.CALLS))
    zoo.write()
    print("done", len(zoo.told))


run()
