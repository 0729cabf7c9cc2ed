"""Store of workflows: the calls of the broker, what stands for large values, and the check of open commands."""

from queueops.kinds.workflows.store.calls import WorkflowCalls

__all__ = ["WorkflowCalls"]
