"""What `bench fetch` is held against: the loop that one would write with aiohttp and a semaphore.

It keeps a hundred requests under way, gives up after 30 s, and knows no robots.txt, no pace for a host, no Kafka. A
process of its own (`python -m cli.bench_plain_loop`): one line of JSON on standard input says what to ask, one on
standard output what came of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import aiohttp

AT_ONCE = 100
TOTAL_S = 30.0


async def ask_all(port: int, hosts: list[str], rate: float, seconds: float) -> dict[str, Any]:
    """Every host in turn, `rate` a second (0: as fast as it goes), for so many seconds. Latencies in ms by host, from
    when a request was due; cpu_s: of this process."""
    places = asyncio.Semaphore(AT_ONCE)
    took: list[tuple[str, float]] = []
    failed = 0
    connector = aiohttp.TCPConnector(limit=AT_ONCE)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=TOTAL_S)) as session:

        async def one(host: str, due: float) -> None:
            nonlocal failed
            try:
                async with places, session.get(f"http://127.0.0.1:{port}/feed.xml", headers={"Host": host}) as answer:
                    body = b""
                    async for chunk in answer.content.iter_any():
                        body += chunk
                        if len(body) > 10_000_000:  # or an endless body would end the measurement
                            raise ValueError("too large")
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
                failed += 1
            took.append((host, 1000 * (time.monotonic() - due)))

        began, cpu = time.monotonic(), time.process_time()
        tasks: set[asyncio.Task[None]] = set()
        number = 0
        while (now := time.monotonic()) - began < seconds:
            wanted = (now - began) * rate if rate else number + AT_ONCE * 2 - len(tasks)
            while number < wanted:
                due = began + number / rate if rate else now
                task = asyncio.create_task(one(hosts[number % len(hosts)], due))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                number += 1
            await asyncio.sleep(0.005)
        done, spent = len(took), time.process_time() - cpu
        if tasks:
            await asyncio.wait(tasks, timeout=TOTAL_S + 1)
    return {"per_second": done / seconds, "cpu_s": spent, "done": done, "failed": failed, "took": took}


def main() -> None:
    """One measurement."""
    wanted = json.loads(sys.stdin.readline())
    found = asyncio.run(ask_all(wanted["port"], wanted["hosts"], wanted["rate"], wanted["seconds"]))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
