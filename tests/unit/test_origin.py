from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

from connectors.objects import Listed, ObjectStoreError
from services.origin.app import Origin
from services.origin.conditional import encoding, not_modified
from services.origin.html import Renderer
from services.origin.pages import BAD_POINTER_REST_MS, PageShelf
from state_schemas.codec import encode_record
from state_schemas.pages import (
    CycleMark,
    EditionPages,
    Link,
    Page,
    PageStory,
    Pointer,
    cycle_key,
    page_key,
    pointer_key,
)
from tests.contracts.memory_objects import MemoryObjects
from udfs.editions import load_reference
from udfs.publish.decide import PublishPolicy
from udfs.publish.publisher import publish

NOW = 1_796_000_000_000
REFERENCE = load_reference()
HOSTILE = '<script>alert("x")</script> & more'


def _story(title: str = "Ferry collides with pier", **changes: Any) -> PageStory:
    link = Link(
        article_id="a",
        url="https://n.example/a?x=1&y=2",
        title=title,
        publisher="n.example",
        publisher_name="Harbour Times",
        first_seen_ms=NOW,
    )
    values: dict[str, Any] = {
        "story_id": "68f0000000000001",
        "representative": link,
        "score": 1.0,
        "originals": 3,
        "copies": 2,
        "publishers": 3,
        "first_ms": NOW,
        "latest_ms": NOW,
        "lede": "Nine were hurt.",
        "top_sources": ("Harbour Times", "Bay Post"),
    }
    return PageStory(**values | changes)


def _put(store: MemoryObjects, *stories: PageStory, cycle: int = NOW, edition: str = "en-gb") -> None:
    page = Page(edition=edition, section="top", version=0, cycle=cycle, ranker_version="1", stories=stories)
    pages = EditionPages(edition=edition, cycle=cycle, pages=(page,))
    asyncio.run(publish(store, pages, None, NOW, PublishPolicy()))


def _mark(cycle: int, **sections: int) -> CycleMark:
    return CycleMark(edition="en-gb", cycle=cycle, sequence=1, sections=sections)


@pytest.fixture
def store() -> MemoryObjects:
    return MemoryObjects()


@pytest.fixture
def clock() -> list[int]:
    return [NOW]


@pytest.fixture
def shelf(store: MemoryObjects) -> PageShelf:
    return PageShelf(store, Renderer(REFERENCE).page)


@pytest.fixture
def client(store: MemoryObjects, shelf: PageShelf, clock: list[int]) -> Iterator[TestClient]:
    _put(store, _story(), _story("Second", story_id="68f0000000000002"))
    origin = Origin(shelf, REFERENCE, Renderer(REFERENCE), lambda: clock[0])
    with TestClient(origin.application(), raise_server_exceptions=False) as opened:
        yield opened


def test_the_snapshot_is_served_byte_for_byte(client: TestClient, store: MemoryObjects) -> None:
    answer = client.get("/v1/editions/en-gb/top")
    assert answer.content == store.objects[page_key("en-gb", "top", 1)]
    assert answer.headers["cache-control"] == (
        "public, max-age=0, s-maxage=60, stale-while-revalidate=60, stale-if-error=3600"
    )
    assert answer.headers["broadsheet-cycle"] == str(NOW)


def test_the_html_page_shows_the_same_stories(client: TestClient) -> None:
    answer = client.get("/en-gb/top")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    first, second = answer.text.index("Ferry collides with pier"), answer.text.index("Second")
    assert first < second
    assert 'href="https://n.example/a?x=1&amp;y=2"' in answer.text
    assert client.get("/en-gb", follow_redirects=False).headers["location"] == "/en-gb/top"


def test_publishers_words_are_escaped(store: MemoryObjects, shelf: PageShelf) -> None:
    _put(store, _story(HOSTILE, lede=HOSTILE, top_sources=(HOSTILE,), image='https://i.example/"onerror="x'))
    asyncio.run(shelf.refresh(NOW))
    html = shelf.snapshots["en-gb", "top"].html.plain.decode()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 3
    assert '"onerror' not in html


@pytest.mark.parametrize("accept", ["gzip", "br", None])
def test_a_client_with_the_current_page_gets_304(client: TestClient, accept: str | None) -> None:
    headers = {"Accept-Encoding": accept or "identity"}
    full = client.get("/v1/editions/en-gb/top", headers=headers)
    again = client.get(
        "/v1/editions/en-gb/top", headers=headers | {"If-None-Match": f'"old", W/{full.headers["etag"]}'}
    )
    assert (again.status_code, again.content) == (304, b"")
    for name in ("etag", "cache-control", "vary"):
        assert again.headers[name] == full.headers[name]


def test_each_encoding_has_its_own_tag(client: TestClient) -> None:
    tags = {
        client.get("/en-gb/top", headers={"Accept-Encoding": name}).headers["etag"]
        for name in ("gzip", "br", "identity")
    }
    assert len(tags) == 3


