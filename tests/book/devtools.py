"""Headless Chromium driven over the DevTools protocol, through a pipe.

Just enough of the protocol to open pages of the built book from disk, at a given
width and in light or dark, and to ask them questions. The protocol's messages are
JSON, ended by a zero byte, on file descriptors 3 and 4 of the browser: no port,
no further dependency. The network is cut off twice: every name resolves to
nothing, and the protocol's own switch is set to offline.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
TIMEOUT = 60.0

# Moves two inherited pipes to the descriptors 3 and 4, then becomes the browser.
START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, number in zip(ends, (3, 4)):
    os.dup2(end, number)
    os.close(end)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """Return the path of the first browser that is installed, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class NavigatedError(RuntimeError):
    """The page was left while it was being asked: it redirects."""


class Browser:
    """One browser with one open page; a context manager."""

    def __init__(self, binary: str, profile: Path) -> None:
        self.binary = binary
        self.profile = profile
        self.count = 0
        self.buffer = b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        theirs_in, self.writing = os.pipe()
        self.reading, theirs_out = os.pipe()
        ends = (theirs_in, theirs_out)
        options = [
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
            *("--disable-dev-shm-usage", "--no-first-run", "--disable-sync"),
            *("--no-default-browser-check", "--disable-background-networking"),
            *("--disable-component-update", "--hide-scrollbars"),
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={self.profile}",
            *("--remote-debugging-pipe", "about:blank"),
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, *map(str, ends), self.binary, *options],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in ends:
            os.close(end)
        self.session = ""
        try:
            self._attach()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _attach(self) -> None:
        """Take hold of the open page, and cut off the network."""
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(item["targetId"] for item in targets if item["type"] == "page")
        taken = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self.session = taken["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        nothing = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.call("Network.emulateNetworkConditions", offline=True, **nothing)

    def __exit__(self, *_: object) -> None:
        self.session = ""
        with contextlib.suppress(OSError, RuntimeError):
            self.call("Browser.close")
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reading)
        os.close(self.writing)

    # -- the protocol --------------------------------------------------------

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and return its result; keep the events met meanwhile."""
        self.count += 1
        number = self.count
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self._receive(deadline)
            if answer.get("id") != number:
                self.events.append(answer)
            elif "navigated" in answer.get("error", {}).get("message", ""):
                raise NavigatedError(method)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            left = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self.reading], [], [], left)
            part = os.read(self.reading, 1 << 16) if ready else b""
            if not part:
                raise RuntimeError("the browser does not answer")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    # -- what tests need -----------------------------------------------------

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression, awaited if a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = 20.0) -> bool:
        """Wait until a JavaScript expression is true; return whether it was."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(NavigatedError):
                if self.evaluate(f"Boolean({condition})"):
                    return True
            time.sleep(0.05)
        return False

    def resize(self, width: int, height: int = 900) -> None:
        """Give the page another width, as a phone would."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.call("Emulation.setDeviceMetricsOverride", **size, mobile=False)

    def colours(self, scheme: str) -> None:
        """Ask for ``light`` or ``dark``, as the operating system would."""
        wanted = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[wanted])

    def press(self, key: str) -> None:
        """Press a key that is called by its name, such as ArrowRight or Tab."""
        codes = {"Tab": 9, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}
        facts = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **facts)

    def scripts(self, *, run: bool) -> None:
        """Let pages run their scripts, or not; those of the tests always run."""
        self.call("Emulation.setScriptExecutionDisabled", value=not run)

    def open(self, address: str) -> list[str]:
        """Open a page and return what it complained about while it loaded."""
        self.events.clear()
        self.call("Page.navigate", url=address)
        # A page that only sends its reader on is not the one that was asked for.
        self.wait(
            "document.readyState === 'complete' && "
            "!document.querySelector('meta[http-equiv=refresh]')"
        )
        self.evaluate(
            "window.MathJax?.startup?.promise?.then(() => document.fonts.ready)"
            "?.then(() => true)"
        )
        return self.complaints()

    def complaints(self) -> list[str]:
        """Return the errors and warnings that reached the console."""
        self.evaluate("1")  # fetches the events that are still in the pipe
        found = []
        for event in self.events:
            facts = event.get("params", {})
            match event.get("method"):
                case "Runtime.exceptionThrown":
                    detail = facts["exceptionDetails"]
                    text = detail.get("exception", {}).get("description", "")
                    found.append(text or detail["text"])
                case "Runtime.consoleAPICalled" if facts["type"] in ("error", "assert"):
                    found.append(" ".join(str(a.get("value")) for a in facts["args"]))
                case "Log.entryAdded" if facts["entry"]["level"] == "error":
                    entry = facts["entry"]
                    found.append(f"{entry['text']} {entry.get('url', '')}")
                case "Network.loadingFailed" if not facts.get("canceled"):
                    found.append(f"not loaded: {facts['errorText']}")
        return found

    def requests(self) -> list[str]:
        """Return the addresses that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
