"""The workflows of the demo: an order is approved, refused or undone, and the stocktaking goes on for ever."""

from __future__ import annotations

from typing import Any

import pytest

from queueops.errors import TaskFailed
from queueops.kinds.workflows.code_check.static_check import check_code
from queueops.testing import WorkflowEnvironment
from queueops_demo.tasks import shop
from tests.support.for_each import for_each


@pytest.fixture
def env() -> WorkflowEnvironment:
    """An environment with a bank that answers."""
    made = WorkflowEnvironment()
    made.mock(shop.charge, lambda order, euros: f"{euros} EUR")
    return made


def called(env: WorkflowEnvironment) -> list[str]:
    """The names of the activities that were run."""
    return [name.removeprefix("demo.") for name, _ in env.calls]


def test_an_order_is_shipped_in_parcels(env: WorkflowEnvironment) -> None:
    assert env.run(shop.order_saga, "7", "teapot", 20, 2) == "7-1, 7-2"
    assert called(env) == ["reserve", "charge", "print_label", "print_label"]


@pytest.mark.parametrize(
    ("answer", "result"), [(True, "7-1"), (False, "undone: NotApproved 7"), (None, "undone: TimeoutError")]
)
def test_a_large_order_waits_for_a_person(env: WorkflowEnvironment, answer: Any, result: str) -> None:
    run = env.start(shop.order_saga, "7", "teapot", 990, 1)
    if answer is not None:
        env.at(60, lambda: run.signal("approve", answer))
    assert run.result() == result
    assert ("release" in called(env)) is (answer is not True)


def test_a_declined_card_undoes_the_order(env: WorkflowEnvironment) -> None:
    def declines(order: str, euros: int) -> str:
        raise shop.CardDeclined(order)

    env.mock(shop.charge, declines)
    run = env.start(shop.order_saga, "7", "teapot", 113, 1)
    assert run.result().startswith("undone: ActivityFailed")
    assert called(env) == ["reserve", *["charge"] * 3, "release"]
    assert run.custom_status() == "undone"


def test_an_order_of_nothing_fails(env: WorkflowEnvironment) -> None:
    with pytest.raises(TaskFailed, match="names no article"):
        env.run(shop.order_saga, "7", "", 20, 1)


def test_the_stocktaking_continues_as_new(env: WorkflowEnvironment) -> None:
    run = env.start(shop.stocktaking.using(id="stocktaking"), 0, 0)
    env.advance(shop.ROUNDS * shop.ROUND_S * 2.5)
    assert run.state == "running"
    assert run.custom_status()["rounds"] > 2 * shop.ROUNDS
    assert len(run.history()) < 6 * shop.ROUNDS


@for_each("workflow", [shop.order_saga, shop.ship_parcel, shop.stocktaking, shop.impatient])
def test_the_workflows_pass_the_static_check(workflow: Any) -> None:
    assert check_code(workflow.name, workflow.handler.func) == []
