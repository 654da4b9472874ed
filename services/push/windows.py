"""What is remembered for a while: signals that are out, nonces, rates, when a publisher pinged. Bounded, no clock.

Instants are any one clock's ms, given by the caller. Reading order: Window, Buckets, Waves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from math import ceil


@dataclass(slots=True)
class Window:
    """Names met within the last `kept_ms`, at most `size` of them; beyond it the oldest is forgotten."""

    kept_ms: int
    size: int
    _met: OrderedDict[Hashable, int] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._met)

    def holds(self, name: Hashable, now_ms: int) -> bool:
        """Whether it was met within the window."""
        met = self._met.get(name)
        return met is not None and now_ms - met < self.kept_ms

    def full(self, now_ms: int) -> bool:
        """Whether the next name would push out one that is still within the window."""
        self._drop(now_ms)
        return len(self._met) >= self.size

    def add(self, name: Hashable, now_ms: int) -> None:
        """It is met now."""
        self._drop(now_ms)
        self._met.pop(name, None)
        if len(self._met) >= self.size:
            self._met.popitem(last=False)
        self._met[name] = now_ms

    def forget(self, name: Hashable) -> None:
        """As if it had never been met."""
        self._met.pop(name, None)

    def _drop(self, now_ms: int) -> None:
        while self._met:
            name, met = next(iter(self._met.items()))
            if now_ms - met < self.kept_ms:
                return
            del self._met[name]


@dataclass(slots=True)
class Buckets:
    """A token bucket a name: `burst` at once, then `rate` a second. The longest unused of `size` names goes first."""

    rate: float
    burst: int
    size: int
    _left: OrderedDict[Hashable, tuple[float, int]] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._left)

    def wait_ms(self, name: Hashable, now_ms: int) -> int:
        """Take one: 0, or how long until there is one again."""
        left, at = self._left.pop(name, (float(self.burst), now_ms))
        left = min(float(self.burst), left + max(0, now_ms - at) / 1000 * self.rate)
        wait = 0 if left >= 1 else ceil((1 - left) / self.rate * 1000)
        if len(self._left) >= self.size:
            self._left.popitem(last=False)
        self._left[name] = (left if wait else left - 1, now_ms)
        return wait


@dataclass(slots=True)
class Waves:
    """When the polls that a publisher's pings ask for may begin: at once, else together at the end of the gap."""

    gap_ms: int
    size: int
    _last: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def wave_ms(self, publisher: str, now_ms: int) -> int:
        """The instant of the wave that a ping at `now_ms` belongs to: now, or one up to a gap ahead."""
        last = self._last.pop(publisher, None)
        if last is None or not last - self.gap_ms <= now_ms < last + self.gap_ms:  # no ping yet, or the clock leapt
            wave = now_ms
        else:
            wave = last if last > now_ms else last + self.gap_ms
        if len(self._last) >= self.size:
            self._last.popitem(last=False)
        self._last[publisher] = wave
        return wave

    def withdraw(self, publisher: str, wave_ms: int) -> None:
        """That wave never got under way."""
        if self._last.get(publisher) == wave_ms:
            del self._last[publisher]
