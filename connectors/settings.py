"""Where the systems are: read once from a mapping (the environment, in a main), then passed down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from urllib.parse import urlsplit


class SettingsError(ValueError):
    """A setting cannot be used: the message names the variable and what it must hold."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Addresses and keys of the systems around Broadsheet.

    Each field is read from the variable BROADSHEET_<FIELD NAME IN CAPITALS>; the defaults are those of the
    embedded stack. The secret prints as stars.
    """

    kafka: str = "127.0.0.1:19092"
    s3_endpoint: str = "http://127.0.0.1:17070"
    s3_bucket: str = "broadsheet"
    s3_region: str = "us-east-1"
    s3_access_key: str = "broadsheet"
    s3_secret_key: str = field(default="broadsheet-local", repr=False)
    flink_rest: str = "http://127.0.0.1:18081"
    origin: str = "http://127.0.0.1:18080"
    push: str = "http://127.0.0.1:18082"  # where the push service listens
    # The public address of the push service, which hubs call back; empty: no hub is subscribed to.
    push_public: str = ""
    # Where every host name leads instead of DNS ("127.0.0.1:18090"); empty: the real internet.
    gateway: str = ""
    # Parts of the installation.
    encoder: str = "onnx"
    encoder_folder: str = ".stack/encoder"
    reference_data: str = ""  # empty: the checkout's own reference_data/
    profile: str = "default"

    @classmethod
    def from_mapping(cls, environ: Mapping[str, str]) -> Endpoints:
        """Read every field from `environ`. Raises SettingsError on a malformed address."""
        found = {
            entry.name: environ[name]
            for entry in fields(cls)
            if (name := f"BROADSHEET_{entry.name.upper()}") in environ
        }
        settings = cls(**found)
        for name in ("kafka", "gateway"):
            value: str = getattr(settings, name)
            for address in filter(None, value.split(",")):
                host, _, port = address.rpartition(":")
                if not host or not _is_port(port):
                    raise SettingsError(f"BROADSHEET_{name.upper()} must be HOST:PORT, not {address!r}")
        for name in ("s3_endpoint", "flink_rest", "origin", "push", "push_public"):
            if name == "push_public" and not settings.push_public:
                continue
            if not _is_web_address(getattr(settings, name)):
                raise SettingsError(f"BROADSHEET_{name.upper()} must be an http(s) address")
        return settings

    def to_mapping(self) -> dict[str, str]:
        """The variables that `from_mapping` reads back into an equal value (with the secret in clear)."""
        return {f"BROADSHEET_{entry.name.upper()}": str(getattr(self, entry.name)) for entry in fields(self)}

    def reference_data_folder(self) -> Path:
        """The folder of editions, sections, weights and models."""
        if self.reference_data:
            return Path(self.reference_data)
        return Path(__file__).resolve().parent.parent / "reference_data"


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, half an IPv6 address
        return False
