"""Ids that `unique=` makes of arguments, whatever characters they have."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from queueops import MapReduce, chain, task
from queueops.errors import BadArguments, BadId
from queueops.model.ids import ID
from queueops.tasks import registry
from queueops.tasks.unique_id import fit
from queueops.testing import run_worker

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
VALID = st.from_regex(r"[A-Za-z0-9._:@/=+\-]{1,200}", fullmatch=True)
TEXTS = st.text() | st.text(alphabet="aä =-", max_size=4) | st.text(alphabet="a ", min_size=199, max_size=250)


@UNHURRIED
@given(VALID)
@example("u:None")
@example("a" * 200)
@example("0==" + "f" * 31)
def test_a_text_that_is_an_id_stays_as_it_is(text: str) -> None:
    assert fit(text) == text


@UNHURRIED
@given(TEXTS, TEXTS)
@example("New York", "New-York")
@example("a" * 250, "a" * 251)
@example("a b", "a-b==" + hashlib.sha256(b"a b").hexdigest()[:32])
@example("\ud800", "\ud801")
def test_two_texts_never_give_one_id_and_each_is_valid(one: str, other: str) -> None:
    assert ID.fullmatch(fit(one))
    assert fit(one) == fit(one)
    assert (fit(one) == fit(other)) is (one == other)


@UNHURRIED
@given(TEXTS)
def test_an_id_that_was_made_is_not_the_id_of_its_own_text(text: str) -> None:
    made = fit(text)
    assert made == text or fit(made) != made


@pytest.mark.parametrize("value", [7, b"x", ["a"]])
def test_what_is_not_a_text_is_refused(value):
    with pytest.raises(BadId):
        fit(value)


@pytest.mark.parametrize(
    "name", ["Zoë", "New York", "https://x.y/z?a=1", "o'neil@x.de", "r&d@x.de", "50%", "a,b", "n" * 250, "", "\n"]
)
@pytest.mark.parametrize("way", ["template", "function"])
def test_a_task_for_any_name_is_there_once(namespace, name, way):
    @task(unique="u:{name}" if way == "template" else lambda name: f"u:{name}")
    def greet(name: str) -> str:
        return name

    first, second = greet.push(name), greet.push(name)
    assert (first.id, second.word) == (second.id, "EXISTS")
    assert greet.push(f"{name}.").id != first.id
    run_worker()
    registry.unregister("task", greet.name)
    assert first.result(timeout=0) == name


def test_a_template_writes_none_as_none(namespace):
    @task(unique="u:{name}")
    def greet(name: str | None = None) -> None: ...

    assert greet.push().id == greet.push(None).id == "u:None"
    registry.unregister("task", greet.name)


def test_a_type_makes_the_id_as_a_function_does(namespace):
    @task(unique=str)
    def greet(number: int) -> None: ...

    assert greet.push(7).id == "7"
    registry.unregister("task", greet.name)


def test_a_function_keeps_the_defaults_of_what_the_task_does_not_take(namespace):
    @task(unique=lambda user, prefix="u": f"{prefix}:{user}")
    def greet(city: str, user: int) -> None: ...

    assert [greet.push("Rome", 7).id, greet.push(city="Oslo", user=8).id] == ["u:7", "u:8"]
    registry.unregister("task", greet.name)


def test_a_default_does_not_stand_for_what_is_passed_by_name_alone(namespace):
    @task(unique=lambda user, prefix="u": f"{prefix}:{user}")
    def greet(user: int, **more: str) -> None: ...

    assert [greet.push(7).id, greet.push(7, prefix="vip").id] == ["u:7", "vip:7"]
    registry.unregister("task", greet.name)


def test_a_default_does_not_stand_for_the_first_argument_that_a_chain_gives(namespace):
    @task(unique=lambda user, city="Rome": f"{city}:{user}")
    def greet(city: str, user: int) -> None: ...

    with pytest.raises(BadArguments, match="first argument"):
        chain(greet.si("Oslo", 7), greet.s(8)).push()
    registry.unregister("task", greet.name)


def test_the_task_id_of_a_class_may_be_any_text(namespace):
    class Sums(MapReduce):
        """Of one chunk."""

        def task_id(self, city):
            return f"sums:{city}"

        def process(self, chunk):
            return chunk

    assert Sums.push("New York").id.startswith("sums:New-York==")
    for kind in ("mapreduce", "reduce", "chunk"):
        registry.unregister(kind, Sums.name)
