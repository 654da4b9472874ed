"""Starts the origin: `python -m services.origin`. Settings come from the BROADSHEET_* variables."""

from __future__ import annotations

import os
import sys
import time
from urllib.parse import urlsplit

import structlog
import uvicorn

from connectors.objects import S3Objects
from connectors.settings import Endpoints, SettingsError
from services.origin.app import Origin
from services.origin.html import Renderer
from services.origin.pages import PageShelf
from udfs.editions import ReferenceDataError, load_reference


def main() -> int:
    """Serve until SIGTERM, then drain."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ]
    )
    try:
        endpoints = Endpoints.from_mapping(os.environ)
        reference = load_reference(endpoints.reference_data_folder())
    except (SettingsError, ReferenceDataError) as error:
        print(f"origin: {error}", file=sys.stderr)  # noqa: T201  the one line a user sees
        return 2
    renderer = Renderer(reference)
    origin = Origin(
        shelf=PageShelf(S3Objects(endpoints), renderer.page),
        reference=reference,
        renderer=renderer,
        now_ms=lambda: time.time_ns() // 1_000_000,
    )
    address = urlsplit(endpoints.origin)
    uvicorn.run(
        origin.application(),
        host=address.hostname or "127.0.0.1",
        port=address.port or 80,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
