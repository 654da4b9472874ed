"""Flink around one function, in memory: keyed state, processing-time timers, side outputs, failover.

`Harness` runs a process function as a task would: state is per key and unreadable in `open()`, values are copied on
the way in and out (a mutated object is not saved state), and `restart` opens a fresh instance over the last
checkpoint. What the real process mode refuses is absent here too: no `MapState.put_all`, no unnamed rows.
Reading order: Harness, then the fakes it is made of.

    harness = Harness(lambda: Poll(policy))
    harness.send("17", ("17", b"..."))        # process_element with the current key "17"
    harness.advance(1_000)                    # fires the timers due within the next 1,000 ms
    harness.main, harness.side["quarantine"]  # what was emitted
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyflink.datastream import OutputTag

_NO_KEY = object()


class FakeClock:
    """The task's processing time, in ms UTC."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms


class FakeStore:
    """All keyed state and timers of one function: what a checkpoint holds."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, Any], Any] = {}
        self.maps: dict[tuple[str, Any], dict[Any, Any]] = {}
        self.lists: dict[tuple[str, Any], list[Any]] = {}
        self.timers: set[tuple[int, Any]] = set()  # (ms UTC, key), as in Flink: one timer an instant and key
        self.event_timers: set[tuple[int, Any]] = set()
        self.key: Any = _NO_KEY

    def current_key(self) -> Any:
        if self.key is _NO_KEY:
            raise RuntimeError("keyed state is not readable in open(): no current key")
        return self.key


class FakeValueState:
    def __init__(self, store: FakeStore, name: str) -> None:
        self._store, self._name = store, name

    def value(self) -> Any:
        return copy.deepcopy(self._store.values.get((self._name, self._store.current_key())))

    def update(self, value: Any) -> None:
        self._store.values[self._name, self._store.current_key()] = copy.deepcopy(value)

    def clear(self) -> None:
        self._store.values.pop((self._name, self._store.current_key()), None)


class FakeMapState:
    """A map a key. The iterators are snapshots; `get` of an absent key is None, as in Flink."""

    def __init__(self, store: FakeStore, name: str) -> None:
        self._store, self._name = store, name

    def _map(self) -> dict[Any, Any]:
        return self._store.maps.setdefault((self._name, self._store.current_key()), {})

    def get(self, key: Any) -> Any:
        return copy.deepcopy(self._map().get(key))

    def put(self, key: Any, value: Any) -> None:
        self._map()[key] = copy.deepcopy(value)

    def remove(self, key: Any) -> None:
        self._map().pop(key, None)

    def contains(self, key: Any) -> bool:
        return key in self._map()

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(copy.deepcopy(list(self._map().items())))

    def keys(self) -> Iterator[Any]:
        return iter(list(self._map()))

    def values(self) -> Iterator[Any]:
        return iter(copy.deepcopy(list(self._map().values())))

    def is_empty(self) -> bool:
        return not self._map()

    def clear(self) -> None:
        self._store.maps.pop((self._name, self._store.current_key()), None)

    __getitem__ = get
    __setitem__ = put
    __delitem__ = remove
    __contains__ = contains

    def __iter__(self) -> Iterator[Any]:
        return self.keys()


class FakeListState:
    def __init__(self, store: FakeStore, name: str) -> None:
        self._store, self._name = store, name

    def get(self) -> Iterator[Any]:
        return iter(copy.deepcopy(self._store.lists.get((self._name, self._store.current_key()), [])))

    def add(self, value: Any) -> None:
        self._store.lists.setdefault((self._name, self._store.current_key()), []).append(copy.deepcopy(value))

    def add_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        self._store.lists[self._name, self._store.current_key()] = copy.deepcopy(list(values))

    def clear(self) -> None:
        self._store.lists.pop((self._name, self._store.current_key()), None)


class FakeTimerService:
    def __init__(self, store: FakeStore, clock: FakeClock) -> None:
        self._store, self._clock = store, clock
        self.watermark = -(1 << 63)

    def current_processing_time(self) -> int:
        return self._clock.now_ms

    def current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        assert isinstance(timestamp, int)
        self._store.timers.add((timestamp, self._store.current_key()))

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._store.timers.discard((timestamp, self._store.current_key()))

    def register_event_time_timer(self, timestamp: int) -> None:
        self._store.event_timers.add((timestamp, self._store.current_key()))

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._store.event_timers.discard((timestamp, self._store.current_key()))


class FakeContext:
    """Context and OnTimerContext of a process function, keyed or not."""

    def __init__(self, store: FakeStore, timers: FakeTimerService) -> None:
        self._store, self._timers = store, timers
        self.element_timestamp: int | None = None

    def timer_service(self) -> FakeTimerService:
        return self._timers

    def timestamp(self) -> int | None:
        return self.element_timestamp

    def get_current_key(self) -> Any:
        return self._store.current_key()


class FakeCounter:
    def __init__(self, counts: Counter[str], name: str) -> None:
        self._counts, self._name = counts, name

    def inc(self, n: int = 1) -> None:
        self._counts[self._name] += n

    def dec(self, n: int = 1) -> None:
        self._counts[self._name] -= n

    def get_count(self) -> int:
        return self._counts[self._name]


class FakeMetricGroup:
    """Counters, meters, distributions and gauges by name; groups share the flat name space."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.gauges: dict[str, Callable[[], int]] = {}
        self.observed: defaultdict[str, list[int]] = defaultdict(list)

    def add_group(self, *names: str) -> FakeMetricGroup:
        return self

    def counter(self, name: str) -> FakeCounter:
        return FakeCounter(self.counts, name)

    def gauge(self, name: str, read: Callable[[], int]) -> None:
        self.gauges[name] = read

    def distribution(self, name: str) -> Any:
        group = self

        class Distribution:
            def update(self, value: int) -> None:
                group.observed[name].append(value)

        return Distribution()

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Any:
        group = self

        class Meter:
            def mark_event(self, value: int = 1) -> None:
                group.counts[name] += value

        return Meter()


