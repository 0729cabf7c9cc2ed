"""Commands of the stand-in: some in each place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from queueops import control, inspect
from queueops.inspect import CommandPage, CommandRow, DeadFollowUp, OutboxFigures, OutboxPage, WaitingPush
from queueops.inspect.answers import Listing
from queueops.model.contracts import Row

if TYPE_CHECKING:
    from tests.console.standin import World


class CommandWorld:
    """Answers for `inspect.commands`; what is done is taken down by the world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.dead = 3

    def commands(self, place: str = "due", pool: str = "", *, after: str = "", limit: int = 50) -> CommandPage:
        self.world._ask()
        verbs = ("activate", "ended", "cancel", "progress", self.world.text)
        rows = tuple(self._row(number, verb) for number, verb in enumerate(verbs))
        return CommandPage(rows=rows, place=place, due=5, locked=1, dead=self.dead, next="more")

    def dead_commands(self) -> dict[str, int]:
        self.world._ask()
        return {"default": self.dead, "empty": 0}

    def dead_follow_ups(self, pool: str = "", limit: int = 50) -> Listing[DeadFollowUp]:
        self.world._ask()
        return Listing([self._follow_up("succeeded"), self._follow_up("")])

    def act(self, verb: str, ids: Sequence[str], pool: str) -> list[Row]:
        self.world._act(verb, (ids, pool))
        return [Row(id=each, word="OK", state="dead") for each in ids]

    def act_on_dead(self, verb: str, pool: str) -> int:
        self.world._act(verb, pool)
        return self.dead

    def outbox(self, *, dead: bool = False, database: str = "", after: int = 0, limit: int = 50) -> OutboxPage:
        self.world._ask()
        text = self.world.text
        row = WaitingPush(
            id=1, database="default", push="task-1", name=text, form="push", pool="default", lane=text,
            created_ms=self.world.now, dead=dead, error=text,
        )  # fmt: skip
        figures = OutboxFigures(database="default", waiting=5, dead=self.dead, waited_ms=1000)
        return OutboxPage(databases=(figures,), database="default", dead=dead, rows=(row,), next=1)

    def act_on_rows(self, verb: str, ids: Sequence[int], database: str) -> list[int]:
        self.world._act(verb, (ids, database))
        return list(ids)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(inspect, "commands", self.commands)
        monkeypatch.setattr(inspect, "dead_commands", self.dead_commands)
        monkeypatch.setattr(inspect, "dead_follow_ups", self.dead_follow_ups)
        monkeypatch.setattr(inspect, "outbox", self.outbox)
        monkeypatch.setattr(inspect, "outbox_in_use", lambda: True)
        for verb in ("retry_outbox", "drop_outbox"):
            monkeypatch.setattr(control, verb, self._named(self.act_on_rows, verb))
        for verb in ("requeue", "drop"):
            monkeypatch.setattr(control, f"{verb}_commands", self._named(self.act, f"{verb}_commands"))
            monkeypatch.setattr(
                control, f"{verb}_dead_commands", self._named(self.act_on_dead, f"{verb}_dead_commands")
            )

    def _named(self, call, name: str):
        return lambda *values: call(name, *values)

    def _row(self, number: int, verb: str) -> CommandRow:
        text, now = self.world.text, self.world.now
        return CommandRow(
            id=f"000{number}",
            pool="default",
            verb=verb,
            sender=text,
            to="north",
            target=text,
            generation=text,
            round=number % 2,
            tries=number,
            created_ms=now - 9000,
            at_ms=now + 500,
            error=text if number else "",
        )

    def _follow_up(self, state: str) -> DeadFollowUp:
        text = self.world.text
        return DeadFollowUp(
            id=text,
            pool="default",
            name=text,
            state=state,
            outcome="success",
            at_ms=self.world.now - 9000,
            next_name=text,
            next_pool="north",
            next_id=text,
            reason=text,
        )
