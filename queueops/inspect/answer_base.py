"""Base of all answers: no answer can be made with a secret in its texts.

Each class names those of its fields that are texts; they are redacted when it is made, for the person who asks.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec.structs import force_setattr

from queueops.inspect.redaction import redactor


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all answers: frozen, named fields, redacted texts."""

    TEXTS: ClassVar[tuple[str, ...]] = ()  # what the engine says; secrets in it are masked
    TEXTS_OF_TASKS: ClassVar[tuple[str, ...]] = ()  # what a task's code says; concealed from some, too

    def __post_init__(self) -> None:
        """Redact the texts, for the person who asks."""
        hide = redactor()
        for name in self.TEXTS:
            if text := getattr(self, name):
                force_setattr(self, name, hide.text(text))
        for name in self.TEXTS_OF_TASKS:
            if text := getattr(self, name):
                force_setattr(self, name, hide.words_of_task(text))


class Failure(Answer, frozen=True, kw_only=True):
    """An error as it was recorded; the traceback is bounded."""

    fingerprint: str = ""
    type: str = ""
    message: str = ""
    traceback: str = ""

    TEXTS: ClassVar = ("type",)

    def __post_init__(self) -> None:
        """Redact the texts; a user who may not see arguments gets type and places."""
        hide = redactor()
        force_setattr(self, "message", hide.message(self.message))
        force_setattr(self, "traceback", hide.traceback(self.traceback))
        super().__post_init__()
