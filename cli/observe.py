"""What the sample press published, held against what the line made of it: complete, one story an event, how late.

Decides from the press's own truth, the writers' changes and the pages as the origin serves them; reads nothing itself.
Reading order: Observed, its three inputs, then faults and delays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from state_schemas.pages import Page
from state_schemas.stories import StoryChange


@dataclass(slots=True)
class _Decided:
    story: str
    members: int  # of the story, once this article was in it
    shown_ms: int | None = None


@dataclass(slots=True)
class Observed:
    """The state of one run; instants are ms UTC of this machine."""

    truth: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # article URL -> the press's record of it
    decided: dict[str, _Decided] = field(default_factory=dict)  # article URL -> where it went
    aliases: dict[str, str] = field(default_factory=dict)  # story -> the one that took it in
    on_page: dict[str, int] = field(default_factory=dict)  # story -> members the newest page counts
    changes: int = 0
    stories: set[str] = field(default_factory=set)

    def published(self, articles: Iterable[Mapping[str, Any]]) -> None:
        """The press says what is out."""
        for article in articles:
            self.truth[article["url"]] = article

    def change(self, change: StoryChange) -> None:
        """A writer decided."""
        self.changes += 1
        summary = change.story
        if change.change == "started":
            self.stories.add(summary.story_id)
        if change.change == "merged":
            self.aliases[change.other] = summary.story_id
        if change.article is not None and change.change in ("started", "assigned", "copied", "variant"):
            url = change.article.url
            self.decided.setdefault(url, _Decided(summary.story_id, summary.originals + summary.copies))

    def page(self, page: Page, at_ms: int) -> None:
        """The origin served this page at `at_ms`."""
        for story in page.stories:
            self.on_page[story.story_id] = story.originals + story.copies
        for article in self.decided.values():
            shown = self.on_page.get(self._story(article.story))
            if article.shown_ms is None and shown is not None and shown >= article.members:
                article.shown_ms = at_ms

    def faults(self) -> list[str]:
        """Why the run is not as it should be, a line each; empty when every event is one story in each language."""
        found: list[str] = []
        stories: dict[tuple[str, str], set[str]] = {}
        events: dict[str, set[str]] = {}
        for url, article in self._expected():
            name = f"{article['event']} ({article['language']})"
            decided = self.decided.get(url)
            if decided is None:
                found.append(f"{name}: {url} is in no story")
                continue
            story = self._story(decided.story)
            stories.setdefault((article["event"], article["language"]), set()).add(story)
            events.setdefault(story, set()).add(name)
            if decided.shown_ms is None:
                found.append(f"{name}: {url} reached no page")
        found += [
            f"{event} ({language}): {len(ids)} stories" for (event, language), ids in stories.items() if len(ids) > 1
        ]
        found += [f"one story for {', '.join(sorted(names))}" for names in events.values() if len(names) > 1]
        return sorted(found)

    def delays_s(self) -> list[float]:
        """Seconds from each article's publication to the first page at the origin that counts it, ascending."""
        return sorted(
            (decided.shown_ms - self.truth[url]["published_ms"]) / 1000
            for url, decided in self.decided.items()
            if decided.shown_ms is not None and url in self.truth
        )

    def first_page_s(self) -> float | None:
        """Seconds from the first publication to the first page that shows anything of it."""
        shown = [decided.shown_ms for decided in self.decided.values() if decided.shown_ms is not None]
        if not shown or not self.truth:
            return None
        published: int = min(article["published_ms"] for article in self.truth.values())
        return (min(shown) - published) / 1000

    def _expected(self) -> list[tuple[str, Mapping[str, Any]]]:
        # A variant is the same article under another address; a retracted one may be gone before it was asked for.
        return [
            (url, article)
            for url, article in self.truth.items()
            if article["kind"] != "variant" and not article.get("retracted")
        ]

    def _story(self, story: str) -> str:
        while story in self.aliases:
            story = self.aliases[story]
        return story


def quantile(ordered: list[float], share: float) -> float:
    """The value below which `share` of an ascending, non-empty list lies (nearest rank)."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
