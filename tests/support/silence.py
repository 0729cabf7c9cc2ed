"""A server that takes connections and never answers, or says what no Redis says."""

from __future__ import annotations

import socket
import threading

HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


class Listener:
    """Takes connections and never answers, or always the same."""

    def __init__(self, answer: bytes = b"") -> None:
        self.taken: list[socket.socket] = []
        self._answer = answer
        self._server = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, name="listener")
        self._thread.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._server.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                self.taken.append(self._server.accept()[0])
            except OSError:
                return
            if self._answer:
                self.taken[-1].sendall(self._answer)

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(60)
        for one in self.taken:
            one.close()
