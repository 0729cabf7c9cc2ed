"""Tasks of Django's own framework, as `queueops.contrib` pushes them."""

from __future__ import annotations

from typing import Any

from queueops.model.kind import Kind


class DjangoTaskKind(Kind):
    name = "django_task"
    records = ("django_task",)

    def fields(self) -> Any:
        from queueops.contrib.fields import FIELDS

        return FIELDS


KIND = DjangoTaskKind()
