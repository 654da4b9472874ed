"""The one picture of an entry: of those it names, the widest, else the first. An address, nothing is fetched."""

from __future__ import annotations

from itertools import islice

from udfs.feeds.markup import Element, children, name_of, text_of
from udfs.feeds.texts import absolute

# Children of an item looked at: slide shows have some dozens.
_OFFERS = 500
_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif")


def picture(item: Element, about: dict[str, list[Element]], base: str) -> str:
    """Media RSS, enclosures and links of enclosures, `image`, iTunes; empty where there is none."""
    offered: list[tuple[int, str]] = []
    for element in [*about.get("media:group", ()), item]:
        for child in islice(element, _OFFERS):
            name = name_of(child)
            if (name == "media:content" and _is_picture(child)) or name == "media:thumbnail":
                offered.append((width_of(child.get("width", "")), child.get("url", "")))
                continue
            if name == "media:content":  # a film: its still
                offered += [
                    (width_of(still.get("width", "")), still.get("url", ""))
                    for still in children(child).get("media:thumbnail", ())
                ]
    for enclosure in about.get("enclosure", ()):
        if _is_picture(enclosure):
            offered.append((0, enclosure.get("url", "")))
    for link in about.get("atom:link", ()):
        if link.get("rel") == "enclosure" and link.get("type", "").startswith("image/"):
            offered.append((0, link.get("href", "")))
    for image in [*about.get("image", ()), *about.get("itunes:image", ())]:
        inner = children(image)
        nested = text_of(inner["url"][0]) if "url" in inner else ""
        offered.append((0, nested or image.get("href", "") or (text_of(image) if not inner else "")))
    best = ""
    width = -1
    for wide, address in offered:
        if wide > width and (found := absolute(address, base)):
            best, width = found, wide
    return best


def _is_picture(element: Element) -> bool:
    kind, medium = element.get("type", "").lower(), element.get("medium", "").lower()
    if kind or medium:
        return kind.startswith("image/") or (medium == "image" and not kind)
    return str(element.get("url", "")).partition("?")[0].lower().endswith(_ENDINGS)


def width_of(written: str) -> int:
    """A width in pixels as it is written; 0 where it is no number."""
    return int(written[:6]) if written.isascii() and written.isdigit() else 0
