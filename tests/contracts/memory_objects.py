"""Objects in memory: the same plain methods as the real store, only the edge replaced."""

from __future__ import annotations

from hashlib import md5

from connectors.objects import Listed, ObjectConflictError, Stored


class MemoryObjects:
    """`Objects` in a dict. The ETag is the content's MD5, as S3 servers do: equal bytes, equal ETags."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    async def get(self, key: str) -> Stored | None:
        data = self.objects.get(key)
        return None if data is None else Stored(data, _etag(data))

    async def list(self, prefix: str) -> list[Listed]:
        folder = prefix.rstrip("/") + "/" if prefix else ""
        return [Listed(k, _etag(v), len(v)) for k, v in sorted(self.objects.items()) if k.startswith(folder)]

    async def create(self, key: str, data: bytes) -> str:
        if key in self.objects:
            raise ObjectConflictError(key)
        self.objects[key] = data
        return _etag(data)

    async def replace(self, key: str, data: bytes, etag: str) -> str:
        if key not in self.objects or _etag(self.objects[key]) != etag:
            raise ObjectConflictError(key)
        self.objects[key] = data
        return _etag(data)

    async def delete(self, key: str) -> None:
        self.objects.pop(key, None)


def _etag(data: bytes) -> str:
    return f'"{md5(data, usedforsecurity=False).hexdigest()}"'
