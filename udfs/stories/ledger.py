"""The rows one decision stores: gathered, read back within the decision, handed over whole. Knows no row's meaning."""

from __future__ import annotations

from collections.abc import Callable

from state_schemas.codec import State, dump_state

Put = tuple[str, str, bytes | None]  # map, key, value; None removes
Read = Callable[[str, str], bytes | None]  # map, key -> what was stored there


class Ledger:
    """Rows to store, at most one a (map, key); the last one counts."""

    def __init__(self, read: Read) -> None:
        self._stored = read
        self._puts: dict[tuple[str, str], bytes | None] = {}

    def put(self, name: str, key: str, row: State | bytes) -> None:
        """Store a row under map and key."""
        self._puts[name, key] = row if isinstance(row, bytes) else dump_state(row)

    def remove(self, name: str, key: str) -> None:
        """Remove a row."""
        self._puts[name, key] = None

    def read(self, name: str, key: str) -> bytes | None:
        """A row as this decision has left it so far; None where there is none."""
        place = (name, key)
        return self._puts[place] if place in self._puts else self._stored(name, key)

    def take(self) -> tuple[Put, ...]:
        """All puts of the decision, in order of their first mention; the ledger is empty afterwards."""
        puts = tuple((name, key, value) for (name, key), value in self._puts.items())
        self._puts = {}
        return puts
