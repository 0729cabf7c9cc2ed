"""Async tasks that send HTTP requests to the console of this demo."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

from queueops import Retry, current, task

PAGES = ("login/", "", "tasks/", "workers/")
LARGEST = 256 * 1024


@task(name="demo.check_login_page", tags=["web"], timeout=10, retry=Retry(delay=5))
async def check_login_page() -> dict[str, int]:
    """Fetch the console's login page, and measure the time."""
    began = time.monotonic()
    status, size = await _fetch("login/")
    if status != 200:
        raise RuntimeError(f"the login page answered with {status}")
    return {"status": status, "bytes": size, "ms": round((time.monotonic() - began) * 1000)}


@task(name="demo.check_pages", tags=["web"], timeout=30, retry=Retry(delay=5))
async def check_pages() -> AsyncIterator[str]:
    """Request some pages without a login: all but one redirect to the login page. An async generator."""
    for page in PAGES:
        current().log(f"asking for /ops/{page}")
        status, _ = await _fetch(page)
        yield f"/ops/{page}: {status}"


async def _fetch(page: str) -> tuple[int, int]:
    """The status and the length of a page of the console."""
    address = urlsplit(os.environ.get("QUEUEOPS_DEMO_URL", "http://127.0.0.1:8000/ops/"))
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        path = f"{address.path}{page}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        answer = b""
        while len(answer) < LARGEST and (block := await reader.read(LARGEST)):
            answer += block
        return int(answer.split(b" ", 2)[1]), len(answer)
    finally:
        writer.close()
