"""Registration of workflows: what is no workflow, a wrong option and a second one of the same name are refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from queueops import activity, wf, workflow
from queueops.errors import BadId, BadOption, DuplicateName
from queueops.errors.results import BadResult
from queueops.errors.workflows import BadWorkflow
from queueops.testing import WorkflowEnvironment, run_worker

pytestmark = pytest.mark.usefixtures("memory", "own_handlers")
options: Any = workflow


async def code() -> None:
    """The code of a workflow."""


async def other_code() -> None:
    """The code of another workflow."""


async def yields() -> AsyncIterator[int]:
    """No code of a workflow."""
    yield 1


class Flow:
    """No code of a workflow."""


@activity(name="registration.text", retries=0)
def text() -> Any:
    """A text."""
    return "text"


@activity(name="registration.number", retries=0)
def number() -> int:
    """Returns what its annotation does not permit."""
    return text()  # type: ignore[no-any-return]


@workflow(name="registration.reads")
async def reads() -> str:
    """Calls an activity whose result is of another type than it says."""
    try:
        await wf.call(number)
    except BadResult as error:
        return str(error)
    return "?"


@pytest.mark.parametrize("wrong", [lambda: 1, yields, Flow, text], ids=["plain", "generator", "class", "task"])
def test_only_an_async_function_is_a_workflow(wrong: Any) -> None:
    with pytest.raises(BadWorkflow, match='directly above an "async def"'):
        workflow(wrong)


@pytest.mark.parametrize(
    ("register", "error", "said"),
    [
        (lambda: options(retries=3)(code), BadOption, "one of pool, lane, priority"),
        (lambda: options(tmieout=3)(code), BadOption, "one of pool, lane, priority"),
        (lambda: options(timeout=-1)(code), BadOption, "from 0 seconds to a hundred years"),
        (lambda: options(unique="order:{number}")(code), BadOption, r"\{number\} is none of them"),
        (lambda: options(name="a b")(code), BadId, "name of a workflow"),
    ],
)
def test_an_option_that_is_none_is_refused(register: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        register()


def test_a_second_workflow_of_the_same_name_is_refused() -> None:
    workflow(name="registration.same")(code)
    workflow(name="registration.same")(code)  # its module was loaded again
    with pytest.raises(DuplicateName, match=r"registration\.same"):
        workflow(name="registration.same")(other_code)


def test_a_result_of_another_type_is_an_exception_in_the_code() -> None:
    run = reads.start()
    run_worker()
    for told in (run.result(timeout=0), WorkflowEnvironment().run(reads)):
        assert "does not fit its return annotation int" in told
