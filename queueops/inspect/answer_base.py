"""Base class of answers: redacts the texts of every answer, so that no secret leaves this package.

Each class names its text fields; they are redacted at creation, for the current user. Answers are ready for a page, a
terminal or JSON. Times are epoch milliseconds on Redis' clock. Texts of tasks may be hostile: each consumer escapes
them.
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
