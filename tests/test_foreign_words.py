"""What somebody writes who comes from another system is understood, and told in our words."""

from __future__ import annotations

import functools
import re
import uuid

import pytest

from queueops import BadId, task
from queueops.errors import BadOption, DuplicateName, UnknownOption
from tests.tasks_for_tests import add


@pytest.mark.parametrize(("name", "here"), [("delay", "push"), ("apply_async", "using(...).push"), ("send", "push")])
def test_what_other_systems_call_otherwise_is_named(name, here):
    with pytest.raises(AttributeError, match=re.escape(f"{here}(...) here")):
        getattr(add, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = add.nothing
    assert not hasattr(add, "__deepcopy__")


@pytest.mark.parametrize("number", [7, uuid.UUID(int=7)])
def test_a_number_or_a_uuid_is_no_id_though_it_looks_like_one(number):
    with pytest.raises(BadId, match=re.escape(f"{number!r} is no id of a task: use a text of 1 to 200")):
        add.using(id=number)


@pytest.mark.parametrize(
    ("foreign", "ours"), [("queue", "pool"), ("countdown", "delay"), ("task_id", "id"), ("time_limit", "timeout")]
)
def test_the_options_of_other_systems_are_understood(foreign, ours):
    with pytest.raises(UnknownOption, match=f"A task has no option '{foreign}'; did you mean '{ours}'"):
        add.using(**{foreign: 1})


def test_what_a_task_has_not_is_not_advised():
    with pytest.raises(UnknownOption, match="A task has no option 'countdown'; known are: cron, durable"):
        task(countdown=5)(lambda: None)


def test_a_decorator_that_hides_the_name_of_its_function_is_refused():
    """Two tasks below it had one name, and whoever pushed the first one had the second one run."""

    def bare(function):
        def inner(*args, **kwargs):
            return function(*args, **kwargs)

        return inner

    with pytest.raises(BadOption, match=r"give its decorator functools\.wraps, or the task a name="):
        task(bare(lambda: 1))
    assert task(name="tests.bare.named")(bare(lambda: 1))() == 1
    assert task(functools.wraps(len)(bare(lambda: 1))).name == "builtins.len"

    @task
    def again(*args, **kwargs):
        return again

    assert again() is again


def test_two_tasks_of_one_name_are_found_below_one_decorator():
    def kept(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs)

        return inner

    def first(): ...

    def second(): ...

    task(name="tests.kept")(kept(first))
    task(name="tests.kept")(kept(first))  # as a module does that is loaded again
    with pytest.raises(DuplicateName, match=r"Two tasks are named 'tests\.kept'"):
        task(name="tests.kept")(kept(second))


def test_a_method_is_refused_where_it_is_defined():
    with pytest.raises(BadOption, match=r"must be a function without self: .* current"):

        class Shop:
            @task
            def sell(self, number: int) -> int:
                return number
