"""Bodies above 900 KB: a store that does not answer is not a missing body."""

from __future__ import annotations

import pytest

from connectors import evidence
from connectors.objects import ObjectStoreError, Stored
from connectors.settings import Endpoints


class _Store:
    """Fails `failures` times, then holds one object."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    async def get(self, key: str) -> Stored | None:
        if self.failures:
            self.failures -= 1
            raise ObjectStoreError("get: refused")
        return Stored(b"<html>", '"e"') if key == "evidence/known" else None


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(evidence, "_PAUSES_S", (0.0, 0.0))
    monkeypatch.setattr(evidence, "S3Objects", lambda _: _Store(request.param))


@pytest.mark.parametrize("store", [0, 2], indirect=True, ids=["store up", "store back after two tries"])
@pytest.mark.usefixtures("store")
def test_a_body_is_read_and_a_missing_one_is_none() -> None:
    stored = evidence.evidence_of(Endpoints())
    assert stored("known") == b"<html>"
    assert stored("unknown") is None


@pytest.mark.parametrize("store", [9], indirect=True, ids=["store down"])
@pytest.mark.usefixtures("store")
def test_a_store_that_stays_away_fails_the_task() -> None:
    with pytest.raises(ObjectStoreError):
        evidence.evidence_of(Endpoints())("known")