def test_head_has_the_headers_alone(client: TestClient) -> None:
    answer = client.head("/v1/editions/en-gb/top")
    assert (answer.status_code, answer.content) == (200, b"")
    assert "etag" in answer.headers


@pytest.mark.parametrize(
    "path", ["/v1/editions/en-gb/sports", "/v1/editions/xx-yy/top", "/xx-yy", "/en-gb/nothing", "/a/b/c"]
)
def test_what_is_not_there_is_404_and_never_cached(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_fault_of_ours_is_never_cached(client: TestClient, shelf: PageShelf) -> None:
    shelf.snapshots["en-gb", "top"] = None  # type: ignore[assignment]
    answer = client.get("/v1/editions/en-gb/version")
    assert answer.status_code == 500
    assert answer.headers["cache-control"] == "no-store"
    assert b"Traceback" not in answer.content


def test_editions_and_versions(client: TestClient) -> None:
    editions = {row["id"]: row["sections"] for row in client.get("/v1/editions").json()}
    assert len(editions) == 70
    assert editions["en-gb"] == ["top"]
    assert client.get("/v1/editions/en-gb/version").json() == {"edition": "en-gb", "cycle": NOW, "versions": {"top": 1}}
    assert "en-gb/top" in client.get("/").text


def test_health(client: TestClient) -> None:
    assert client.get("/health").json()["pages"] == 1


def test_a_new_version_is_swapped_in(store: MemoryObjects, shelf: PageShelf) -> None:
    _put(store, _story("First headline"))
    asyncio.run(shelf.refresh(NOW))
    _put(store, _story("Second headline"), cycle=NOW + 60_000)
    assert asyncio.run(shelf.refresh(NOW)) == [("en-gb", "top")]
    assert b"Second headline" in shelf.snapshots["en-gb", "top"].html.plain
    assert asyncio.run(shelf.refresh(NOW)) == []


@pytest.mark.parametrize("damage", ["object gone", "object changed", "pointer broken", "bucket empty"])
def test_whatever_breaks_the_last_good_page_stays(store: MemoryObjects, shelf: PageShelf, damage: str) -> None:
    _put(store, _story("Good"))
    asyncio.run(shelf.refresh(NOW))
    _put(store, _story("Bad"), cycle=NOW + 60_000)
    if damage == "object gone":
        del store.objects[page_key("en-gb", "top", 2)]
    elif damage == "object changed":
        store.objects[page_key("en-gb", "top", 2)] += b" "
    elif damage == "pointer broken":
        store.objects[pointer_key("en-gb", "top")] = b"{"
    else:
        store.objects.clear()
    asyncio.run(shelf.refresh(NOW))
    assert b"Good" in shelf.snapshots["en-gb", "top"].html.plain


class _Down(MemoryObjects):
    async def list(self, prefix: str) -> list[Listed]:
        raise ObjectStoreError("list: refused")


def test_a_page_says_its_cycle_and_after_ten_minutes_its_age(store: MemoryObjects, shelf: PageShelf) -> None:
    _put(store, _story())
    asyncio.run(shelf.refresh(NOW))
    assert b'role="status"' not in shelf.snapshots["en-gb", "top"].html.plain
    shelf.objects = _Down()
    asyncio.run(shelf.refresh(NOW + 25 * 60_000))
    html = shelf.snapshots["en-gb", "top"].html.plain
    assert b'role="status"' in html
    assert "25 min" in html.decode()


def test_an_unchanged_page_is_not_stale_while_cycles_go_on(store: MemoryObjects, shelf: PageShelf) -> None:
    _put(store, _story())
    asyncio.run(shelf.refresh(NOW))
    later = NOW + 20 * 60_000
    store.objects[cycle_key("en-gb")] = encode_record(_mark(later, top=later))
    asyncio.run(shelf.refresh(later))
    assert b'role="status"' not in shelf.snapshots["en-gb", "top"].html.plain


def test_a_page_that_is_refused_says_its_age_while_others_go_on(store: MemoryObjects, shelf: PageShelf) -> None:
    _put(store, _story())
    later = NOW + 20 * 60_000
    store.objects[cycle_key("en-gb")] = encode_record(_mark(later, top=NOW, sports=later))
    asyncio.run(shelf.refresh(later))
    assert b'role="status"' in shelf.snapshots["en-gb", "top"].html.plain


@pytest.mark.parametrize("edition", [edition.id for edition in REFERENCE.editions])
def test_every_edition_renders_in_its_own_language(edition: str) -> None:
    chosen = next(e for e in REFERENCE.editions if e.id == edition)
    page = Page(edition=edition, section="top", version=1, cycle=NOW, ranker_version="1", stories=(_story(),))
    html = Renderer(REFERENCE).page(page, NOW, 12).decode()
    assert f'lang="{chosen.locale}" dir="{"rtl" if chosen.rtl else "ltr"}"' in html
    assert all(
        section.name(chosen).replace("&", "&amp;").replace("'", "&#39;") in html for section in REFERENCE.sections
    )


@pytest.mark.parametrize(
    ("header", "current"),
    [
        (None, False),
        ('"v41"', True),
        ('"old", W/"v41"', True),
        ('W/"v41"', True),
        ("*", True),
        ('"v4"', False),
        ("v41", False),
        ("", False),
    ],
)
def test_if_none_match_is_a_list(header: str | None, current: bool) -> None:
    assert not_modified(header, '"v41"') is current


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, "identity"),
        ("gzip", "gzip"),
        ("gzip, deflate, br", "br"),
        ("br;q=0, gzip", "gzip"),
        ("*", "br"),
        ("*;q=0", "identity"),
        ("zstd", "identity"),
        ("gzip;q=oops", "identity"),
    ],
)
def test_the_smallest_accepted_encoding(accept: str | None, chosen: str) -> None:
    assert encoding(accept) == chosen


