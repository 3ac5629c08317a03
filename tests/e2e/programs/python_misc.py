# SPDX-License-Identifier: Apache-2.0
"""ctypes, sqlite3, mmap, tempfile, os.fork without exec, exceptions in children, exit handlers, faulthandler."""
import atexit, ctypes, mmap, os, signal, sqlite3, sys, tempfile, threading
atexit.register(lambda: print("exit handler", flush=True))
print(ctypes.CDLL(None).getpid() == os.getpid(), ctypes.CDLL("libm.so.6").abs(-3))
libc = ctypes.CDLL("libc.so.6", use_errno=True); libc.read(-1, None, 0); print(ctypes.get_errno())
d = sqlite3.connect("db"); d.execute("create table t(x)"); d.executemany("insert into t values (?)", [(i,) for i in range(1000)]); d.commit(); print(d.execute("select sum(x) from t").fetchone()); d.close(); os.unlink("db")
m = mmap.mmap(-1, 4096); pid = os.fork()
if pid == 0: m[0] = 7; os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), m[0])
t = threading.Thread(target=lambda: threading.Event().wait(0.05)); t.start(); pid = os.fork()
if pid == 0: sys.exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])); t.join()
with tempfile.TemporaryFile(dir=".") as f: f.write(b"x" * 100000); f.seek(0); print(len(f.read()))
r, w = os.pipe(); signal.set_wakeup_fd(w) if os.set_blocking(w, False) is None else 0; signal.signal(signal.SIGUSR1, lambda *_: None); signal.raise_signal(signal.SIGUSR1); print(os.read(r, 1))
os.closerange(3, 100); print(os.open("/dev/null", os.O_RDONLY))
sys.stdout.flush(); ctypes.string_at(0) if len(sys.argv) > 5 else None
