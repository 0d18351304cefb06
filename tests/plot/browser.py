"""A headless Chromium for tests, driven over the W3C WebDriver protocol by plain HTTP: no package is needed."""

import base64
import contextlib
import json
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader"]
FLAGS += ["--hide-scrollbars"]


def missing():
    """What is not installed; empty: all is there."""
    return [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]


class Browser:
    """One window."""

    def __init__(self, base, session):
        self._at = f"{base}/session/{session}"

    def open(self, path):
        self._post("url", url=path if str(path).startswith("http") else pathlib.Path(path).resolve().as_uri())

    def js(self, code, *args):
        """What JavaScript returns."""
        return self._post("execute/sync", script=code, args=list(args))

    def until(self, code, seconds=60.0):
        """Waits until an expression is true.

        Raises:
            TimeoutError: with the messages of the console.
        """
        end = time.monotonic() + seconds
        while not self.js(f"return Boolean({code})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{code} is still false after {seconds} s; console: {self.errors()}")
            time.sleep(0.2)

    def click(self, x, y):
        """A real click at a point of the window, in pixels."""
        self.drag((x, y))

    def drag(self, *places):
        """Presses at the first place, moves over the others, releases."""
        move = lambda p, ms: {"type": "pointerMove", "duration": ms, "x": round(p[0]), "y": round(p[1])}
        acts = [move(places[0], 0), {"type": "pause", "duration": 120}, {"type": "pointerDown", "button": 0}]
        acts += [move(p, 120) for p in places[1:]] + [{"type": "pointerUp", "button": 0}]
        self._post("actions", actions=[{"type": "pointer", "id": "mouse", "actions": acts}])

    def press(self, key):
        acts = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._post("actions", actions=[{"type": "key", "id": "keys", "actions": acts}])

    def size(self, width, height):
        self._post("window/rect", width=width, height=height)

    def dark(self, on):
        features = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
        self._post("goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params={"features": features})

    def picture(self, path, whole=False):
        """A picture of the window, or of the whole page."""
        found = self._post("goog/cdp/execute", cmd="Page.captureScreenshot", params={"captureBeyondViewport": whole})
        pathlib.Path(path).write_bytes(base64.b64decode(found["data"]))

    def errors(self):
        """Errors on the console since the last call."""
        return [e["message"] for e in self._post("se/log", type="browser") if e["level"] == "SEVERE"]

    def _post(self, command, **body):
        return _request(f"{self._at}/{command}", body)


@contextlib.contextmanager
def browser(folder, width=1280, height=800):
    """A window with a profile of its own in a folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        _wait(base)
        options = {"args": [*FLAGS, f"--user-data-dir={folder}", f"--window-size={width},{height}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = _request(f"{base}/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        try:
            yield Browser(base, session)
        finally:
            _request(f"{base}/session/{session}", None, "DELETE")
    finally:
        driver.terminate()
        driver.wait(10)


def _wait(base):
    for _ in range(100):
        with contextlib.suppress(OSError):
            return _request(f"{base}/status", None, "GET")
        time.sleep(0.1)
    raise TimeoutError("chromedriver does not answer")


def _request(address, body, method="POST"):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise RuntimeError(json.load(error)["value"]["message"]) from None
