"""How a service is watched: its log as JSON lines on standard output, and /health and /metrics on loopback."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

import structlog
from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from structlog.typing import Processor


def log_as_json(*quiet: str) -> None:
    """Our own log and the libraries' warnings. quiet: loggers of which only what ends the process is written."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer(sort_keys=False)],
        logger_factory=structlog.PrintLoggerFactory(sys.stdout),
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    for name in quiet:
        logging.getLogger(name).setLevel(logging.CRITICAL)


async def serve(
    port: int, registry: CollectorRegistry, health: Callable[[], tuple[bool, dict[str, object]]]
) -> web.AppRunner:
    """Serve until the runner is cleaned up. health: is all well, and the state. Raises OSError: port taken."""

    async def answer_health(_: web.Request) -> web.Response:
        well, state = health()
        return web.json_response(state, status=200 if well else 503)

    async def answer_metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.router.add_get("/health", answer_health)
    app.router.add_get("/metrics", answer_metrics)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner
