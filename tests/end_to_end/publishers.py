"""A publisher's server at the gateway of a stack, where the fetcher finds every host, and waiting for what it brings."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cli.stack import Stack


class Answering(BaseHTTPRequestHandler):
    """Says nothing on the terminal. A test's own handler adds do_GET, which ends with `give`."""

    def give(self, status: int, body: bytes, kind: str = "text/html; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(stack: Stack, handler: type[Answering]) -> Iterator[None]:
    """All hosts of the stack's press answered by `handler` meanwhile."""
    port = int(stack.endpoints.gateway.rpartition(":")[2])
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for a condition; the limit only ends a test that would hang."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)
