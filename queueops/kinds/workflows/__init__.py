"""Workflows: durable async functions, replayed from their history; activities are tasks."""

from __future__ import annotations

from typing import Any

from queueops.model.kind import Kind, Work


class WorkflowsWork(Work):
    def handlers(self) -> Any:
        from queueops.kinds.workflows import activities

        return activities

    def facts(self) -> Any:
        from queueops.kinds.workflows.kept_runs import facts

        return facts


class WorkflowsKind(Kind):
    name = "workflows"
    records = ("workflow", "activity")
    subkeys = {
        "#history": "list",
        "#inbox": "list",
        "#calls": "hash",
        "#payloads": "hash",
        "#later": "zset",
        "#told": "zset",
    }
    keys = {"instances": "hash", "suspended": "zset", "continued": "zset"}
    console = "console.kinds.workflows.registration:PAGES"
    work = WorkflowsWork()

    def fields(self) -> Any:
        from queueops.kinds.workflows.fields import FIELDS

        return FIELDS

    def store(self) -> Any:
        from queueops.kinds.workflows.store import WorkflowCalls

        return WorkflowCalls

    def outbox(self) -> Any:
        from queueops.kinds.workflows.outbox import FORMS

        return FORMS

    def results(self) -> Any:
        from queueops.kinds.workflows.results import value_of

        return value_of

    def control(self) -> Any:
        from queueops.kinds.workflows import control

        return control

    def inspect(self) -> Any:
        from queueops.kinds.workflows import inspect

        return inspect

    def details(self) -> Any:
        from queueops.kinds.workflows.details import DETAILS

        return DETAILS

    def why(self) -> Any:
        from queueops.kinds.workflows import why

        return why

    def cli(self) -> Any:
        from queueops.kinds.workflows.cli import COMMANDS

        return COMMANDS

    def examines(self) -> Any:
        from queueops.kinds.workflows.far_check import EXAMINED

        return EXAMINED

    def settings(self) -> Any:
        from queueops.kinds.workflows.settings import read_settings

        return read_settings


KIND = WorkflowsKind()
