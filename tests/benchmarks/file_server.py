"""File server of a measurement: answers each request on loopback addresses at once, in a process of its own.

A GET gets 1 KB, a POST gets 204. It reads no more of a request than its length: it must not be what is measured.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BODY = b"QueueOps" * 128
FILE = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
TAKEN = b"HTTP/1.1 204 No Content\r\n\r\n"
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Answers(asyncio.Protocol):
    """One connection: requests in, answers out, as often as the client likes."""

    def __init__(self) -> None:
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._read += data
        while (end := self._read.find(b"\r\n\r\n")) >= 0:
            is_post = self._read.startswith(b"POST")
            length = LENGTH.search(self._read, 0, end) if is_post else None
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._read) < whole:
                return
            self._read = self._read[whole:]
            self._transport.write(TAKEN if is_post else FILE)  # type: ignore[attr-defined]


async def serve(hosts: int) -> None:
    """Serve on so many addresses; their ports are printed as JSON."""
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(Answers, f"127.0.0.{number}", 0, backlog=512) for number in range(1, hosts + 1)]
    print(json.dumps([server.sockets[0].getsockname() for server in servers]), flush=True)
    await asyncio.Event().wait()


@contextmanager
def serving(hosts: int) -> Iterator[list[str]]:
    """Run the server; gives the beginning of the URLs of each address."""
    command = [sys.executable, "-m", __name__, str(hosts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield [f"http://{host}:{port}" for host, port in json.loads(process.stdout.readline())]
        finally:
            process.terminate()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
