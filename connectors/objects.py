"""S3-compatible object storage: the few operations that pages, pointers and evidence need, with conditional writes.

Asynchronous, because publishing writes hundreds of small objects at once (obstore: 1,900 puts/s here against 330 of
boto3 in threads, docs/decisions.md); `Objects` is what callers see, and a store in memory passes the same contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import obstore
from obstore.exceptions import AlreadyExistsError, NotFoundError, PreconditionError
from obstore.store import S3Store

from connectors.settings import Endpoints


class ObjectConflictError(Exception):
    """The object was written by somebody else meanwhile: read it again, then decide anew."""


class ObjectStoreError(Exception):
    """The store could not be reached or refused: nothing is known of the write. Read again before a retry."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as read: its bytes and the ETag a later conditional write must match."""

    data: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class Listed:
    """An object as listed."""

    key: str
    etag: str
    size: int


class Objects(Protocol):
    """One bucket."""

    async def get(self, key: str) -> Stored | None:
        """The object, or None. Raises ObjectStoreError."""
        ...

    async def list(self, prefix: str) -> list[Listed]:
        """All objects under a prefix, sorted by key. Raises ObjectStoreError."""
        ...

    async def create(self, key: str, data: bytes) -> str:
        """Write if absent; returns the ETag. Raises ObjectConflictError if it exists, ObjectStoreError."""
        ...

    async def replace(self, key: str, data: bytes, etag: str) -> str:
        """Write if the stored ETag is still `etag`; returns the new one. Raises as `create` does."""
        ...

    async def delete(self, key: str) -> None:
        """Remove it; absent is fine. Raises ObjectStoreError."""
        ...


class S3Objects:
    """`Objects` on an S3-compatible server with conditional writes."""

    def __init__(self, endpoints: Endpoints, timeout_s: float = 5.0) -> None:
        """timeout_s bounds one request, so that a dead store costs a caller a bounded time."""
        self._store = S3Store(
            endpoints.s3_bucket,
            endpoint=endpoints.s3_endpoint,
            region=endpoints.s3_region,
            access_key_id=endpoints.s3_access_key,
            secret_access_key=endpoints.s3_secret_key,
            virtual_hosted_style_request=False,
            conditional_put="etag",
            client_options={"allow_http": True, "timeout": f"{timeout_s}s", "connect_timeout": "2s"},
            # A retry of a conditional write cannot tell its own first try from another's: the callers decide.
            retry_config={"max_retries": 0},
        )

    async def get(self, key: str) -> Stored | None:
        """See Objects."""
        try:
            answer = await obstore.get_async(self._store, key)
            data = bytes(await answer.bytes_async())
        except (NotFoundError, FileNotFoundError):
            return None
        except Exception as error:
            raise _failed("get", key, error) from None
        return Stored(data, answer.meta["e_tag"] or "")

    async def list(self, prefix: str) -> list[Listed]:
        """See Objects."""
        found: list[Listed] = []
        try:
            async for batch in obstore.list(self._store, prefix):
                found += [Listed(entry["path"], entry["e_tag"] or "", entry["size"]) for entry in batch]
        except Exception as error:
            raise _failed("list", prefix, error) from None
        return sorted(found, key=lambda entry: entry.key)

    async def create(self, key: str, data: bytes) -> str:
        """See Objects."""
        try:
            done = await obstore.put_async(self._store, key, data, mode="create")
        except (AlreadyExistsError, PreconditionError):
            raise ObjectConflictError(key) from None
        except Exception as error:
            raise _failed("create", key, error) from None
        return done["e_tag"] or ""

    async def replace(self, key: str, data: bytes, etag: str) -> str:
        """See Objects."""
        try:
            done = await obstore.put_async(self._store, key, data, mode={"e_tag": etag})
        except (AlreadyExistsError, PreconditionError, NotFoundError, FileNotFoundError):
            raise ObjectConflictError(key) from None
        except Exception as error:
            raise _failed("replace", key, error) from None
        return done["e_tag"] or ""

    async def delete(self, key: str) -> None:
        """See Objects."""
        try:
            await obstore.delete_async(self._store, key)
        except (NotFoundError, FileNotFoundError):
            return
        except Exception as error:
            raise _failed("delete", key, error) from None


def _failed(action: str, key: str, error: Exception) -> ObjectStoreError:
    # The client's errors run over many lines; the first says what happened.
    said = next(iter(str(error).strip().splitlines()), "")[:200]
    return ObjectStoreError(f"{action} {key}: {type(error).__name__}: {said}")
