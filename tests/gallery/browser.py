"""Chromium without a window, driven through the DevTools protocol over two pipes. Standard library only."""

import base64
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEIGHT = 900
TALLEST_PICTURE = 16000  # the browser paints no taller ones


def find_browser():
    """The browser of $MULTICARD_CHROMIUM, else the first of those usual on Linux, else None."""
    chosen = os.environ.get("MULTICARD_CHROMIUM")
    return shutil.which(chosen) if chosen else next(filter(None, map(shutil.which, NAMES)), None)


class BrowserError(Exception):
    pass


class Browser:
    """One process with one page, for any number of documents in turn."""

    OPTIONS = ("--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
               "--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-sync",
               "--disable-background-networking", "--disable-component-update", "--mute-audio",
               "--force-color-profile=srgb", "--font-render-hinting=none", "--lang=en-US")

    def __init__(self, program):
        self._folder = tempfile.mkdtemp(prefix="multicard-browser-")
        self._log = open(os.path.join(self._folder, "log"), "w+b")
        self._buffer, self._next, self._events, self._session = b"", 0, [], None
        its_input, self._commands = os.pipe()
        self._answers, its_output = os.pipe()

        def as_3_and_4():  # where the browser looks for them
            source, target = os.dup(its_input), os.dup(its_output)
            os.dup2(source, 3)
            os.dup2(target, 4)

        words = [program, *self.OPTIONS, "--user-data-dir=" + self._folder]
        if os.geteuid() == 0:
            words.append("--no-sandbox")  # which root cannot have
        self._process = subprocess.Popen([*words, "about:blank"], stdin=subprocess.DEVNULL, stdout=self._log,
                                         stderr=self._log, start_new_session=True, close_fds=False,
                                         preexec_fn=as_3_and_4)
        os.close(its_input)
        os.close(its_output)
        self._attach()

    def _attach(self):
        pages = [target for target in self.call("Target.getTargets")["targetInfos"] if target["type"] == "page"]
        target = pages[0]["targetId"] if pages else self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def call(self, method, timeout=60, **parameters):
        """Sends a command and waits for its answer."""
        self._send(method, parameters)
        end = time.monotonic() + timeout
        while True:
            answer = self._read(end, method)
            if answer.get("id") == self._next:
                if "error" in answer:
                    raise BrowserError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]
            self._events.append(answer)

    def _send(self, method, parameters):
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data):]

    def _read(self, end, awaited):
        while b"\0" not in self._buffer:
            if not select.select([self._answers], [], [], max(0, end - time.monotonic()))[0]:
                raise BrowserError("no answer to %s in time" % awaited)
            data = os.read(self._answers, 1 << 20)
            if not data:
                raise BrowserError("the browser has ended: " + self._said())
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(line)

    def _said(self):
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-2000:]

    def show(self, url, width, theme):
        """Opens a document in a window of this width, in the colours that a reader of this theme gets."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self._events = []
        failure = self.call("Page.navigate", url=url).get("errorText")
        if failure:
            raise BrowserError("%s: %s" % (url, failure))
        end = time.monotonic() + 60
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._read(end, "Page.navigate"))
        self.evaluate("document.fonts.ready.then(() => true)")

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page; waits for promises."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def press_tab(self, expression):
        """Presses the tabulator key, then evaluates an expression."""
        key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9, "nativeVirtualKeyCode": 9}
        self.call("Input.dispatchKeyEvent", type="rawKeyDown", **key)  # answered when the page has handled it
        self._send("Input.dispatchKeyEvent", {"type": "keyUp", **key})
        return self.evaluate(expression)

    def press_enter(self):
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "nativeVirtualKeyCode": 13}
        self.call("Input.dispatchKeyEvent", type="keyDown", text="\r", **key)
        self.call("Input.dispatchKeyEvent", type="keyUp", **key)

    def picture(self, width):
        """The whole page as PNG."""
        height = self.evaluate("Math.ceil(document.documentElement.scrollHeight)")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, TALLEST_PICTURE), "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True,
                                          optimizeForSpeed=True)["data"])

    def printed_pages(self):
        """How many pages of A4 the document prints."""
        data = self.call("Page.printToPDF", preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.69)["data"]
        return len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(data)))

    def close(self):
        try:
            self._session = None
            self.call("Browser.close", timeout=5)
            self._process.wait(10)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        for end in (self._commands, self._answers):
            os.close(end)
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)
