"""Bodies too large for a record: the objects evidence/{sha256}, each a zstd frame that the fetcher wrote. Read only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from connectors.objects import ObjectStoreError, S3Objects
from connectors.settings import Endpoints

# Waits between tries to read a body, in s: a store that restarts is back within a second or two.
_PAUSES_S = (0.2, 1.0, 3.0)


def evidence_of(endpoints: Endpoints) -> Callable[[str], bytes | None]:
    """Reads a body by its hash, None where there is none; the client is made when the first is asked for.

    The function raises ObjectStoreError when the store does not answer after a few tries: taking such a body for
    missing would decide its article by the feed's entry for good.
    """
    stores: list[S3Objects] = []

    def stored(name: str) -> bytes | None:
        if not stores:
            stores.append(S3Objects(endpoints))
        for pause_s in _PAUSES_S:
            try:
                found = asyncio.run(stores[0].get(f"evidence/{name}"))
            except ObjectStoreError:
                time.sleep(pause_s)
                continue
            return found.data if found else None
        found = asyncio.run(stores[0].get(f"evidence/{name}"))
        return found.data if found else None

    return stored
