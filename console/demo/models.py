"""What the sample tasks write, and how fast the feeder feeds."""

from __future__ import annotations

from django.db import models

from console.demo.rate import DEFAULT_RATE, MAX_RATE


class Reading(models.Model):
    """One look at one file, by a task."""

    path = models.CharField(max_length=400)
    tenant = models.CharField(max_length=40, blank=True)
    lines = models.PositiveIntegerField()
    words = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.path}: {self.words} words"


class Pace(models.Model):
    """One row: how many tasks a second the feeder pushes."""

    rate = models.FloatField(default=DEFAULT_RATE)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.rate:g} a second"

    @classmethod
    def now(cls) -> float:
        """Tasks a second, from 0 to MAX_RATE."""
        found = cls.objects.filter(pk=1).values_list("rate", flat=True).first()
        return DEFAULT_RATE if found is None else min(MAX_RATE, max(0.0, found))

    @classmethod
    def set(cls, rate: float) -> None:
        """The feeder follows within a second."""
        cls.objects.update_or_create(pk=1, defaults={"rate": rate})
