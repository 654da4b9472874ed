"""When in the week a feed's new items come: 168 decayed counts, one an hour of the week (Monday 00:00 UTC first).

A cell is decayed each time its hour begins anew, so that what it holds is the sum of r^k items of k weeks ago, and
nothing is rounded between. How long each hour was watched follows from when watching began. No clock, no I/O.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

from state_schemas.polling import HOURS_OF_WEEK
from udfs.poll.policy import HOUR_MS

_CELLS = struct.Struct(f"<{HOURS_OF_WEEK}e")
_CELL = struct.Struct("<e")
_MOST = 65_504.0  # of a float16
_MONDAY = 72  # hours from the first Monday before 1970 to 1970-01-01, a Thursday


def hour_of_week(hour: int) -> int:
    """The cell of an hour counted since 1970."""
    return (hour + _MONDAY) % HOURS_OF_WEEK


def kept_a_week(half_life_weeks: float) -> float:
    """What a week leaves of a count."""
    return float(0.5 ** (1 / half_life_weeks))


def counted(hourly: bytes, from_ms: int, to_ms: int, items_ms: list[int], kept: float) -> bytes:
    """The cells after watching from `from_ms` to `to_ms` (ms UTC, a week later at most), with an item at each of
    `items_ms` between them.

    kept: see kept_a_week. Cells that hold nothing stay empty bytes: most feeds are silent for most of their life.
    """
    if not hourly and not items_ms:
        return hourly
    first, last = from_ms // HOUR_MS + 1, to_ms // HOUR_MS
    if not items_ms and first > last:
        return hourly
    cells = bytearray(hourly or bytes(_CELLS.size))
    for hour in range(first, last + 1):
        at = hour_of_week(hour) * _CELL.size
        _CELL.pack_into(cells, at, _CELL.unpack_from(cells, at)[0] * kept)
    for at_ms in items_ms:
        at = hour_of_week(at_ms // HOUR_MS) * _CELL.size
        _CELL.pack_into(cells, at, min(_MOST, _CELL.unpack_from(cells, at)[0] + 1))
    return bytes(cells)


def watched_h(cell: int, since_ms: int, until_ms: int, kept: float) -> float:
    """Hours for which a cell was watched from `since_ms` to `until_ms`, decayed as its count is."""
    start, end = since_ms / HOUR_MS, until_ms / HOUR_MS
    last = until_ms // HOUR_MS
    latest = last - (hour_of_week(last) - cell) % HOURS_OF_WEEK
    watched = max(0.0, min(end, latest + 1) - max(start, latest))
    # Whole occurrences in the weeks before the latest, then the one in which watching began.
    whole = max(0, math.floor((latest - start) / HOURS_OF_WEEK))
    watched += kept * (1 - kept**whole) / (1 - kept)
    begun = latest - (whole + 1) * HOURS_OF_WEEK
    return watched + kept ** (whole + 1) * min(1.0, max(0.0, begun + 1 - start))


def _overlap(cell: int, start: float, length: float, period: int) -> float:
    """Hours of [start, start + length), shorter than the period, that lie in the cell of a day (24) or week (168)."""
    hour = math.floor(start)
    begins = hour + (cell - hour_of_week(hour)) % period
    end = start + length
    met = max(0.0, min(end, begins + 1) - max(start, begins))
    return met + max(0.0, end - begins - period)


class Rhythm:
    """The expected rate at each hour, from cells and an overall rate.

    An hour counts with its neighbours, at a weight below 1. Both steps are the mean of a gamma posterior, (count +
    prior items) / (hours + prior items / prior rate): an hour of the day is shrunk to the overall rate, an hour of the
    week to its hour of the day.
    """

    __slots__ = (
        "_beside",
        "_cells",
        "_day_items",
        "_kept_weeks",
        "_now",
        "_overall",
        "_rest",
        "_start",
        "_week_items",
        "_weeks",
    )

    def __init__(
        self,
        hourly: bytes,
        since_ms: int,
        until_ms: int,
        overall: float,
        *,
        day_items: float,
        week_items: float,
        beside: float,
        kept: float,
    ) -> None:
        """overall: items an hour, > 0. day_items, week_items: observed items that the coarser rate weighs as much as,
        > 0. beside: the weight of a neighbouring hour, in [0, 1]."""
        self._cells = _CELLS.unpack(hourly) if hourly else None
        self._overall, self._day_items, self._week_items, self._beside = overall, day_items, week_items, beside
        # Every cell was met in each whole week, those of the rest before them once more. Only for the hour that runs
        # does it matter that it is not over: its count was decayed when it began.
        self._start = since_ms / HOUR_MS
        whole, self._rest = divmod(max(0.0, until_ms / HOUR_MS - self._start), HOURS_OF_WEEK)
        self._kept_weeks = float(kept**whole)
        self._weeks = (1 - self._kept_weeks) / (1 - kept)
        running = hour_of_week(until_ms // HOUR_MS)
        exactly = watched_h(running, since_ms, until_ms, kept)
        self._now = (running, exactly - self._watched(running, self._rest, HOURS_OF_WEEK, 1))

    def _watched(self, cell: int, rest: float, period: int, times: float) -> float:
        return times * self._weeks + self._kept_weeks * _overlap(cell, self._start, rest, period)

    def rate(self, hour: int) -> float:
        """Items an hour expected in an hour counted since 1970, > 0."""
        cell = hour_of_week(hour)
        in_cell, in_day = self._counted(cell)
        if self._beside:
            for neighbour in ((cell - 1) % HOURS_OF_WEEK, (cell + 1) % HOURS_OF_WEEK):
                more_cell, more_day = self._counted(neighbour)
                in_cell += self._beside * more_cell
                in_day += self._beside * more_day
        days, rest = divmod(self._rest, 24)
        day_h = self._watched(cell, rest, 24, 7) + self._kept_weeks * days
        cell_h = self._watched(cell, self._rest, HOURS_OF_WEEK, 1)
        running, correction = self._now
        if cell % 24 == running % 24:
            day_h += correction
            cell_h += correction if cell == running else 0.0
        wide = 1 + 2 * self._beside  # the neighbours were watched as long, but for an hour at either end
        of_day = (in_day + self._day_items) / (wide * day_h + self._day_items / self._overall)
        return (in_cell + self._week_items) / (wide * cell_h + self._week_items / of_day)

    def _counted(self, cell: int) -> tuple[float, float]:
        """Items in a cell, and in all of its hour of the day."""
        if self._cells is None:
            return 0.0, 0.0
        return float(self._cells[cell]), float(sum(self._cells[cell % 24 :: 24]))

    def _ahead(self, now_ms: int) -> Iterator[tuple[float, float]]:
        """(hours, rate) of the rest of this hour, then of each to come."""
        hour = now_ms // HOUR_MS
        yield (hour + 1) - now_ms / HOUR_MS, self.rate(hour)
        while True:
            hour += 1
            yield 1.0, self.rate(hour)

    def waited_h(self, now_ms: int, worth: float, most_h: float) -> float:
        """Hours until the items that are expected from now on have waited `worth` item-hours in all; at most `most_h`.

        With n expected so far at a rate r, their waiting grows by n + r t an hour.
        """
        came, waited, ahead = 0.0, 0.0, 0.0
        for hours, rate in self._ahead(now_ms):
            # The root of waited + came t + rate t^2 / 2 = worth.
            lacks = worth - waited
            until = (math.sqrt(came * came + 2 * rate * lacks) - came) / rate
            if until <= hours or ahead + hours >= most_h:
                return min(ahead + until, most_h)
            waited += came * hours + rate * hours * hours / 2
            came += rate * hours
            ahead += hours
        raise AssertionError("hours have no end")
