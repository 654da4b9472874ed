"""`python -m services.push`: settings from the environment, JSON lines on standard output, SIGTERM ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import uvloop

from connectors.kafka import KafkaClientError
from connectors.settings import Endpoints, SettingsError
from services.push.policy import PushPolicy
from services.push.service import run
from services.push.settings import PushSettings
from services.watching import log_as_json
from udfs.profiles import ProfileError, policy

# The producer's and the follower's threads take turns with the event loop: Python's 5 ms would be half of what a
# delivery may take.
_SWITCH_S = 0.0005


async def _main(settings: PushSettings, endpoints: Endpoints, bounds: PushPolicy) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await run(settings, endpoints, bounds, stop)


def main() -> int:
    """The exit status: 0 told to stop, 1 Kafka cannot be used (start it again), 2 a setting cannot be used."""
    # A broker that restarts is an expected fault: our own lines say so, without the library's tracebacks.
    # What is no HTTP is answered 400; the internet sends too much of it for a line each.
    log_as_json("kafka", "aiohttp")
    sys.setswitchinterval(_SWITCH_S)
    try:
        endpoints = Endpoints.from_mapping(os.environ)
        settings = PushSettings.from_mapping(os.environ)
        bounds = policy(PushPolicy, "push", endpoints.profile, endpoints.reference_data_folder())
    except (SettingsError, ProfileError, OSError) as error:
        print(f"push: {error}", file=sys.stderr)  # noqa: T201 - the one line for whoever started it
        return 2
    try:
        # A fifth less CPU a delivery than asyncio's own loop (docs/push.md).
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_main(settings, endpoints, bounds))
    except OSError as error:
        print(f"push: {endpoints.push} or port {settings.metrics_port}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 2
    except KafkaClientError as error:
        print(f"push: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # A client that waits for a broker holds a thread; leaving must not wait for it.
    os._exit(status)
