"""Tables of the demo: results of the sample tasks, and the rate of the feeder."""

from __future__ import annotations

from django.db import models

from queueops_demo.rate import DEFAULT_RATE, MAX_RATE


class Sample(models.Model):
    """Base of the demo's tables, which have no permissions of their own."""

    class Meta:
        abstract = True
        default_permissions = ()


class Reading(Sample):
    """Result of one task that read one file."""

    path = models.CharField(max_length=400)
    tenant = models.CharField(max_length=40, blank=True)
    lines = models.PositiveIntegerField()
    words = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        return f"{self.path}: {self.words} words"


class Report(Sample):
    """Text of a nightly report. Its last part writes one row, also when it runs again."""

    task = models.CharField(max_length=200, unique=True)
    root = models.CharField(max_length=200)
    text = models.TextField()
    at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"report {self.pk}"


class Digest(Sample):
    """Summary of one page of the audit log."""

    first = models.PositiveBigIntegerField(unique=True)
    last = models.PositiveBigIntegerField()
    verbs = models.JSONField(default=dict)
    people = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"entries {self.first} to {self.last}"


class Pace(Sample):
    """One row: the tasks per second that the feeder pushes."""

    rate = models.FloatField(default=DEFAULT_RATE)

    def __str__(self) -> str:
        return f"{self.rate:g} a second"

    @classmethod
    def now(cls) -> float:
        """Tasks per second, from 0 to MAX_RATE."""
        found = cls.objects.filter(pk=1).values_list("rate", flat=True).first()
        return DEFAULT_RATE if found is None else min(MAX_RATE, max(0.0, found))

    @classmethod
    def set(cls, rate: float) -> None:
        """Store the rate; the feeder applies it within a second."""
        cls.objects.update_or_create(pk=1, defaults={"rate": rate})
