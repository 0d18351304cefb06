"""Serves the page on this machine, and simulates members on demand."""

from __future__ import annotations

import dataclasses
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jaxgait.plot.explorer.page import Explorer

LOOPBACK = "127.0.0.1"
OWN_HOST = re.compile(rf"({re.escape(LOOPBACK)}|localhost)(:\d+)?")
"""Browsers leave out port 80."""


def serve(page: Explorer) -> None:
    """Serves a page of a scan on this machine only, at a free port, until interrupted; prints its address.

    Raises:
        ValueError: if it is unknown how to rerun its members.
    """
    with server(page) as running:
        print(f"open http://{LOOPBACK}:{running.server_port}/ in a browser; stop with Ctrl-C", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()


def server(page: Explorer) -> ThreadingHTTPServer:
    """The server: the page at /, the motion of a member at /member/N.

    Raises:
        ValueError: see `serve`.
    """
    if page.recipe is None or page.header["why"]:
        raise ValueError(f"nothing to serve beyond the page itself: {page.header['why'] or 'it has no members'}")
    whole = dataclasses.replace(page, header=page.header | {"serve": True}).html.encode()
    running = ThreadingHTTPServer((LOOPBACK, 0), _Handler)
    running.answers = _Answers(page, whole)  # type: ignore[attr-defined]  # for its handlers
    return running


@dataclasses.dataclass
class _Answers:
    page: Explorer
    whole: bytes
    simulating: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    """Held while a member is simulated: one at a time. A browser's idle connection blocks nothing."""

    def to(self, path: str) -> tuple[int, str, bytes]:
        """Code, type and content of the answer to a path."""
        if path == "/":
            return 200, "text/html; charset=utf-8", self.whole
        asked = re.fullmatch(r"/member/(\d{1,12})", path)
        if asked is None or self.page.rows is None or int(asked[1]) >= self.page.rows.size:
            return 404, "text/plain; charset=utf-8", b"not found"
        try:
            with self.simulating:
                return 200, "application/octet-stream", self.page.motion(int(asked[1]))
        except Exception as error:  # of any kind: the page shows it
            return 500, "text/plain; charset=utf-8", f"This member cannot be simulated: {error}".encode()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if not OWN_HOST.fullmatch(self.headers.get("Host", "")):  # DNS rebinding by another site
            code, kind, content = 403, "text/plain", b"available on this machine only"
        else:
            code, kind, content = self.server.answers.to(self.path)  # type: ignore[attr-defined]
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Does not log requests."""
