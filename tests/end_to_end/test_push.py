"""News that is pushed: a hub is found, subscribed to and believed, and what it delivers is fetched within seconds.

A publisher and its hub, written for this test after the WebSub recommendation, behind the gateway; the real poll job,
fetcher and push service.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from publishers import Answering, serving, until
from topics import records

from cli.jobs import submit_job, wait_jobs
from cli.line import command
from cli.stack import Stack
from state_schemas.codec import decode_record
from state_schemas.fetching import RawItem
from state_schemas.sources import PollSignal, Subscription
from state_schemas.topics import ITEMS_RAW, POLL_SIGNALS, WEBSUB_SUBSCRIPTIONS

FEED = "http://tide.example/feed.xml"
HUB = "http://hub.example/"


class Press:
    """One feed, its pages, and its hub. Guarded by the interpreter's own lock: only whole values are replaced."""

    def __init__(self) -> None:
        self.items = 1
        self.pages: list[str] = []  # addresses asked for, in order
        self.polls: list[float] = []
        self.forms: list[dict[str, str]] = []
        self.verified: dict[str, str] = {}  # callback -> secret

    def document(self) -> bytes:
        entries = "".join(
            f"<item><guid isPermaLink='false'>tide-{n}</guid><title>Tide report number {n}</title>"
            f"<link>http://tide.example/report/{n}</link></item>"
            for n in range(self.items, max(0, self.items - 20), -1)
        )
        return (
            f'<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>Tide</title>'
            f'<atom:link rel="hub" href="{HUB}"/><atom:link rel="self" href="{FEED}"/>{entries}</channel></rss>'
        ).encode()

    def subscribe(self, form: dict[str, str]) -> None:
        """Ask whoever is to be called back whether it means it (section 5.3), and remember its secret."""
        self.forms.append(form)
        asked = {"hub.mode": form["hub.mode"], "hub.topic": form["hub.topic"], "hub.challenge": "c7f1 &=?"}
        if form["hub.mode"] == "subscribe":
            asked["hub.lease_seconds"] = "864000"
        with urllib.request.urlopen(f"{form['hub.callback']}?{urllib.parse.urlencode(asked)}", timeout=20) as answer:
            assert answer.read() == b"c7f1 &=?"
        self.verified[form["hub.callback"]] = form.get("hub.secret", "")

    def deliver(self, callback: str, secret: str, body: bytes) -> int:
        """One attempt; the status, 0 for no answer."""
        mac = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        request = urllib.request.Request(
            callback,
            data=body,
            headers={"Content-Type": "application/rss+xml", "X-Hub-Signature": f"sha256={mac}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except OSError:
            return 0


@pytest.fixture
def press(own_stack: Stack) -> Iterator[Press]:
    made = Press()

    class Handler(Answering):
        def do_GET(self) -> None:  # noqa: N802 - the library's name
            host = self.headers.get("Host", "")
            if self.path == "/robots.txt":
                self.give(404, b"", "text/plain")
            elif host == "tide.example" and self.path == "/feed.xml":
                made.polls.append(time.time())
                self.give(200, made.document(), "application/rss+xml")
            else:
                made.pages.append(f"http://{host}{self.path}")
                text = f"<p>The tide at pier {self.path} was high, and the harbour closed its gates early.</p>" * 5
                page = f"<html lang='en'><head><title>Tide report</title></head><body>{text}</body></html>"
                self.give(200, page.encode(), "text/html; charset=utf-8")

        def do_POST(self) -> None:  # noqa: N802 - the library's name
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Host") != "hub.example":
                return self.give(404, b"", "text/plain")
            form = dict(urllib.parse.parse_qsl(body.decode(), strict_parsing=True))
            threading.Thread(target=made.subscribe, args=(form,)).start()
            return self.give(202, b"", "text/plain")

    with serving(own_stack, Handler):
        yield made


def run(stack: Stack, *arguments: str) -> str:
    done = subprocess.run(
        command(*arguments),
        env=os.environ | stack.endpoints.to_mapping(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_a_hub_delivers_is_fetched_at_once_and_nothing_else_is_believed(
    own_stack: Stack, press: Press, tmp_path: Path
) -> None:
    endpoints = own_stack.endpoints
    assert endpoints.push_public, "the embedded stack's hubs may call back"
    wait_jobs(endpoints, [submit_job("poll", endpoints, profile="demo")])
    run(own_stack, "sources", "add", FEED, "--publisher", "tide")
    until(lambda: len(press.verified) == 1)
    ((callback, secret),) = press.verified.items()
    (form,) = press.forms
    assert (form["hub.mode"], form["hub.topic"]) == ("subscribe", FEED)
    assert callback.startswith(f"{endpoints.push_public}/websub/")

    def subscriptions() -> list[Subscription]:
        return records(endpoints, WEBSUB_SUBSCRIPTIONS, lambda data: decode_record(Subscription, data))

    until(lambda: subscriptions()[-1].state == "verified")
    until(lambda: "http://tide.example/report/1" in press.pages)
    # With a lease the feed is only polled every quarter of an hour: whatever is found now was pushed.
    time.sleep(12)
    quiet = len(press.polls)

    press.items = 2
    assert press.deliver(callback, secret, press.document()) == 202
    until(lambda: "http://tide.example/report/2" in press.pages, 60)
    until(lambda: len(press.polls) > quiet, 60)

    # A replay, another's signature and an unknown callback lead to nothing.
    polled, asked = len(press.polls), len(press.pages)
    assert press.deliver(callback, secret, press.document()) == 202
    forged = press.document().replace(b"tide.example/report/2", b"tide.example/forged")
    assert press.deliver(callback, "not the secret", forged) == 202
    assert press.deliver(callback[:-32] + "0" * 32, secret, forged) == 404
    time.sleep(5)
    assert "http://tide.example/forged" not in press.pages
    assert len(press.polls) <= polled + 1
    assert len(press.pages) <= asked + 1  # the page once more, now with its feed's entry

    # Push is killed; the hub tries again until it is heard.
    for pid in own_stack.pids("push"):
        os.kill(pid, signal.SIGKILL)
    press.items = 3
    until(lambda: press.deliver(callback, secret, press.document()) == 202, 90)
    until(lambda: "http://tide.example/report/3" in press.pages, 90)

    # A ping asks for the feed, which lists what no hub told.
    key_file = tmp_path / "key"
    key_file.write_text(run(own_stack, "publishers", "key", "tide").split()[-1])
    press.items = 4
    until(lambda: pings(own_stack, key_file), 60)
    until(lambda: "http://tide.example/report/4" in press.pages, 90)

    # Each item went to parsing, with its entry sooner or later, and nothing that was forged.
    def items() -> list[RawItem]:
        return records(endpoints, ITEMS_RAW, lambda data: decode_record(RawItem, data))

    wanted = {f"http://tide.example/report/{number}" for number in range(1, 5)}
    until(lambda: {item.url for item in items() if item.entry is not None} == wanted)
    assert {item.url for item in items()} == wanted
    signals = records(endpoints, POLL_SIGNALS, lambda data: decode_record(PollSignal, data))
    told = [link for found in signals if found.signal == "websub" for link in found.links]
    assert not any("forged" in link for link in told)


def pings(stack: Stack, key_file: Path) -> bool:
    """Whether a ping is taken: a key made a moment ago may not have been read yet."""
    done = subprocess.run(
        [*command("publishers", "ping", "tide"), "--key-file", str(key_file)],
        env=os.environ | stack.endpoints.to_mapping(),
        capture_output=True,
        check=False,
    )
    return done.returncode == 0
