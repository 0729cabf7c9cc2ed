"""Packed bodies: what is unpacked, what is cut, and what is wrong, in pieces of any size."""

from __future__ import annotations

import gzip
import random
import zlib

import pytest

from queueops.kinds.jobs.http.body_decoding import decoded
from queueops.kinds.jobs.http.http_failures import AttemptFailed, FailureKind
from tests.support.for_each import for_each

NOISE, LONG = random.Random(1).randbytes(3000), b"x" * 500_000
ONE, TWO = gzip.compress(NOISE), gzip.compress(LONG)
_raw = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
RAW = _raw.compress(LONG) + _raw.flush()
CORRUPT = bytes([*ONE[:-6], ONE[-6] ^ 1, *ONE[-5:]])


def unpacked(body: bytes, encoding: str, size: int) -> bytes:
    return b"".join(decoded((body[at : at + size] for at in range(0, len(body), size)), encoding))


@for_each("size", [1, 2, 7, 4096, 10**7])
@for_each(
    ("body", "encoding", "whole"),
    [
        (ONE + TWO, "gzip", NOISE + LONG),
        (ONE + bytes(9) + TWO + bytes(5), "gzip", NOISE + LONG),
        (ONE + b"\r\n", "gzip", NOISE),
        (ONE + b"x", "x-gzip", NOISE),
        (zlib.compress(LONG), "deflate", LONG),
        (RAW, "deflate", LONG),
    ],
)
def test_what_other_clients_accept_is_unpacked_whole(body: bytes, encoding: str, whole: bytes, size: int) -> None:
    assert unpacked(body, encoding, size) == whole


@for_each("size", [1, 2, 7, 10**7])
@for_each(
    ("body", "encoding", "kind"),
    [
        (ONE[:-1], "gzip", FailureKind.BODY),
        (ONE + TWO[:-9], "gzip", FailureKind.BODY),
        (RAW[:-1], "deflate", FailureKind.BODY),
        (b"\x1f", "gzip", FailureKind.BODY),
        (ONE + b"\x1f", "gzip", FailureKind.BODY),
        (b"", "gzip", FailureKind.BODY),
        (CORRUPT, "gzip", FailureKind.ENCODING),
        (b"hello world", "gzip", FailureKind.ENCODING),
    ],
)
def test_a_cut_body_is_tried_again_and_a_wrong_one_is_not(
    body: bytes, encoding: str, kind: FailureKind, size: int
) -> None:
    with pytest.raises(AttemptFailed) as caught:
        unpacked(body, encoding, size)
    assert (caught.value.failure.kind, caught.value.failure.retriable) == (kind, kind is FailureKind.BODY)
