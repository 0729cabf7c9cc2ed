"""Header rules: which request headers a client of jobs may name, and which of them are credentials."""

from __future__ import annotations

import re

from queueops import conf
from queueops.model.redact import mask_in

TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,8000}")
MANAGED = frozenset(
    [
        "connection",
        "content-length",
        "expect",
        "host",
        "if-range",
        "keep-alive",
        "range",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
"""Headers that the HTTP client sets itself."""
CREDENTIALS = frozenset(["authorization", "cookie"])
OF_CALLBACKS = frozenset(["idempotency-key", "webhook-id", "webhook-signature", "webhook-timestamp"])
"""What a receiver of callbacks needs to verify one. A signature holds for its body alone."""


def is_credential(name: str) -> bool:
    """Whether a header must not follow a redirect to another origin. The name is in small letters."""
    return name in CREDENTIALS or (name not in OF_CALLBACKS and conf.redactor().hides(name))


def fault_of_header(name: object, value: object) -> str:
    """Why a request header cannot be sent; empty if it can. The text never has the value."""
    if not isinstance(name, str) or not TOKEN.fullmatch(name):
        return f"the name {name!r} has characters that a name of a header cannot have"
    if name.lower() in MANAGED or name.lower().startswith("proxy-"):
        return f"{name} is set by QueueOps"
    if not isinstance(value, str):
        return f"the value of {name} is {type(value).__name__}, and must be a text"
    if mask := mask_in(value):
        return f"the value of {name} has {mask}, which is shown in the place of a secret"
    if "\r" in value or "\n" in value:
        return f"the value of {name} has a line break"
    if not VALUE.fullmatch(value):
        return f"the value of {name} is longer than 8,000 characters, or has one that a header cannot have"
    return ""
