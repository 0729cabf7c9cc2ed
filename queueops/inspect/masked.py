"""What somebody has written for a task, as it may be kept and shown: masked as what the task holds is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from queueops.inspect.redact import cut
from queueops.inspect.source import parameters, redactor

KEPT = 20_000
"""So many characters at most."""


def masked_arguments(args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None, kind: str, name: str) -> str:
    """New arguments of a task of this kind and name, as JSON; null stands for those that it had."""
    return cut(redactor().document(_encoded([args, kwargs]), parameters(kind, name)), KEPT)


def masked_data(value: Any) -> str:
    """New data of a chunk, as JSON."""
    return cut(redactor().document(_encoded(value)), KEPT)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
