"""`redis-cli` for the server of a URL: a remedy that an operator copies must not act on another server.

The embedded server brings no `redis-cli`: `manage.py embedded ask` stands for it.
"""

from __future__ import annotations

import shlex
from urllib.parse import unquote, urlsplit

PROGRAM = "redis-cli "
OWN_ADDRESS = "redis-cli --cluster "
"""A command that begins so names its server itself."""
USUAL = ("127.0.0.1", "6379")


def addressed(text: str, url: str) -> str:
    """The text; each `redis-cli` in it that names no server gets the address of the URL, and asks for its password.

    A URL of sentinels or of a cluster names no single server: HOST and PORT stand for it.
    """
    if PROGRAM not in text or OWN_ADDRESS in text:
        return text
    if url.startswith("embedded:"):
        directory = url.removeprefix("embedded:").removeprefix("//")
        return text.replace(PROGRAM, f"{shlex.join(('manage.py', 'embedded', '--data', directory, 'ask'))} ")
    return text.replace(PROGRAM, f"{shlex.join(('redis-cli', *_address(url)))} ")


def _address(url: str) -> tuple[str, ...]:
    scheme = url.partition(":")[0]
    parts = urlsplit(url)
    user = ("--user", unquote(parts.username)) if parts.username else ()
    own = (*user, *(("--askpass",) if parts.password else ()))
    if scheme == "unix":
        return ("-s", unquote(parts.path), *own)
    place = ("HOST", "PORT") if "+" in scheme else (parts.hostname or USUAL[0], str(parts.port or USUAL[1]))
    tls = ("--tls",) if scheme.startswith(("rediss", "valkeys")) else ()
    at = () if place == USUAL else ("-h", place[0], "-p", place[1])
    return (*at, *tls, *own)