class FakeRuntimeContext:
    """What `open()` gets: state handles by descriptor, metrics, the place of the subtask."""

    def __init__(self, store: FakeStore, metrics: FakeMetricGroup, subtask: int = 0, parallelism: int = 1) -> None:
        self._store, self._metrics, self._subtask, self._parallelism = store, metrics, subtask, parallelism

    def get_state(self, descriptor: Any) -> FakeValueState:
        return FakeValueState(self._store, descriptor.name)

    def get_map_state(self, descriptor: Any) -> FakeMapState:
        return FakeMapState(self._store, descriptor.name)

    def get_list_state(self, descriptor: Any) -> FakeListState:
        return FakeListState(self._store, descriptor.name)

    def get_metrics_group(self) -> FakeMetricGroup:
        return self._metrics

    def get_index_of_this_subtask(self) -> int:
        return self._subtask

    def get_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return default_value


class Harness:
    """One task of a function made by `make`, opened. `main` and `side[tag id]` collect what it emits.

    With side outputs Flink takes a tuple that starts with an OutputTag apart; anything else goes to the main output.
    """

    def __init__(
        self, make: Callable[[], Any], now_ms: int = 1_800_000_000_000, subtask: int = 0, parallelism: int = 1
    ) -> None:
        self._make, self._subtask, self._parallelism = make, subtask, parallelism
        self.clock = FakeClock(now_ms)
        self.store = FakeStore()
        self.metrics = FakeMetricGroup()
        self.main: list[Any] = []
        self.side: defaultdict[str, list[Any]] = defaultdict(list)
        self._saved: tuple[FakeStore, int, dict[str, int]] | None = None
        self._open()

    def _open(self) -> None:
        self.timers = FakeTimerService(self.store, self.clock)
        self.ctx = FakeContext(self.store, self.timers)
        self.function = self._make()
        self.store.key = _NO_KEY
        self.function.open(FakeRuntimeContext(self.store, self.metrics, self._subtask, self._parallelism))

    def send(self, key: Any, value: Any, timestamp: int | None = None) -> list[Any]:
        """Process one element under a key; returns what went to the main output for it."""
        self.store.key = key
        self.ctx.element_timestamp = timestamp
        return self._collect(self.function.process_element(value, self.ctx))

    def advance(self, ms: int) -> list[Any]:
        """Move the clock on by `ms`, firing each due processing-time timer at its own instant, in order.

        Returns what went to the main output meanwhile.
        """
        until = self.clock.now_ms + ms
        emitted: list[Any] = []
        while due := [timer for timer in self.store.timers if timer[0] <= until]:
            timer = min(due, key=lambda entry: (entry[0], str(entry[1])))
            self.store.timers.remove(timer)
            self.clock.now_ms = max(self.clock.now_ms, timer[0])
            self.store.key = timer[1]
            self.ctx.element_timestamp = timer[0]
            emitted += self._collect(self.function.on_timer(timer[0], self.ctx))
        self.clock.now_ms = until
        return emitted

    def checkpoint(self) -> None:
        """Take what `restart` goes back to."""
        self._saved = (copy.deepcopy(self.store), len(self.main), {tag: len(out) for tag, out in self.side.items()})

    def restart(self, *, keep_output: bool = True, after_ms: int = 0) -> None:
        """Fail: a new instance over the last checkpoint (or over nothing). State and timers since are gone.

        keep_output: at-least-once sinks have written already; False drops what was emitted since, as a transaction
        that was never committed. after_ms: how long the task was down.
        """
        close = getattr(self.function, "close", None)
        if close is not None:
            close()
        if self._saved is None:
            self.store = FakeStore()
            main, side = 0, {}
        else:
            saved, main, side = self._saved
            self.store = copy.deepcopy(saved)
        if not keep_output:
            del self.main[main:]
            for tag, out in self.side.items():
                del out[side.get(tag, 0) :]
        self.clock.now_ms += after_ms
        self._open()

    def clear_output(self) -> None:
        """Forget what was emitted so far."""
        self.main.clear()
        self.side.clear()

    def _collect(self, results: Iterable[Any] | None) -> list[Any]:
        emitted = []
        for result in results or ():
            if isinstance(result, tuple) and result and isinstance(result[0], OutputTag):
                self.side[result[0].tag_id].append(result[1])
            else:
                emitted.append(result)
        self.main += emitted
        return emitted
