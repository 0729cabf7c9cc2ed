"""Operations: bulk actions that workers perform, a bounded part in each call of the store."""

from __future__ import annotations

from typing import Any

from queueops.model.kind import Kind, Work


class OperationsWork(Work):
    own = ("bulk_action",)
    names = ("bulk_action",)

    def handlers(self) -> Any:
        from queueops.kinds.operations import handlers

        return handlers


class OperationsKind(Kind):
    name = "operations"
    records = ("bulk_action",)
    work = OperationsWork()

    def fields(self) -> Any:
        from queueops.kinds.operations.fields import FIELDS

        return FIELDS

    def store(self) -> Any:
        from queueops.kinds.operations.store import OperationCalls

        return OperationCalls

    def control(self) -> Any:
        from queueops.kinds.operations import control

        return control

    def inspect(self) -> Any:
        from queueops.kinds.operations import inspect

        return inspect


KIND = OperationsKind()
