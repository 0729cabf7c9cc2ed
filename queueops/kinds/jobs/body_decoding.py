"""Body decoding: unpacks a body in pieces of bounded size, so that a gzip bomb meets the limit of size first."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

PIECE = 256 * 1024
"""Most bytes that are unpacked at once."""
ANY_ZLIB = 32 + zlib.MAX_WBITS


class BadEncoding(ValueError):
    """The body has an encoding that is not unpacked, or is not what it says."""


def decoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The pieces of a body, unpacked. Raises BadEncoding, also for data that end too early."""
    names = [name.strip().lower() for name in encoding.split(",") if name.strip()]
    names = [name for name in names if name != "identity"]
    if not names:
        yield from pieces
    elif names in (["gzip"], ["x-gzip"], ["deflate"]):
        yield from _unpacked(pieces, names[0])
    else:
        raise BadEncoding(f"The encoding {encoding!r} of the body is not supported.")


def _unpacked(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    engine = zlib.decompressobj(ANY_ZLIB)  # reads gzip and deflate by their first bytes
    try:
        for packed in pieces:
            rest = packed
            while rest and not engine.eof:
                yield engine.decompress(rest, PIECE)
                rest = engine.unconsumed_tail
        yield engine.flush()
    except zlib.error as error:
        raise BadEncoding(f"The body is not {name}: {error}.") from error
    if not engine.eof:
        raise BadEncoding(f"The body ended within its {name} data.")
