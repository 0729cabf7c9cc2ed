"""Tables of the outbox: pushes that wait, and the turns of the relays."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models


class OutboxRow(models.Model):
    """A push that the store does not have yet, or whose row a relay has not deleted yet."""

    SEALED: ClassVar = ("body",)
    objects: ClassVar[models.Manager[Any]] = models.Manager()
    id = models.BigAutoField(primary_key=True)
    form = models.CharField(max_length=20)
    pool = models.CharField(max_length=100)
    lane = models.CharField(max_length=100)
    push_id = models.CharField(max_length=255)
    name = models.CharField(max_length=255)
    body = models.TextField()
    created = models.DateTimeField()
    dead = models.BooleanField(default=False)
    error = models.TextField(default="", blank=True)

    class Meta:
        """One index: of the rows of a lane that wait, in their order."""

        indexes = (models.Index(fields=("dead", "pool", "lane", "id"), name="queueops_outbox_lane"),)

    def __str__(self) -> str:
        return f"{self.id} {self.name}"


class RelayTurn(models.Model):
    """A row that a relay locks while it sends rows of some lanes."""

    objects: ClassVar[models.Manager[Any]] = models.Manager()
    id = models.SmallIntegerField(primary_key=True)
