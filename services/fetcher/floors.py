"""When each feed was last asked: one that is asked again within its floor is refused. Times are any one clock's ms."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field


@dataclass(slots=True)
class Floors:
    """The last `size` feeds asked; what was forgotten counts as never asked, as everything does after a restart."""

    size: int
    # Not a plain dict: finding the oldest of one walks past all that were taken out before it.
    _asked: OrderedDict[str, int] = field(default_factory=OrderedDict)

    def wait_ms(self, feed_id: str, floor_ms: int, now_ms: int) -> int:
        """How much longer the feed must be left alone; 0: it may be asked."""
        asked = self._asked.get(feed_id)
        return 0 if asked is None else max(0, asked + floor_ms - now_ms)

    def asked(self, feed_id: str, now_ms: int) -> None:
        """It is being asked now."""
        self._asked.pop(feed_id, None)
        if len(self._asked) >= self.size:
            self._asked.popitem(last=False)
        self._asked[feed_id] = now_ms

    def forget(self, feed_id: str) -> None:
        """The request was given up before it was answered: the next owner's may not be refused for it."""
        self._asked.pop(feed_id, None)
