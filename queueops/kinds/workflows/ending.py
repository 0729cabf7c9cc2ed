"""Ending of a run's code: what its error means, also in the groups that task groups raise."""

from __future__ import annotations

from collections.abc import Iterator

from django.core.exceptions import SynchronousOnlyOperation

from queueops.errors.workflows import BlockedStep
from queueops.kinds.workflows.step import ContinueAsNew


def judged(error: BaseException) -> BaseException:
    """A ContinueAsNew, or the error that fails the run.

    Raises BlockedStep and SynchronousOnlyOperation: these block a run, whatever else its code raised.
    """
    leaves = list(_leaves(error))
    for leaf in leaves:
        if isinstance(leaf, BlockedStep | SynchronousOnlyOperation):
            raise leaf
    if all(isinstance(leaf, ContinueAsNew) for leaf in leaves):
        return leaves[0]
    if isinstance(error, BaseExceptionGroup):
        own = error.split(ContinueAsNew)[1]
        return error if own is None else own
    return error


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error
