"""Base class of answers: redacts the texts of every answer, so that no secret leaves this package.

Each class names its text fields; they are redacted at creation, for the current user.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec.structs import force_setattr

from queueops.inspect.redaction import redactor


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all answers: frozen, named fields, redacted texts."""

    TEXTS: ClassVar[tuple[str, ...]] = ()  # texts of the engine; secrets in them are masked
    TEXTS_OF_TASKS: ClassVar[tuple[str, ...]] = ()  # texts of a task's code; concealed from some users too

    def __post_init__(self) -> None:
        """Redact the texts, for the current user."""
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
        """Redact the texts; a user without the permission for arguments gets only type and code locations."""
        hide = redactor()
        force_setattr(self, "message", hide.message(self.message))
        force_setattr(self, "traceback", hide.traceback(self.traceback))
        super().__post_init__()
