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


class SampleKind(Kind):
    name = "sample"
    records = ("sample",)
    subkeys = {"#rounds": "list"}
    console = "tests.kinds.sample.pages:PAGES"

    def states(self):
        from tests.kinds.sample.states import STATES

        return STATES

    def fields(self):
        from tests.kinds.sample.fields import FIELDS

        return FIELDS

    def store(self):
        from tests.kinds.sample.store import RoundCalls

        return RoundCalls

    def results(self):
        from tests.kinds.sample.store import values

        return values

    def control(self):
        from tests.kinds.sample import control

        return control

    def inspect(self):
        from tests.kinds.sample import inspect

        return inspect

    def details(self):
        from tests.kinds.sample.details import DETAILS

        return DETAILS

    def why(self):
        from tests.kinds.sample import why

        return why


KIND = SampleKind()
NAME = "tests.rounds"


class Rounds:
    """Runs one round: what a test gives it."""

    kind, name, is_async, retry_on = KIND.name, NAME, False, (Exception,)

    def __init__(self, round_of: Callable[[Context], Any]) -> None:
        """Run ``round_of`` in each round."""
        self.run = round_of


@contextmanager
def registered(round_of: Callable[[Context], Any]) -> Iterator[None]:
    """Register the kind, as one line of `queueops.kinds` does, and what each round runs."""
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
