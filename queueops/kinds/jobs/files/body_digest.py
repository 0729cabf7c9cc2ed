"""Body digest: whether a file has the checksums that its server has told."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from hashlib import new
from typing import BinaryIO

ALGORITHMS = {"sha-256": "sha256", "sha-512": "sha512", "sha": "sha1", "md5": "md5"}
DIGEST = re.compile(r"(sha-256|sha-512|sha|md5)=:?([a-z0-9+/]+=*)", re.IGNORECASE)
OF_THE_WHOLE, OF_THE_ANSWER = ("repr-digest", "digest"), ("content-digest",)
"""Headers with digests of the file, and of the body of an answer."""
PIECE = 256 * 1024


def fault_of_digest(file: BinaryIO, headers: Mapping[str, str], *, is_part: bool) -> str:
    """Which told digest is not that of the file; empty if there is none. Of a part, digests of the whole are told."""
    names = OF_THE_WHOLE if is_part else OF_THE_WHOLE + OF_THE_ANSWER
    told: list[tuple[str, str]] = [each for name in names for each in DIGEST.findall(headers.get(name, ""))]
    if not is_part and "content-md5" in headers:
        told.append(("md5", headers["content-md5"]))
    for name, value in told:
        engine = new(ALGORITHMS[name.lower()], usedforsecurity=False)
        try:
            wanted = b64decode(value, validate=True)
        except Error:
            continue
        if len(wanted) != engine.digest_size:
            continue  # some servers write it in another way
        file.seek(0)
        while piece := file.read(PIECE):
            engine.update(piece)
        if engine.digest() != wanted:
            return name
    return ""
