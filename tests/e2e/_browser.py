# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by the DevTools protocol over a pipe (--remote-debugging-pipe): messages are JSON, each ends with a NUL."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

LIMIT_S = 60
NUDGE_S = 3


def find():
    """Return the browser of this machine, or None."""
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "chrome"):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None


class Browser:
    def __init__(self, width=1400, height=1000):
        self.folder = tempfile.mkdtemp(prefix="libtrace-browser-")
        to_read, self.to = os.pipe()
        self.of, to_write = os.pipe()
        # The browser reads from 3 and writes to 4; they are moved above 10 first, so that neither overwrites the other.
        high_read, high_write = os.dup2(to_read, 110), os.dup2(to_write, 111)
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
                   "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
                   f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", 'exec "$@" 3<&110 4>&111 110<&- 111>&-', "bash", *command], pass_fds=(110, 111), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for fd in (to_read, to_write, high_read, high_write):
            os.close(fd)
        self.number, self.rest, self.events = 0, b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)
        os.close(self.of)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            pass
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _message(self, end):
        while b"\0" not in self.rest:
            if not select.select([self.of], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError("the browser does not answer")
            data = os.read(self.of, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self.rest += data
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + LIMIT_S
        while True:
            answer = self._message(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression):
        """Wait until an expression is true. On a busy machine an invisible page may never get a frame; a screenshot creates one."""
        end, nudge = time.monotonic() + LIMIT_S, time.monotonic() + NUDGE_S
        while not (value := self.evaluate(expression)):
            if time.monotonic() > end:
                raise RuntimeError(f"never came true: {expression}")
            if time.monotonic() > nudge:
                self.call("Page.captureScreenshot")
                nudge = time.monotonic() + NUDGE_S
            time.sleep(0.02)
        return value

    def settle(self):
        """Wait until the page has drawn everything requested."""
        self.evaluate("(() => { window.settled = false; requestAnimationFrame(() => requestAnimationFrame(() => { window.settled = true; })); })()")
        self.wait("window.settled")

    def open(self, path):
        """Show a file; return when its script has drawn it or failed."""
        self.events.clear()
        self.call("Page.navigate", url="file://" + path)
        self.wait(f"location.pathname === {json.dumps(path)} && !!(document.documentElement?.dataset.drawn || document.documentElement?.dataset.failed)")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", buttons=1 if kind == "mousePressed" else 0, clickCount=1)

    def box(self, selector):
        """Bring an element into view; return its x, y, width, height."""
        return self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}}); "
                             "const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()")

    def screenshot(self, path, whole=False):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]))

    def requests(self):
        """Return the addresses that the page requested, and the errors and refusals that it logged."""
        urls = [each["params"]["request"]["url"] for each in self.events if each.get("method") == "Network.requestWillBeSent"]
        wrong = [each["params"] for each in self.events if each.get("method") == "Runtime.exceptionThrown"]
        wrong += [each["params"]["entry"]["text"] for each in self.events if each.get("method") == "Log.entryAdded"]
        return urls, wrong
