"""Pages as HTML: a snapshot in, bytes out. Every publisher's word is escaped; nothing on a page runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from babel.dates import format_datetime
from babel.numbers import format_decimal
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from state_schemas.pages import Page
from udfs.editions import Edition, ReferenceData

_LAST_MS = 253_370_764_800_000  # 9999-01-01


class Renderer:
    """Renders pages in each edition's own language and hours."""

    def __init__(self, reference: ReferenceData) -> None:
        self._editions = {edition.id: edition for edition in reference.editions}
        self._sections = reference.sections
        environment = Environment(
            loader=FileSystemLoader(Path(__file__).parent / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._page = environment.get_template("page.html")
        self._index = environment.get_template("index.html")

    def page(self, page: Page, cycle_ms: int, stale_minutes: int) -> bytes:
        """A page as a reader sees it. stale_minutes: its age where that must be said, else 0."""
        edition = self._editions[page.edition]
        locale = edition.locale.replace("-", "_")
        zone = ZoneInfo(edition.time_zone)

        def when(instant_ms: int) -> str:
            return format_datetime(_moment(instant_ms), "short", zone, locale)

        return self._page.render(
            page=page,
            edition=edition,
            title=next(section.name(edition) for section in self._sections if section.id == page.section),
            sections=[(section.id, section.name(edition)) for section in self._sections],
            when=when,
            iso=lambda instant_ms: _moment(instant_ms).isoformat(),
            number=lambda value: format_decimal(value, locale=locale),
            cycle_ms=cycle_ms,
            stale_minutes=stale_minutes,
        ).encode()

    def index(self, editions: Sequence[Edition]) -> bytes:
        """The editions to choose from."""
        return self._index.render(editions=editions).encode()


def _moment(instant_ms: int) -> datetime:
    """The instant, within what a calendar can show in every time zone: publishers' own dates may be any number."""
    return datetime.fromtimestamp(min(max(instant_ms, 0), _LAST_MS) / 1000, UTC)
