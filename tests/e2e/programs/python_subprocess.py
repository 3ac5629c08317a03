# SPDX-License-Identifier: Apache-2.0
"""All ways to start a child by subprocess: vfork, fork with preexec_fn, pipes, sessions, descriptors, errors, asyncio."""
import asyncio, os, pty, subprocess, sys
print(subprocess.run(["echo", "a"], capture_output=True).stdout)
print(subprocess.run("exit 3", shell=True).returncode)
print(subprocess.run([sys.executable, "-c", "import sys; print(sys.stdin.read()[::-1])"], input="abc", text=True, capture_output=True).stdout)
print(subprocess.run(["true"], preexec_fn=lambda: os.nice(1)).returncode)
print(subprocess.run(["sh", "-c", "echo $0; kill -9 $$"], start_new_session=True).returncode)
r, w = os.pipe(); p = subprocess.Popen(["sh", "-c", f"echo fd >&{w}"], pass_fds=[w]); os.close(w); print(os.read(r, 10), p.wait())
for bad in (["/nonexistent"], ["/"]):
    try: subprocess.run(bad)
    except OSError as error: print(type(error).__name__, error.errno)
try: subprocess.run(["sleep", "100"], timeout=0.05)
except subprocess.TimeoutExpired: print("timeout")
print(subprocess.run(["ls", "/proc/self/fd"], capture_output=True, close_fds=True).stdout.split())
print(sum(subprocess.Popen(["true"]).wait() for _ in range(30)))
async def main():
    ps = [await asyncio.create_subprocess_exec("echo", str(n), stdout=subprocess.PIPE) for n in range(10)]
    print([(await p.communicate())[0] for p in ps])
    server = await asyncio.start_server(lambda r, w: (w.write(b"hello"), w.close()), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2]); print(await reader.read()); writer.close(); server.close()
asyncio.run(main())
pid, fd = pty.fork()
if pid == 0: os.execvp("sh", ["sh", "-c", "test -t 1 && echo terminal"])
print(os.read(fd, 100), os.waitpid(pid, 0)[1])
print(os.posix_spawn("/bin/true", ["true"], {}) > 0, os.wait()[1])
sys.exit(6)
