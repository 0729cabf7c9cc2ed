"""A proxy between a worker and its store that loses what it is told to lose."""

from __future__ import annotations

import asyncio
import threading
from enum import StrEnum
from pathlib import Path


class Mode(StrEnum):
    """What happens to what passes."""

    PASS = "pass"
    CUT_REPLY = "cut_reply"  # the request is carried out, its reply is lost, and the connection ends
    BLACKHOLE = "blackhole"  # nothing passes, in either direction, and the connection stays
    REFUSE = "refuse"


class FaultProxy:
    """Listens on one Unix socket and speaks to another, in a thread of its own."""

    def __init__(self, upstream: Path, path: Path) -> None:
        self.path = path
        self.mode = Mode.PASS
        self.left = 0
        self.cut = 0
        self._upstream = upstream
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fault-proxy")
        self._ready = threading.Event()
        self._thread.start()
        self._ready.wait(60)

    def lose_replies(self, count: int) -> None:
        """Lose the next replies."""
        self.left, self.mode = count, Mode.CUT_REPLY

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)

    def _run(self) -> None:
        server = self._loop.run_until_complete(asyncio.start_unix_server(self._serve, str(self.path)))
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            server.close()
            self._loop.run_until_complete(self._end_tasks())
            self._loop.close()

    async def _end_tasks(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_unix_connection(str(self._upstream))
        except OSError:
            writer.close()
            return
        try:
            if self.mode is not Mode.REFUSE:
                await asyncio.gather(self._requests(reader, up_writer), self._replies(up_reader, writer, up_writer))
        except OSError:
            return
        finally:
            writer.close()
            up_writer.close()

    async def _requests(self, reader: asyncio.StreamReader, up_writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if self.mode is not Mode.BLACKHOLE:
                up_writer.write(data)
                await up_writer.drain()
        up_writer.close()

    async def _replies(
        self, up_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, up_writer: asyncio.StreamWriter
    ) -> None:
        while data := await up_reader.read(65536):
            if self.mode is Mode.BLACKHOLE:
                continue
            if self.mode is Mode.CUT_REPLY and self.left > 0:
                self.left -= 1
                self.cut += 1
                break
            writer.write(data)
            await writer.drain()
        writer.close()
        up_writer.close()
