"""The sample kind: a task that runs three times before it has succeeded. No file of the product names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from queueops.model import kinds
from queueops.model.kind import Kind
from queueops.redis import broker, library
from queueops.tasks import registry
from queueops.tasks.context import Context

KIND = Kind(
    name="sample",
    package="tests.kinds.sample",
    records=("sample",),
    subkeys={"#rounds": "list"},
    leased_as={"sample": "turning"},
    states="tests.kinds.sample.states:STATES",
    fields="tests.kinds.sample.fields:FIELDS",
    store="tests.kinds.sample.store:RoundCalls",
    results="tests.kinds.sample.store:values",
    control="tests.kinds.sample.control",
    inspect="tests.kinds.sample.inspect",
    details="tests.kinds.sample.details:DETAILS",
    why="tests.kinds.sample.why",
    eager="tests.kinds.sample.eager:EagerRounds",
    console="tests.kinds.sample.pages:PAGES",
)
NAME = "tests.rounds"


class Rounds:
    """Runs one round: what a test gives it."""

    kind, name, is_async, retry_on = KIND.name, NAME, False, (Exception,)

    def __init__(self, round_of: Callable[[Context], Any]) -> None:
        """Run ``round_of`` in each round."""
        self.run = round_of


@contextmanager
def registered(round_of: Callable[[Context], Any]) -> Iterator[None]:
    """Register the kind, as one row does, and what each round runs."""
    before = kinds.KINDS
    _register((*before, KIND))
    registry.register_resolver(KIND.name, lambda name: Rounds(round_of) if name == NAME else None)
    try:
        yield
    finally:
        registry.unregister_resolver(KIND.name)
        _register(before)


def _register(wanted: tuple[Kind, ...]) -> None:
    kinds.KINDS = wanted
    texts = (library.modules, library.functions, library.hooks, library.library, library.script)
    for each in (*texts, broker.broker_class):
        each.cache_clear()
    kinds.forget()
    broker.forget_brokers()
