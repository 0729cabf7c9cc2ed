"""Finder of workflows: the newest run of an instance, by the whole id of the instance."""

from __future__ import annotations

from queueops.model.kind import Finder

FINDER = Finder(title="Newest runs of workflow instances", key="instances")
