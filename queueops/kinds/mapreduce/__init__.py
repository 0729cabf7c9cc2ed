"""Map-reduce tasks."""

from __future__ import annotations

from typing import Any

from queueops.model.kind import Kind, Parts


class Chunks(Parts):
    counting = ("mapreduce",)
    words = ("chunk",)

    def states(self) -> Any:
        from queueops.kinds.mapreduce.states import CHUNKS

        return CHUNKS

    def figures(self) -> Any:
        from queueops.kinds.mapreduce.inspect import figures

        return figures

    def status(self) -> Any:
        from queueops.kinds.mapreduce.status import values_of

        return values_of


class MapReduceKind(Kind):
    name = "mapreduce"
    records = ("mapreduce",)
    own_subkeys = {
        **dict.fromkeys(("#chunks:pending", "#chunks:active", "#chunks:errored", "#chunks:done"), "zset"),
        **dict.fromkeys(("#chunks:failed", "#chunks:stages"), "zset"),
        **dict.fromkeys(("#chunks:twins", "#chunks:unable"), "set"),
        **dict.fromkeys(("#chunks:by", "#chunks:edits", "#<number>", "#<number>~"), "hash"),
        "#<number>#log": "list",
    }
    console = "console.kinds.mapreduce.registration:PAGES"
    parts = Chunks()

    def fields(self) -> Any:
        from queueops.kinds.mapreduce.fields import FIELDS

        return FIELDS

    def store(self) -> Any:
        from queueops.kinds.mapreduce.store import MapReduceCalls

        return MapReduceCalls

    def states(self) -> Any:
        from queueops.kinds.mapreduce.states import STATES

        return STATES

    def control(self) -> Any:
        from queueops.kinds.mapreduce import control

        return control

    def inspect(self) -> Any:
        from queueops.kinds.mapreduce import inspect

        return inspect

    def details(self) -> Any:
        from queueops.kinds.mapreduce.details import DETAILS

        return DETAILS

    def why(self) -> Any:
        from queueops.kinds.mapreduce import why

        return why

    def cli(self) -> Any:
        from queueops.kinds.mapreduce.cli import COMMANDS

        return COMMANDS


KIND = MapReduceKind()
