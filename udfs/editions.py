"""What an edition is: reads reference_data/editions.toml and says what is wrong with it.

Decides nothing about stories. `parse_editions` is pure: text in, editions and faults out; only `load_reference` touches
the disk, once, when a job or a service opens, and gives editions, sections and weights together. Beside it stand
udfs/sections.py, udfs/weights.py and udfs/feed_list.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from state_schemas.languages import LANGUAGES
from udfs.reference_faults import Fault, ReferenceDataError, default_folder, line_of, parse_toml, read_text
from udfs.sections import Section, parse_sections
from udfs.weights import RankingWeights, parse_weights

__all__ = [
    "COUNTRIES",
    "EDITION_COUNT",
    "Edition",
    "RankingWeights",
    "ReferenceData",
    "ReferenceDataError",
    "Section",
    "load_reference",
    "parse_editions",
]

FILE = "editions.toml"
EDITION_COUNT = (
    70  # promised to readers and built into capacity figures: adding one is a decision, not a slip of the hand
)

# ISO 3166-1 alpha-2, all 249 assigned codes. Source: ISO 3166 Maintenance Agency.
_CODES = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA
    CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA
    GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
    KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS
    MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS
    RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW
    TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
"""
COUNTRIES = frozenset(_CODES.split())
LOCALE = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?-[A-Z]{2}")


@dataclass(frozen=True, slots=True)
class Edition:
    """One language for one region. Codes: ISO 639 (language), ISO 3166-1 alpha-2 (region, regions), IANA (time_zone).

    regions: countries treated as home, the region among them. locale: BCP 47 tag of the page's own words.
    """

    id: str
    language: str
    region: str
    time_zone: str
    name: str
    regions: tuple[str, ...]
    locale: str
    rtl: bool = False

    def name_tags(self) -> tuple[str, ...]:
        """Keys under which a word for this edition may stand, most exact first: zh-hant-tw, zh-tw, zh-hant, zh."""
        parts = self.locale.lower().split("-")
        script = f"{self.language}-{parts[1]}" if len(parts) == 3 else self.language
        region = self.region.lower()
        return f"{script}-{region}", f"{self.language}-{region}", script, self.language


@dataclass(frozen=True, slots=True)
class ReferenceData:
    """What ranking and pages need: editions and sections in the files' order, and the weights."""

    editions: tuple[Edition, ...]
    sections: tuple[Section, ...]
    weights: RankingWeights


def load_reference(folder: Path | None = None) -> ReferenceData:
    """Read and check editions.toml, sections.toml and weights.toml; `folder` None: the installation's own.

    Raises ReferenceDataError, with every fault, when a file is missing, unreadable or wrong.
    """
    folder = default_folder() if folder is None else folder
    faults: list[Fault] = []
    texts = [read_text(folder / file, faults) for file in (FILE, "sections.toml", "weights.toml")]
    editions = () if texts[0] is None else parse_editions(texts[0], faults)
    sections = () if texts[1] is None else parse_sections(texts[1], editions, faults)
    weights = None if texts[2] is None else parse_weights(texts[2], faults)
    if faults or weights is None:
        raise ReferenceDataError(tuple(faults))
    return ReferenceData(editions, sections, weights)


def parse_editions(text: str, faults: list[Fault]) -> tuple[Edition, ...]:
    """The editions that are right, in the text's order; what is wrong with the others is appended to `faults`."""
    document = parse_toml(FILE, text, faults)
    if document is None:
        return ()
    rows = document.get("edition")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        faults.append(Fault(FILE, 0, "", "must hold a list of tables named edition"))
        return ()
    editions: list[Edition] = []
    seen: dict[str, set[str]] = {"id": set(), "name": set()}
    start = 0  # where the search for the next entry's line begins: an id that stands twice has two lines
    for number, row in enumerate(rows, start=1):
        entry = row["id"] if isinstance(row.get("id"), str) else f"edition {number}"
        reasons = _reasons_against(row, seen)
        line = line_of(text, f'id = "{entry}"', start)
        start = max(start, text.find(f'id = "{entry}"', start) + 1)
        faults.extend(Fault(FILE, line, entry, reason) for reason in reasons)
        if not reasons:
            row = {"locale": f"{row['language']}-{row['region']}", "regions": [row["region"]], **row}
            editions.append(Edition(**{**row, "regions": tuple(row["regions"])}))
    if len(rows) != EDITION_COUNT:
        faults.append(Fault(FILE, 0, "", f"{len(rows)} editions where there must be {EDITION_COUNT}"))
    return tuple(editions)


def _reasons_against(row: dict[str, Any], seen: dict[str, set[str]]) -> list[str]:
    """Why a row is no edition; `seen` collects the values that must be unique."""
    known = {entry.name for entry in fields(Edition)}
    reasons = [f"unknown key {key}" for key in row if key not in known]
    needed = ("id", "language", "region", "time_zone", "name")
    missing = [key for key in needed if not isinstance(row.get(key), str) or not row[key].strip()]
    if missing:
        return [*reasons, f"{', '.join(missing)} must be a non-empty string"]
    for key, values in seen.items():
        if row[key] in values:
            reasons.append(f"{key} {row[key]!r} stands twice")
        values.add(row[key])
    if row["language"] not in LANGUAGES:
        reasons.append(f"language {row['language']!r} is not in the table of languages")
    if row["region"] not in COUNTRIES:
        reasons.append(f"region {row['region']!r} is not an ISO 3166-1 alpha-2 code")
    if row["id"] != f"{row['language']}-{row['region'].lower()}":
        reasons.append("id must be language-region in lower case")
    regions = row.get("regions", [row["region"]])
    if not isinstance(regions, list) or not all(isinstance(region, str) for region in regions):
        reasons.append("regions must be a list of country codes")
    elif row["region"] not in regions or len(set(regions)) != len(regions):
        reasons.append("regions must hold the region and no code twice")
    elif unknown := [region for region in regions if region not in COUNTRIES and region != row["region"]]:
        reasons.append(f"regions {', '.join(unknown)}: not ISO 3166-1 alpha-2")
    locale = row.get("locale", f"{row['language']}-{row['region']}")
    if not isinstance(locale, str) or not LOCALE.fullmatch(locale) or locale[-2:] != row["region"]:
        reasons.append(f"locale {locale!r} must be language[-Script]-REGION")
    if not isinstance(row.get("rtl", False), bool):
        reasons.append("rtl must be true or false")
    if not _is_time_zone(row["time_zone"]):
        reasons.append(f"time_zone {row['time_zone']!r} is not an IANA time zone")
    return reasons


def _is_time_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return "/" in name  # "EST" and the like load too, but name no place and know no summer time
