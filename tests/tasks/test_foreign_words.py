"""Words of other task queues are recognised, and the errors say what to write instead."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import uuid
from dataclasses import fields
from importlib.util import find_spec

import pytest

import queueops
from queueops import BadId, Chain, Iterator, MapReduce, Retry, TaskHandle, chain, task
from queueops.errors import BadArguments, BadOption, DuplicateName, UnknownOption
from queueops.errors.tasks import BadTask
from queueops.tasks import foreign_names
from queueops.tasks.decorator import OF_ONE_PUSH, OPTIONS
from queueops.tasks.signature import ArgumentSpec
from tests.support.for_each import for_each
from tests.support.tasks_for_tests import add


class WordLengths(MapReduce):
    """Counts the letters of words."""

    def map(self, path):
        yield path

    def process(self, chunk):
        return len(chunk)

    def reduce(self, results):
        return sum(results)


class Numbers(Iterator):
    """Emits nothing."""

    def iterate(self, state, path):
        return None


class Words(Chain):
    """Adds up."""

    def init(self, path):
        return [add.s(1)]


def word_length(word): ...


@for_each(
    ("name", "instead"),
    [
        ("delay", "add.push(...)"),
        ("apply_async", "add.push(...), add.postpone(delay, ...) or add.using(...).push(...)"),
        ("send", "add.push(...)"),
        ("signature", "add.s(...)"),
        ("retry", "raise RetryLater(seconds, error)"),
    ],
)
def test_a_method_of_another_task_queue_is_answered_with_what_to_write(name, instead):
    with pytest.raises(AttributeError, match=f"{re.escape(f'has no attribute {name!r}. Write {instead}')}$"):
        getattr(add, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = add.nothing
    assert not hasattr(add, "__deepcopy__")


@for_each(
    ("thing", "name", "instead"),
    [
        (TaskHandle("x"), "get", "handle.result(timeout=...)"),
        (TaskHandle("x"), "ready", "handle.status().is_over"),
        (TaskHandle("x"), "revoke", "handle.cancel(reason)"),
        (add.s(1), "delay", "part.push()"),
        (add.s(1), "set", "part.using(...)"),
        (add.s(1), "link", 'part.using(follow_up={"success": other.s()})'),
        (chain(add.s(1)), "on_error", 'part.using(follow_up={"failure": other.s()})'),
        (WordLengths, "delay", "WordLengths.push(...)"),
        (WordLengths, "apply_async", "WordLengths.push(...), WordLengths.postpone(delay, ...) or"),
    ],
)
def test_handles_parts_and_classes_also_say_what_to_write(thing, name, instead):
    with pytest.raises(AttributeError, match=re.escape(f"has no attribute {name!r}. Write {instead}")):
        getattr(thing, name)
    assert not hasattr(thing, "nothing")


@pytest.mark.parametrize("number", [7, uuid.UUID(int=7)])
def test_a_number_or_a_uuid_is_no_id_though_it_looks_like_one(number):
    with pytest.raises(BadId, match=re.escape(f"{number!r} is not a valid id of a task: use a text of 1 to 200")):
        add.using(id=number)


FOREIGN_OPTIONS = [
    ("bind", "A task function gets no self: current() is its context."),
    ("max_retries", "Write retries=3."),
    ("autoretry_for", "Write @task(retry_on=(OSError,))."),
    ("retry_backoff", "Write retry=Retry(delay=60, backoff=2)."),
    ("default_retry_delay", "Write retry=Retry(delay=60)."),
    ("queue", 'Write pool="mail".'),
    ("queue_name", 'Write pool="mail".'),
    ("time_limit", "Write timeout=30."),
    ("rate_limit", 'Write rate="10/m", for all calls or each value of a limit_key=.'),
    ("acks_late", "It is always so"),
    ("serializer", "Arguments and results are JSON."),
    ("ignore_result", "Write keep="),
    ("base", "Write a middleware"),
    ("retrys", "Write retries=3."),
    ("backoff", "Write retry=Retry(delay=60, backoff=2)."),
    ("max_delay", "Write retry=Retry(max_delay=3600)."),
    ("concurrency", "Write limit=3, for all calls or each value of a limit_key=."),
    ("crontab", 'Write @task(cron="0 3 * * *").'),
    ("every", 'Write @task(cron="@every 1h").'),
    ("singleton", 'Write @task(unique="mail:{user_id}").'),
    ("throws", "Write expected=(ValueError,)."),
    ("dont_autoretry_for", "Write raise Permanent(error) in the task"),
    ("max_attempts", "Write retries=2 for three attempts."),
    ("link", 'Write follow_up={"success": other.s()}.'),
    ("on_success", 'Write follow_up={"success": other.s()}.'),
    ("link_error", 'Write follow_up={"failure": other.s()}.'),
    ("on_failure", 'Write follow_up={"failure": other.s()}.'),
    ("headers", "Write meta="),
]


@for_each(("option", "instead"), FOREIGN_OPTIONS)
def test_an_option_of_another_task_queue_is_answered_with_what_to_write(option, instead):
    message = re.escape(f"A task has no option {option!r}. {instead}")
    with pytest.raises(UnknownOption, match=message):
        task(**{option: 1})(word_length)
    with pytest.raises(UnknownOption, match=message):
        add.using(**{option: 1})


NAMES = {name: getattr(queueops, name) for name in dir(queueops) if not name.startswith("_")}
FIELDS = {*(field.name for field in fields(Retry)), *inspect.signature(TaskHandle.result).parameters}


def names_in(advice: str) -> tuple[set[str], set[str]]:
    """The names that an advice calls as functions, and those that it gives values to."""
    advice = re.sub(r"'[^']*'|\"[^\"]*\"", "x", advice)
    return set(re.findall(r"(?<![\w.@])(?:raise )?([a-zA-Z]\w*)\(", advice)), set(re.findall(r"(\w+)=", advice))


@for_each(
    "advice", [*foreign_names._INSTEAD, *itertools.chain.from_iterable(foreign_names._OPTIONS_OF_A_PUSH.values())]
)
def test_the_advice_about_an_option_names_only_what_there_is(advice):
    called, given = names_in(advice)
    assert {name for name in called if name not in NAMES} <= {"using", "postpone"}
    assert given <= {*OPTIONS, *OF_ONE_PUSH, *FIELDS}


@pytest.mark.parametrize(
    ("thing", "methods"),
    [
        (add, foreign_names.TASK_METHODS),
        (add.s(1), foreign_names.PART_METHODS),
        (TaskHandle("x"), foreign_names.HANDLE_METHODS),
    ],
)
def test_the_advice_about_a_method_names_only_what_there_is(thing, methods):
    for name, advice in methods.items():
        assert not hasattr(type(thing), name)
        called, given = names_in(advice.format(it="it"))
        assert called <= {*NAMES, "it"}, advice
        assert given <= {*OPTIONS, *FIELDS}, advice
        for attribute in re.findall(r"\bit\.(\w+)", advice.format(it="it")):
            assert attribute in dir(thing), advice


@for_each(
    ("option", "of_a_task", "of_one_push"),
    [
        ("countdown", "Write postpone(60, ...) where it is pushed.", "Write delay=60."),
        ("eta", "Write postpone(moment, ...) where it is pushed.", "Write delay=moment."),
        ("task_id", 'Write using(id="x") where it is pushed, or unique=', 'Write id="x".'),
        ("max_age", "Write expires=60: a task", "Write expires=60: a task"),
    ],
)
def test_an_option_of_one_push_is_answered_with_where_it_belongs(option, of_a_task, of_one_push):
    with pytest.raises(UnknownOption, match=re.escape(f"A task has no option {option!r}. {of_a_task}")):
        task(**{option: 1})(word_length)
    with pytest.raises(UnknownOption, match=re.escape(f"A task has no option {option!r}. {of_one_push}")):
        add.using(**{option: 1})


def test_an_import_of_another_queues_name_says_what_to_write():
    with pytest.raises(ImportError, match=r"'chord' from 'queueops'\. Write chain\(group\(\.\.\.\), other\.s\(\)\)$"):
        from queueops import chord  # noqa: F401
    with pytest.raises(ImportError, match=r"cannot import name 'nothing'"):
        from queueops import nothing  # noqa: F401
    for name, advice in (("Callback", r'using\(follow_up={"success": other\.s\(\)}\)$'), ("TaskiqDepends", "Depends$")):
        with pytest.raises(ImportError, match=advice):
            getattr(queueops, name)
    assert not hasattr(queueops, "nothing")
    for name, advice in foreign_names._IMPORTS.items():
        assert name not in NAMES
        assert find_spec(f"queueops.{name}") is None, "it would hide the module"
        called, given = names_in(advice)
        assert called <= {*NAMES, "s", "getLogger"}, advice
        assert given <= {*OPTIONS}, advice
        assert set(re.findall(r"from queueops import (\w+)", advice)) <= {*NAMES}, advice


def test_a_decorator_that_hides_the_name_of_its_function_is_refused():
    """Two tasks below it had one name, so a push of the first one ran the second one."""

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


@for_each(
    ("what", "message"),
    [
        (lambda: None, 'A lambda has no name that a worker finds. Write "def NAME(...):" below @task, or @task(name='),
        ("send", "@task was given the text 'send'. Write @task(name=\"send\")."),
        (5, "@task was given 5. Put it directly above a def or an async def."),
        (functools.partial(len, "a"), "@task was given functools.partial"),
        (dict, "dict is a class. Write a function, or subclass MapReduce, Iterator, Chain or Group."),
        (classmethod(len), "@task was given a classmethod. Write a function outside of the class"),
        (staticmethod(len), "@task was given a staticmethod. Write a function outside of the class"),
    ],
)
def test_what_is_not_a_function_is_answered_with_what_to_write(what, message):
    with pytest.raises(BadTask, match=re.escape(message)):
        task(what)


def test_a_method_is_answered_with_what_to_write():
    message = "Shop.sell is a method: a push brings no instance. Move it out of the class, pass a primary key for self"
    with pytest.raises(BadTask, match=message):

        class Shop:
            @task
            def sell(self, number: int) -> int:
                return number


def test_a_bound_task_of_celery_is_told_to_use_the_context_and_not_that_it_is_a_method():
    def sell(self, number):
        return number

    with pytest.raises(UnknownOption, match=re.escape("A task function gets no self: current() is its context.")):
        task(bind=True)(sell)
    with pytest.raises(
        BadTask, match=re.escape("sell takes self, and a task gets none. Take it out, and write current()")
    ):
        task(sell)


@pytest.mark.parametrize("made", [WordLengths, Numbers, Words])
def test_a_class_that_is_called_with_arguments_says_how_it_is_pushed(made):
    with pytest.raises(BadArguments, match=rf"it runs nothing\. Write {made.__name__}\.push\("):
        made("a.html")
    with pytest.raises(BadArguments, match="runs nothing"):
        made(path="a.html")
    assert made() is not None


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ((1, 2, 3), "it takes at most 2 positional arguments, but 3 were given."),
        ((1, 2, 3, 4), "it takes at most 2 positional arguments, but 4 were given."),
    ],
)
def test_how_many_arguments_there_are_is_grammatical(args, reason):
    with pytest.raises(BadArguments, match=re.escape(reason)):
        add.push(*args)


def test_one_argument_is_singular():
    with pytest.raises(BadArguments, match=r"it takes at most 1 positional argument, but 2 were given\."):
        ArgumentSpec(word_length, "x").encode(("a", "b"), {})
    with pytest.raises(BadArguments, match=r"it takes no positional arguments, but 1 was given\."):
        ArgumentSpec(lambda: None, "x").encode(("a",), {})


def test_a_text_as_a_delay_is_answered_with_all_that_a_delay_may_be():
    with pytest.raises(BadOption, match=re.escape("it must be seconds (a number), a timedelta or an aware datetime.")):
        add.postpone("60", 1)


@pytest.mark.parametrize("decorate", [lambda task: task(word_length), lambda task: task(retries=3)])
def test_the_decorator_of_a_wrong_path_is_answered_with_the_right_one(decorate):
    from queueops.tasks import task as module

    with pytest.raises(BadTask, match=r"and not the decorator\. Write: from queueops import task"):
        decorate(module)
