"""Handlers of jobs: what a worker runs for a job of each name."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction, unwrap
from typing import Any

from queueops.errors import BadOption
from queueops.kinds.jobs.callbacks.callback_plans import CALLBACK
from queueops.kinds.jobs.callbacks.delivery import CallbackHandler
from queueops.kinds.jobs.download_job import run_download
from queueops.kinds.jobs.files.download_options import DOWNLOAD
from queueops.kinds.jobs.files.file_deletion import DELETE_FILES, FILE_DELETION, FileDeletionHandler
from queueops.kinds.jobs.job import Job, job_of
from queueops.kinds.jobs.store import JOB
from queueops.model.ids import check_lane
from queueops.model.ports import Handler
from queueops.tasks import registry
from queueops.tasks.context import Context


class JobHandler:
    """Runs the jobs of one name: calls a function with the `Job`. What it returns is the result."""

    kind = JOB
    retry_on = (Exception,)

    def __init__(self, func: Callable[[Job], Any], name: str) -> None:
        self.func, self.name = func, name
        self.is_async = iscoroutinefunction(func)
        self.is_result_open = name == DOWNLOAD  # the store finds the file in it

    def run(self, context: Context) -> Any:
        """Run the function; a coroutine if it is async."""
        return self.func(job_of(context))


def job_handler(name: str) -> Callable[[Callable[[Job], Any]], Callable[[Job], Any]]:
    """Make a function, sync or async, the handler of the jobs with `handler=name`. It gets the `Job`.

    A worker imports it with the module `tasks` of an installed app. Raises BadId, BadOption and DuplicateName.
    """
    check_lane(name, "name of a handler")

    def register(func: Callable[[Job], Any]) -> Callable[[Job], Any]:
        code = getattr(unwrap(func), "__code__", None)
        if code is None:
            raise BadOption(name="handler", value=func, expected="a function; put @job_handler above a def")
        registry.register(JobHandler(func, name), f"{code.co_filename}:{code.co_firstlineno}")
        return func

    return register


def _known(name: str) -> Handler | None:
    """The handler of a name, once this module is imported. One of the project wins over that of QueueOps."""
    return registry.handlers().get((JOB, name)) or (DOWNLOADS if name == DOWNLOAD else None)


DOWNLOADS = JobHandler(run_download, DOWNLOAD)
CALLBACKS = CallbackHandler()
DELETIONS = FileDeletionHandler()

registry.register_resolver(JOB, _known)
registry.register_resolver(CALLBACK, lambda name: CALLBACKS if name == CALLBACK else None)
registry.register_resolver(FILE_DELETION, lambda name: DELETIONS if name == DELETE_FILES else None)
