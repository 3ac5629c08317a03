# SPDX-License-Identifier: Apache-2.0
"""multiprocessing by fork: pool, queue, shared memory, manager, a worker that is terminated, one that dies."""
import multiprocessing as mp, os, signal, time
from multiprocessing import shared_memory
def square(x): return x * x
def put(q, n): q.put(n * n)
def die(): os.kill(os.getpid(), signal.SIGKILL)
def count(v):
    for _ in range(200):
        with v.get_lock(): v.value += 1
def touch(name):
    s = shared_memory.SharedMemory(name=name); s.buf[0] += 1; s.close()
if __name__ == "__main__":
    mp.set_start_method("fork")
    with mp.Pool(3) as pool: print(sum(pool.map(square, range(200))), pool.apply_async(square, (7,)).get(60))
    q = mp.Queue(); ps = [mp.Process(target=put, args=(q, n)) for n in range(4)]
    [p.start() for p in ps]; print(sorted(q.get(timeout=60) for _ in ps)); [p.join() for p in ps]; print([p.exitcode for p in ps])
    v = mp.Value("i", 0); ps = [mp.Process(target=count, args=(v,)) for _ in range(3)]; [p.start() for p in ps]; [p.join() for p in ps]; print(v.value)
    p = mp.Process(target=die); p.start(); p.join(); print(p.exitcode)
    p = mp.Process(target=time.sleep, args=(100,)); p.start(); p.terminate(); p.join(); print(p.exitcode)
    s = shared_memory.SharedMemory(create=True, size=10); p = mp.Process(target=touch, args=(s.name,)); p.start(); p.join(); print(s.buf[0]); s.close(); s.unlink()
    with mp.Manager() as manager: d = manager.dict(); d["a"] = 1; print(dict(d))
    c, d = mp.Pipe(); p = mp.Process(target=d.send, args=([1, 2],)); p.start(); print(c.recv()); p.join()
