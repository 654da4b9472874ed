"""Articles that are taken back, by command and by a 410, leave the pages at the origin; a rollback brings none back.

A newsroom of three articles behind the gateway, written for this test; the real line. Its feed links to short addresses,
its pages name others as canonical: the 410 comes at an address that no article is known by.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from cli.line import command, start_jobs
from cli.stack import Stack
from connectors.objects import S3Objects
from state_schemas.codec import decode_record
from state_schemas.pages import Page, Pointer, Tombstone, pointer_key, tombstone_key
from state_schemas.stories import StoryChange
from state_schemas.topics import STORY_CHANGES
from tests.end_to_end.publishers import Answering, serving, until
from tests.end_to_end.topics import records

HOST = "tide.example"
# Two cycles of the default profile, ms: the bound that is promised. The demo's cycles are twelve times shorter.
BOUND_MS = 120_000
CYCLE_MS = 5_000
TEXTS = (
    (
        "Harbour board closes the eastern lock after a crack is found",
        "The harbour board closed the eastern lock on Monday after divers found a crack in its lower gate. Barges wait "
        "outside the pier, and the lock keeper expects repairs to take eleven days. Two tugs were sent to help.",
    ),
    (
        "Chess champion Ilona Vekerdy beats four masters blindfolded",
        "Ilona Vekerdy played four masters at once without seeing a board and won each game within forty moves. The "
        "exhibition filled the concert hall. She called the third game, a quiet Catalan, the hardest of her career.",
    ),
    (
        "Beekeepers count a third more hives after the mild winter",
        "Beekeepers across the valley counted a third more hives this spring than a year ago. A mild winter and late "
        "heather helped, their association said. Honey prices are expected to fall by a tenth before the summer.",
    ),
)


class Newsroom:
    """Its feed and pages. gone: articles whose page answers 410; their entries then change their words."""

    def __init__(self) -> None:
        self.gone: set[int] = set()

    def document(self) -> bytes:
        items = "".join(
            f"<item><guid isPermaLink='false'>tide-{n}</guid><title>{title}{' (withdrawn)' if n in self.gone else ''}"
            f"</title><link>http://{HOST}/s/{n}</link></item>"
            for n, (title, _) in enumerate(TEXTS)
        )
        return f'<rss version="2.0"><channel><title>Tide</title>{items}</channel></rss>'.encode()

    def page(self, path: str) -> tuple[int, bytes]:
        number = int(path.rpartition("/")[2])
        if number in self.gone:
            return 410, b""
        title, text = TEXTS[number]
        page = (
            f"<html lang='en'><head><title>{title}</title><link rel='canonical' href='http://{HOST}/article/{number}'>"
            f"<meta property='og:type' content='article'></head><body><article><h1>{title}</h1><p>{text}</p><p>{text}</p>"
            "</article></body></html>"
        )
        return 200, page.encode()


@pytest.fixture
def newsroom(own_stack: Stack) -> Iterator[Newsroom]:
    made = Newsroom()

    class Handler(Answering):
        def do_GET(self) -> None:  # noqa: N802 - the library's name
            if self.path == "/robots.txt":
                return self.give(404, b"")
            if self.path == "/feed.xml":
                return self.give(200, made.document(), "application/rss+xml")
            return self.give(*made.page(self.path))

    with serving(own_stack, Handler):
        yield made


class Origin:
    """What readers of en-gb see, and the objects behind it."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    def page(self) -> Page | None:
        try:
            with urllib.request.urlopen(f"{self._stack.endpoints.origin}/v1/editions/en-gb/top", timeout=10) as answer:
                return decode_record(Page, answer.read())
        except urllib.error.URLError:
            return None

    def articles(self) -> dict[int, str]:
        """Number -> id of the articles on the page."""
        page = self.page()
        links = [story.representative for story in page.stories] if page is not None else []
        return {int(link.url.rpartition("/")[2]): link.article_id for link in links}

    def read(self, key: str) -> bytes:
        stored = asyncio.run(S3Objects(self._stack.endpoints).get(key))
        assert stored is not None, key
        return stored.data

    def pointer(self) -> Pointer:
        return decode_record(Pointer, self.read(pointer_key("en-gb", "top")))


def run(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        env=os.environ | stack.endpoints.to_mapping(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.timeout(600)
def test_what_is_taken_back_leaves_the_pages_and_comes_back_only_when_it_may(
    own_stack: Stack, newsroom: Newsroom
) -> None:
    start_jobs(own_stack.endpoints, "demo", lambda line: None)
    assert run(own_stack, "sources", "add", f"http://{HOST}/feed.xml").returncode == 0
    origin = Origin(own_stack)
    until(lambda: set(origin.articles()) == {0, 1, 2})
    ids = origin.articles()
    whole = origin.pointer().version
    seen: dict[str, float] = {}

    def gone(number: int, began_ms: int) -> None:
        until(lambda: number not in origin.articles())
        page = origin.page()
        assert page is not None
        took_ms = page.cycle - began_ms
        assert took_ms <= BOUND_MS
        seen[f"article {number}, cycles of 5 s until its page"] = round(took_ms / CYCLE_MS, 1)
        seen[f"article {number}, seconds until the origin"] = round(time.time() - began_ms / 1000, 1)

    # By command. Its page still answers, and its feed still lists it.
    began_ms = time.time_ns() // 1_000_000
    done = run(own_stack, "articles", "retract", f"http://{HOST}/article/0", "--reason", "court order")
    assert done.stdout.startswith(ids[0]), done.stderr
    gone(0, began_ms)
    assert decode_record(Tombstone, origin.read(tombstone_key(ids[0]))).reason == "court order"
    assert "retracted" in origin.pointer().marks

    # By its publisher, at the address that the feed knows.
    began_ms = time.time_ns() // 1_000_000
    newsroom.gone.add(1)
    gone(1, began_ms)
    assert decode_record(Tombstone, origin.read(tombstone_key(ids[1]))).reason == "gone"
    assert set(origin.articles()) == {2}

    # The version that showed both is there, and may not count again.
    refused = run(own_stack, "pages", "rollback", "en-gb", "top", "--to", str(whole))
    assert refused.returncode == 2
    assert "retracted" in refused.stderr
    assert ids[0] in refused.stderr

    # What was taken back by command may return.
    undone = run(own_stack, "articles", "retract", f"http://{HOST}/article/0", "--undo")
    assert "its page is asked for" in undone.stdout, undone.stderr
    until(lambda: 0 in origin.articles())
    assert not decode_record(Tombstone, origin.read(tombstone_key(ids[0]))).retracted

    shown = json.loads(run(own_stack, "articles", "show", ids[0], "--json").stdout)
    assert [(one["kind"], one["version"]) for one in shown["versions"]] == [
        ("article", 1),
        ("removed", 2),
        ("article", 3),
    ]
    changes = records(own_stack.endpoints, STORY_CHANGES, lambda data: decode_record(StoryChange, data))
    told = {(change.article.article_id, change.cause) for change in changes if change.article and change.cause}
    assert told >= {(ids[0], "court order"), (ids[1], "gone"), (ids[0], "reinstated")}
    print(json.dumps(seen))  # noqa: T201  # the figures of docs/retractions.md; shown with -s
