# SPDX-License-Identifier: Apache-2.0
"""Threads, locks, queues, conditions, timers, thread pools."""
import concurrent.futures, os, queue, select, signal, socket, threading, time
total, lock, q = 0, threading.Lock(), queue.Queue(10)
def add(n):
    global total
    for _ in range(2000):
        with lock:
            total += n
threads = [threading.Thread(target=add, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(total)
def produce():
    for i in range(500): q.put(i)
    q.put(None)
threading.Thread(target=produce).start()
print(sum(iter(q.get, None)))
c = threading.Condition(); print(c.acquire(), c.wait(0.01)); c.release()
with concurrent.futures.ThreadPoolExecutor(6) as pool: print(sum(pool.map(lambda x: x * x, range(300))))
e = threading.Event(); threading.Timer(0.01, e.set).start(); print(e.wait(20))
a, b = socket.socketpair(); threading.Thread(target=lambda: (time.sleep(0.02), b.send(b"x"))).start(); print(select.select([a], [], [], 20)[0] == [a], a.recv(1))
hits = []
signal.signal(signal.SIGALRM, lambda *_: hits.append(1)); signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
end = time.monotonic() + 20
while len(hits) < 50 and time.monotonic() < end: time.sleep(0.01)
signal.setitimer(signal.ITIMER_REAL, 0); print(len(hits) >= 50)
threading.stack_size(65536); t = threading.Thread(target=lambda: print("small stack")); t.start(); t.join()
t = threading.Thread(target=time.sleep, args=(100,), daemon=True); t.start()
os._exit(9) if False else None
