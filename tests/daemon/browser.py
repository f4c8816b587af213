# SPDX-License-Identifier: MIT
"""Chromium without a window, over the pipe of its DevTools protocol: one page, its text, what its
console says. No window system and no network but to the page."""

import fcntl
import json
import os
import shutil
import subprocess

from harness import SLOW, wait_for

CHROMIUM = shutil.which("chromium")


class Browser:
    """with Browser(folder) as browser: browser.open(url)"""

    def __init__(self, folder):
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()
        theirs, ours = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (reads, writes))
        os.close(reads)
        os.close(writes)
        flags = ["--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions",
                 "--disable-background-networking", "--remote-debugging-pipe",
                 f"--user-data-dir={folder}", "about:blank"]
        if os.geteuid() == 0:
            flags.insert(0, "--no-sandbox")
        with open(os.path.join(folder, "log"), "wb") as log:
            # The pipe is descriptors 3 and 4.
            self._process = subprocess.Popen(
                ["bash", "-c", f'exec "$@" 3<&{theirs} 4>&{ours}', "bash", CHROMIUM, *flags],
                pass_fds=[theirs, ours], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(theirs)
        os.close(ours)
        self._data, self._number, self.session, self.console = b"", 0, None, []

    def __enter__(self):
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self._call("Target.attachToTarget", targetId=target,
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(domain + ".enable")
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def _receive(self):
        while b"\0" not in self._data:
            part = os.read(self._from, 1 << 20)
            assert part, "the browser ended"
            self._data += part
        message, _, self._data = self._data.partition(b"\0")
        message = json.loads(message)
        if message.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled",
                                     "Log.entryAdded"):
            self.console.append(message["params"])
        return message

    def _call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, url):
        self._call("Page.navigate", url="about:blank")  # another #token alone loads nothing
        self._call("Page.navigate", url=url)

    def size(self, width, height, dark=False):
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=False)
        self._call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def value(self, script):
        """What a JavaScript expression gives."""
        return self._call("Runtime.evaluate", expression=script,
                          returnByValue=True)["result"].get("value")

    def text(self):
        return self.value("document.body ? document.body.innerText : ''") or ""

    def shows(self, words):
        """Wait until all these words are on the page; its text then."""
        def shown():
            text = self.text()
            return text if all(word in text for word in words) else None

        return wait_for(shown, lambda: f"{words} in:\n{self.text()}\n{self.console}", 30 * SLOW)

    def tab(self):
        """Press the Tab key."""
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab",
                       windowsVirtualKeyCode=9)

    def collect(self):
        """Garbage of its script."""
        self._call("HeapProfiler.collectGarbage")

    def picture(self):
        """A PNG of it, in base64."""
        return self._call("Page.captureScreenshot")["data"]
