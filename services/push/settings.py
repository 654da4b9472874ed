"""The push service's own settings; where it listens and where the systems are stands in `connectors.settings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network

from connectors.settings import SettingsError


@dataclass(frozen=True, slots=True)
class PushSettings:
    """metrics_port: of /health and /metrics on loopback, never public. proxies: whose X-Forwarded-For is believed."""

    metrics_port: int = 19465
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def from_mapping(cls, environ: Mapping[str, str]) -> PushSettings:
        """BROADSHEET_PUSH_METRICS_PORT; BROADSHEET_PUSH_PROXIES, addresses or networks. Raises SettingsError."""
        port = environ.get("BROADSHEET_PUSH_METRICS_PORT", "19465").strip()
        if not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) < 65536:
            raise SettingsError(f"BROADSHEET_PUSH_METRICS_PORT must be a port number, not {port!r}")
        proxies = []
        for text in filter(None, (each.strip() for each in environ.get("BROADSHEET_PUSH_PROXIES", "").split(","))):
            try:
                proxies.append(ip_network(text))
            except ValueError:
                raise SettingsError(f"BROADSHEET_PUSH_PROXIES must hold addresses or networks, not {text!r}") from None
        return cls(metrics_port=int(port), proxies=tuple(proxies))
