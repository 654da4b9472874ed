"""Fixtures for all tests: a stack of one's own, so that tests run beside a stack that a user has up.

`stack`: Kafka, the object store and Flink, started once for the whole run, at the first test that asks.
`full_stack`: all components on the demo profile; its fetcher finds every host at `full_stack.endpoints.gateway`,
where a test serves what it wants fetched.
`make_stack`: any other, for tests that break it.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.stack import COMPONENTS, Ports, Stack
from connectors.settings import Endpoints

# Below the range from which the kernel hands out ports (32768), away from the defaults of a user's stack.
FIRST_PORT, LAST_PORT, STEP = 21_000, 31_000, 20


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@pytest.fixture(scope="session")
def port_base() -> Callable[[], int]:
    """Gives the first of twenty free ports at each call, never the same twice."""
    bases = iter(range(FIRST_PORT, LAST_PORT, STEP))

    def take() -> int:
        for base in bases:
            if all(_free(port) for port in range(base, base + STEP)):
                return base
        raise RuntimeError(f"no twenty free ports between {FIRST_PORT} and {LAST_PORT}")

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
        base = port_base()
        one = Stack(
            tmp_path_factory.mktemp("stack"),
            Ports.from_base(base),
            profile,
            gateway=f"127.0.0.1:{base + STEP - 1}" if gateway else "",
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


@pytest.fixture(scope="session")
def full_stack(make_stack: Callable[..., Stack]) -> Stack:
    """All components; the fetcher finds every host at `full_stack.endpoints.gateway`."""
    return make_stack(gateway=True)


STACK_FIXTURES = {"stack", "full_stack", "make_stack"}


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
