"""Composites: chains, groups, iterators and templates."""

from __future__ import annotations

from typing import Any

from queueops.model.kind import Kind, Tree


class Composed(Tree):
    containers = ("chain", "group")
    counting = ("iterator",)

    def part(self) -> Any:
        from queueops.kinds.composites.parts import Signature

        return Signature

    def add(self) -> Any:
        from queueops.kinds.composites.growth import add

        return add

    def signals(self) -> Any:
        from queueops.kinds.composites import signals

        return signals

    def endings(self) -> Any:
        from queueops.kinds.composites import end_signals

        return end_signals


class CompositesKind(Kind):
    name = "composites"
    records = ("chain", "group", "iterator")
    subkeys = {
        **dict.fromkeys(("#children", "#planted", "#drafts"), "zset"),
        **dict.fromkeys(("#open", "#asked"), "set"),
        **dict.fromkeys(("#results", "#far"), "hash"),
        **dict.fromkeys(("#latest", "#failures"), "list"),
    }
    console = "console.kinds.composites.registration:PAGES"
    tree = Composed()

    def fields(self) -> Any:
        from queueops.kinds.composites.fields import FIELDS

        return FIELDS

    def store(self) -> Any:
        from queueops.kinds.composites.store import CompositeCalls

        return CompositeCalls

    def outbox(self) -> Any:
        from queueops.kinds.composites.outbox import FORMS

        return FORMS

    def results(self) -> Any:
        from queueops.kinds.composites.results import value_of

        return value_of

    def inspect(self) -> Any:
        from queueops.kinds.composites import inspect

        return inspect

    def details(self) -> Any:
        from queueops.kinds.composites.details import DETAILS

        return DETAILS

    def why(self) -> Any:
        from queueops.kinds.composites import why

        return why


KIND = CompositesKind()
