"""Body decoding: unpacks a body in pieces of bounded size, so that a gzip bomb meets the limit of size first."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from queueops.kinds.jobs.http.http_failures import AttemptFailed, FailureKind

PIECE = 256 * 1024
"""Most bytes that are unpacked at once."""
GZIP, ANY_ZLIB, RAW = 16 + zlib.MAX_WBITS, 32 + zlib.MAX_WBITS, -zlib.MAX_WBITS
MAGIC = b"\x1f\x8b"
"""How each member of gzip data begins. What else follows a member is no data, as for other clients."""


def decoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The pieces of a body, unpacked. Raises AttemptFailed, also for data that end too early."""
    names = [name.strip().lower() for name in encoding.split(",") if name.strip()]
    names = [name for name in names if name != "identity"]
    if not names:
        yield from pieces
    elif names in (["gzip"], ["x-gzip"], ["deflate"]):
        yield from _unpacked(pieces, names[0])
    else:
        raise _wrong(f"The encoding {encoding!r} of the body is not supported.")


def _unpacked(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """All members of a body, each with its checksum. Zeros may stand between them."""
    engine: Any = None
    rest, members, is_over = b"", 0, False
    try:
        for packed in pieces:
            rest = b"" if is_over else rest + packed
            while len(rest) > 1 and not is_over:
                if engine is None:
                    rest = rest.lstrip(b"\0") if members else rest
                    if len(rest) < 2 or (is_over := members > 0 and not rest.startswith(MAGIC)):
                        break
                    engine = zlib.decompressobj(GZIP if members else _format_of(rest, name))
                    members += 1
                yield engine.decompress(rest, PIECE)
                rest = engine.unused_data if engine.eof else engine.unconsumed_tail
                engine = None if engine.eof else engine
        if engine is not None:
            yield engine.decompress(rest)
            yield engine.flush()
    except zlib.error as error:
        raise _wrong(f"The body is not {name}: {error}.") from error
    is_whole = members > 0 and rest != MAGIC[:1] if engine is None else engine.eof
    if not is_whole:
        raise AttemptFailed(FailureKind.BODY, f"The body ended within its {name} data.")


def _format_of(data: bytes, name: str) -> int:
    """How the first member is packed: gzip and zlib say so; some servers send deflate without that."""
    is_zlib = data[0] & 15 == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
    return ANY_ZLIB if name != "deflate" or is_zlib or data.startswith(MAGIC) else RAW


def _wrong(reason: str) -> AttemptFailed:
    return AttemptFailed(FailureKind.ENCODING, reason, retriable=False)
