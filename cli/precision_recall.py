"""Precision and recall of what was found against what is true: the counts of one label, type or script."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Count:
    """Found and true, found only, true only."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def add(self, *, found: bool, true: bool) -> None:
        """Count one thing that was found, or is true, or both."""
        self.right += found and true
        self.wrong += found and not true
        self.missed += true and not found

    @property
    def true(self) -> int:
        """How many are true."""
        return self.right + self.missed

    @property
    def precision(self) -> float | None:
        """Rounded to 4 digits; None where nothing was found."""
        found = self.right + self.wrong
        return round(self.right / found, 4) if found else None

    @property
    def recall(self) -> float | None:
        """Rounded to 4 digits; None where nothing is true."""
        return round(self.right / self.true, 4) if self.true else None


def shown(share: float | None) -> str:
    """A share for people."""
    return "-" if share is None else f"{share:.3f}"
