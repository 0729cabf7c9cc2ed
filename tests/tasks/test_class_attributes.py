"""Attributes of a task class that are meant as options, and are none."""

from __future__ import annotations

import re
from functools import cached_property
from types import new_class
from typing import Any

import pytest

from queueops import Chain, Group, Iterator, MapReduce, workflow
from queueops.errors import BadOption, UnknownOption
from queueops.tasks import registry
from tests.support.for_each import for_each

METHODS: dict[type, dict[str, Any]] = {
    MapReduce: {"process": lambda self, chunk: chunk},
    Iterator: {"iterate": lambda self, state: None},
    Chain: {"init": lambda self: []},
    Group: {"init": lambda self: []},
}


def define(base, abstract=False, **attributes):
    body = {"__module__": __name__, **METHODS[base], **attributes}
    made = new_class("Misspelt", (base,), {"abstract": abstract}, lambda names: names.update(body))
    for kind in ("mapreduce", "reduce", "chunk", "iterator", "chain", "group"):
        registry.unregister(kind, made.name)
    return made


@for_each(
    ("base", "name", "advice"),
    [
        (MapReduce, "max_paralel", "; did you mean 'max_parallel'?"),
        (MapReduce, "retires", "; did you mean 'retries'?"),
        (MapReduce, "on_chunk_fail", "; did you mean 'on_chunk_failure'?"),
        (MapReduce, "chunk_retry_delay", "; did you mean 'chunk_retry'?"),
        (MapReduce, "max_retries", ". Write retries=3."),
        (MapReduce, "queue", '. Write pool="mail". For a value of your own write _queue.'),
        (MapReduce, "headers", '. Write meta={"name": "value"}, which current().meta has. For a value of your own'),
        (MapReduce, "serializer", ". Arguments and results are JSON. For a value of your own write _serializer."),
        (Iterator, "countdown", ". Write postpone(60, ...) where it is pushed."),
        (Iterator, "bind", ". A task function gets no self: current() is its context."),
        (Chain, "queue", '. Write pool="mail".'),
        (Group, "max_age", ". Write expires=60:"),
        (MapReduce, "rate_limit", '. Write rate="10/m"'),
        (Iterator, "windows", "; did you mean 'window'?"),
        (Iterator, "keep_task", "; did you mean 'keep_tasks'?"),
        (Iterator, "total", "; known are: cron, delay, expires, keep, keep_tasks,"),
        (Iterator, "unique", "; known are: cron,"),
        (MapReduce, "follow_up", ". Write Misspelt.using(follow_up=...)"),
        (Chain, "meta", ". Write Misspelt.using(meta=...)"),
        (Chain, "cronn", "; did you mean 'cron'?"),
        (Chain, "retires", "; known are: cron, delay, keep,"),
        (Chain, "retries", "; known are: cron, delay, keep,"),
        (Group, "onfailure", "; did you mean 'on_failure'?"),
    ],
)
@for_each("is_base", [False, True])
def test_a_misspelt_option_is_refused_where_the_class_is_defined(base, name, advice, is_base):
    with pytest.raises(UnknownOption, match=re.escape(f"The class Misspelt has no option {name!r}{advice}")):
        define(base, abstract=is_base, **{name: 9})


@for_each("base", METHODS)
def test_methods_private_names_and_attributes_of_the_projects_own_are_free(base):
    class Model:
        """A class beside the options."""

    define(
        base,
        _retires=9,
        batch_size=100,
        priorities={"a": 1},
        stages=("a", "b"),
        names=["a"],
        limit=5,
        queryset=None,
        Model=Model,
        retire=lambda self: None,
        windows=property(lambda self: 1),
        timeouts=cached_property(lambda self: 1),
        delayed=staticmethod(lambda: 1),
        pools=classmethod(lambda cls: 1),
    )


def test_an_option_that_a_base_class_has_is_inherited_and_may_be_set_again():
    class Base(MapReduce, abstract=True):
        """Of a project."""

        batch_size = 10
        chunk_retries = 1

    made = type("Own", (Base,), {"__module__": __name__, **METHODS[MapReduce], "batch_size": 5, "retries": 3})
    for kind in ("mapreduce", "reduce", "chunk"):
        registry.unregister(kind, made.name)
    assert (made.task.options.retries, made.chunk_retries) == (3, 1)


def test_a_misspelt_option_of_a_workflow_is_refused_too():
    with pytest.raises(BadOption, match="The option retires is 3, but it must be one of pool, lane,"):

        @workflow(retires=3)
        async def later() -> None: ...
