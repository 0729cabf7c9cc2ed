"""Body decoding: unpacks a body in pieces of bounded size, so that a gzip bomb meets the limit of size first."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from queueops.kinds.jobs.http_failures import AttemptFailed, FailureKind

PIECE = 256 * 1024
"""Most bytes that are unpacked at once."""
GZIP, ANY_ZLIB = 16 + zlib.MAX_WBITS, 32 + zlib.MAX_WBITS


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
    """All members of a body, each with its checksum. Zeros may follow them."""
    engine = zlib.decompressobj(ANY_ZLIB)  # reads gzip and deflate by their first bytes
    try:
        for packed in pieces:
            rest = packed
            while rest:
                if engine.eof:
                    if not (rest := rest.lstrip(b"\0")):
                        break
                    engine = zlib.decompressobj(GZIP)
                yield engine.decompress(rest, PIECE)
                rest = engine.unused_data if engine.eof else engine.unconsumed_tail
        yield engine.flush()
    except zlib.error as error:
        raise _wrong(f"The body is not {name}: {error}.") from error
    if not engine.eof:
        raise AttemptFailed(FailureKind.BODY, f"The body ended within its {name} data.")


def _wrong(reason: str) -> AttemptFailed:
    return AttemptFailed(FailureKind.ENCODING, reason, retriable=False)
