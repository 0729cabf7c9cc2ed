"""Capabilities: what a store may offer beside plain tasks."""

from __future__ import annotations

from enum import StrEnum


class Capability(StrEnum):
    """What a store may leave out, in words. The records of each kind are another one, with the name of the kind."""

    ALERTS = "alerts"
    CONFLICTS = "the conflict policies run_after and debounce"
    DURABLE = "durable pushes"
    ENDS = "messages at the end of a task"
    EXPIRY = "an expiry of tasks"
    FOLLOW_UPS = "follow-ups"
    HISTORY = "history"
    LANES = "settings of lanes"
    LIMITS = "limits by key"
    MESSAGES = "messages between pools"
    NAMESPACES = "namespaces for tests"
    QUESTIONS = "lists, searches and counts of tasks"
    REPAIR = "the consistency check"
    SCHEDULES = "schedules"
    UPKEEP = "the work of a watchdog"
    WAKING = "wake-up tokens"
