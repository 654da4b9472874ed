"""The fetcher's own settings; where the systems are stands in `connectors.settings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from connectors.settings import SettingsError


@dataclass(frozen=True, slots=True)
class FetcherSettings:
    """port: of /health and /metrics on loopback. contact: an address or page for publishers, in the user agent.
    ports: which may be asked on the internet."""

    port: int = 19464
    contact: str = ""
    ports: tuple[int, ...] = (80, 443)

    @classmethod
    def from_mapping(cls, environ: Mapping[str, str]) -> FetcherSettings:
        """BROADSHEET_FETCHER_PORT, BROADSHEET_CONTACT, BROADSHEET_FETCHER_PORTS. Raises SettingsError."""
        ports = environ.get("BROADSHEET_FETCHER_PORTS", "80,443")
        contact = environ.get("BROADSHEET_CONTACT", "")
        if not (contact.isascii() and contact.isprintable()) or any(sign in contact for sign in "();"):
            raise SettingsError("BROADSHEET_CONTACT must be a mail address or a page, in ASCII")
        return cls(
            port=_port("BROADSHEET_FETCHER_PORT", environ.get("BROADSHEET_FETCHER_PORT", "19464")),
            contact=contact,
            ports=tuple(_port("BROADSHEET_FETCHER_PORTS", port) for port in ports.split(",")),
        )

    def user_agent(self) -> str:
        """Who asks, and where to complain."""
        contact = f"; +{self.contact}" if self.contact else ""
        return f"Broadsheet/{version('broadsheet')} (news reader{contact})"


def _port(name: str, value: str) -> int:
    value = value.strip()
    if not value.isascii() or not value.isdigit() or not 0 < int(value) < 65536:
        raise SettingsError(f"{name} must hold port numbers, not {value!r}")
    return int(value)
