"""Errors as a worker stores them."""

from __future__ import annotations

import json
from typing import Any


def stored(fingerprint: str = "f1", message: str = "no such user", kind: str = "ValueError") -> dict[str, Any]:
    """What a settlement of an attempt that failed has beside its outcome."""
    error = {"fingerprint": fingerprint, "type": kind, "message": message, "traceback": f"Traceback\n{kind}: {message}"}
    return {"value": json.dumps(error).encode(), "fingerprint": fingerprint, "title": f"{kind}: {message}"}
