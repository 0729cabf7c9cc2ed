"""Table of the marks: tasks whose effects are in the database."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models


class DoneTask(models.Model):
    """A task whose effects were committed, and what it returned, as JSON."""

    SEALED: ClassVar = ("result",)
    objects: ClassVar[models.Manager[Any]] = models.Manager()
    key = models.CharField(max_length=320, primary_key=True)
    result = models.TextField()
    done = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key
