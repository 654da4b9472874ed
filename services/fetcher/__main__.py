"""`python -m services.fetcher`: settings from the environment, JSON lines on standard output, SIGTERM ends it."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import sys

import uvloop

from connectors.settings import Endpoints, SettingsError
from services.fetcher.policy import FetchPolicy
from services.fetcher.service import run
from services.fetcher.settings import FetcherSettings
from services.watching import log_as_json
from udfs.profiles import ProfileError, policy

# 512 requests under way, two hosts each where they were redirected, and 2,000 hosts with a kept connection or two.
_FILES = 8_192


def _more_files() -> None:
    """Sockets of as many hosts as the policy allows; many systems begin with 1,024."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if most == resource.RLIM_INFINITY else min(_FILES, most)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


async def _main(settings: FetcherSettings, endpoints: Endpoints, bounds: FetchPolicy) -> str:
    # What was imported is no garbage, ever, and requests leave little: looking for it less often saves 5 % of the CPU.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return await run(settings, endpoints, bounds, stop)


def main() -> int:
    """The exit status: 0 told to stop, 1 something broke (start it again), 2 a setting cannot be used."""
    # A broker that restarts is an expected fault: our own lines say so, without the library's tracebacks.
    log_as_json("kafka")
    _more_files()
    try:
        endpoints = Endpoints.from_mapping(os.environ)
        settings = FetcherSettings.from_mapping(os.environ)
        bounds = policy(FetchPolicy, "fetcher", endpoints.profile, endpoints.reference_data_folder())
    except (SettingsError, ProfileError, OSError) as error:
        print(f"fetcher: {error}", file=sys.stderr)  # noqa: T201 - the one line for whoever started it
        return 2
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            trouble = runner.run(_main(settings, endpoints, bounds))
    except OSError as error:
        print(f"fetcher: port {settings.port}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 2
    return 1 if trouble else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # A name server that does not answer holds a thread of the resolver; leaving must not wait for it.
    os._exit(status)
