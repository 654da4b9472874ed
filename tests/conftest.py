"""Fixtures for all tests: a stack of one's own, so that tests run beside a stack that a user has up.

`stack`: Kafka, the object store and Flink, started once for the whole run, at the first test that asks.
`own_stack`: all components on the demo profile for one test alone, gone when it ends; its fetcher finds every host at
`own_stack.endpoints.gateway`, where a test serves what it wants fetched. `make_stack`: any other.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from cli.stack import COMPONENTS, Ports, Stack, free_ports
from cli.stack.control import FIRST_FREE
from connectors.settings import Endpoints

# How long an example takes is the machine's affair: a busy one must not make a test fail.
settings.register_profile("broadsheet", deadline=None)
settings.load_profile("broadsheet")


@pytest.fixture(scope="session")
def port_base() -> Callable[[], int]:
    """Gives the first of ten free ports at each call, never the same twice in a run."""
    # Two runs at the same time would find the same ports free: each begins elsewhere.
    first = FIRST_FREE + os.getpid() % 100 * 100

    def take() -> int:
        nonlocal first
        ports, spare = free_ports(first)
        first = spare + 3
        return ports.kafka

    return take


@pytest.fixture(scope="session")
def make_stack(
    tmp_path_factory: pytest.TempPathFactory, port_base: Callable[[], int]
) -> Iterator[Callable[..., Stack]]:
    """Brings up stacks: make_stack("kafka", "s3", profile="demo", gateway=True). All end with the run, failed or not.

    gateway=True: the fetcher finds every host at a port that is free for the test to serve on.
    """
    made: list[Stack] = []

    def make(*components: str, profile: str = "demo", gateway: bool = False, slots: int = 8) -> Stack:
        ports = Ports.from_base(port_base())
        one = Stack(
            tmp_path_factory.mktemp("stack"),
            ports,
            profile,
            gateway=f"127.0.0.1:{ports.origin + 1}" if gateway else "",
            slots=slots,
            given=Endpoints(),
        )
        made.append(one)
        one.up(components or COMPONENTS, owned=True)
        return one

    yield make
    for one in made:
        with contextlib.suppress(Exception):
            one.down()


@pytest.fixture(scope="session")
def stack(make_stack: Callable[..., Stack]) -> Stack:
    """Kafka, the object store and Flink."""
    return make_stack("kafka", "s3", "flink")


@pytest.fixture(scope="session")
def endpoints(stack: Stack) -> Endpoints:
    """Where the systems of `stack` answer."""
    return stack.endpoints


@pytest.fixture
def own_stack(make_stack: Callable[..., Stack]) -> Iterator[Stack]:
    """All components for one test alone, which may break them; gone when it ends, so that two never run at once."""
    one = make_stack(gateway=True)
    yield one
    one.down()


STACK_FIXTURES = {"stack", "own_stack", "make_stack"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a stack, and run it last: a plain mistake shows before any process is started."""
    for item in items:
        if STACK_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("stack")
    items.sort(key=lambda item: item.get_closest_marker("stack") is not None)


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the repository."""
    return Path(__file__).resolve().parent.parent