def test_encoded_bodies_hold_the_same_bytes(client: TestClient) -> None:
    plain = client.get("/v1/editions/en-gb/top", headers={"Accept-Encoding": "identity"})
    with client.stream("GET", "/v1/editions/en-gb/top", headers={"Accept-Encoding": "gzip"}) as answer:
        assert gzip.decompress(b"".join(answer.iter_raw())) == plain.content
    assert json.loads(plain.content)["edition"] == "en-gb"


def _point(store: MemoryObjects, edition: str, section: str, page: Page, **changes: Any) -> None:
    data = encode_record(page)
    object_key = page_key(edition, section, 1)
    values: dict[str, Any] = {
        "edition": edition,
        "section": section,
        "version": 1,
        "object": object_key,
        "sha256": sha256(data).hexdigest(),
        "cycle": NOW,
        "sequence": 1,
    }
    store.objects[object_key] = data
    store.objects[pointer_key(edition, section)] = encode_record(Pointer(**values | changes))


def test_pages_that_cannot_be_shown_leave_the_others_as_they_are(store: MemoryObjects, shelf: PageShelf) -> None:
    page = Page(edition="en-gb", section="top", version=1, cycle=NOW, ranker_version="1", stories=(_story(),))
    _put(store, _story())
    _point(store, "xx-xx", "top", msgspec.structs.replace(page, edition="xx-xx"))  # an edition that is no more
    _point(store, "en-us", "nosuch", msgspec.structs.replace(page, edition="en-us", section="nosuch"))
    _point(store, "en-us", "top", page)  # another edition's page
    _point(store, "en-au", "top", page, object="../../etc/passwd")
    store.objects[pointer_key("en-in", "top")] = b"\xff\xfe"
    asyncio.run(shelf.refresh(NOW))
    assert set(shelf.snapshots) == {("en-gb", "top")}
    _put(store, _story("Second"), cycle=NOW + 1)
    assert asyncio.run(shelf.refresh(NOW)) == [("en-gb", "top")]


@pytest.mark.parametrize("instant", [10**18, -(10**18), 253_402_300_799_999])
def test_a_date_that_no_calendar_knows_spoils_no_page(store: MemoryObjects, shelf: PageShelf, instant: int) -> None:
    link = msgspec.structs.replace(_story().representative, published_ms=instant)
    _put(store, _story(representative=link))
    assert asyncio.run(shelf.refresh(NOW)) == [("en-gb", "top")]
    shelf.cycles["en-gb", "top"] = instant
    asyncio.run(shelf.refresh(NOW + 10**7))


def test_an_age_that_cannot_be_shown_keeps_the_page(store: MemoryObjects) -> None:
    def render(page: Page, cycle_ms: int, stale_minutes: int) -> bytes:
        if stale_minutes:
            raise ValueError("no such instant")
        return b"page"

    shelf = PageShelf(store, render)
    _put(store, _story())
    asyncio.run(shelf.refresh(NOW))
    asyncio.run(shelf.refresh(NOW + 10**7))
    assert shelf.snapshots["en-gb", "top"].html.plain == b"page"


def test_a_method_that_is_not_allowed_says_which_are(client: TestClient) -> None:
    answer = client.post("/en-gb/top")
    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]


def test_a_pointer_that_leads_to_nothing_rests_until_it_moves(store: MemoryObjects, shelf: PageShelf) -> None:
    store.objects[pointer_key("en-gb", "top")] = b"\xff"
    for turn in range(5):
        asyncio.run(shelf.refresh(NOW + turn * 2_000))
    assert shelf.failures == 1
    asyncio.run(shelf.refresh(NOW + BAD_POINTER_REST_MS))
    assert shelf.failures == 2
    del store.objects[pointer_key("en-gb", "top")]
    _put(store, _story())
    assert asyncio.run(shelf.refresh(NOW + BAD_POINTER_REST_MS + 2_000)) == [("en-gb", "top")]
