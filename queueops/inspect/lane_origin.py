"""Origin of a lane's limits: the settings, an operator, or earlier settings that named the lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from queueops.conf.tables import LaneSettings
from queueops.inspect.alarm import manage
from queueops.inspect.store import open_reader
from queueops.model import kinds
from queueops.model.sentences import Sentence, say

USUAL: Mapping[str, float | None] = {"limit": None, "rate": None, "weight": 1}
"""The values of a lane that nothing sets."""
OPERATOR, LEFT = "operator", "left"


class LaneOrigin(NamedTuple):
    """Where values come from that are not those of the settings, and the values to which each goes back."""

    word: str = ""  # operator, or left: by earlier settings, which named the lane; empty: all are as the settings say
    restores: Mapping[str, float | None] = {}


def lane_origin(pool: str, lane: str, values: Mapping[str, float | None], said: Mapping[str, str]) -> LaneOrigin:
    """Compare a lane's values with the settings; `said` are the values that settings have given it last.

    Lanes that a kind makes have the limits of that kind. What settings another project has is not known here.
    """
    if not said and values == USUAL:  # so it is for most lanes
        return LaneOrigin()
    if any(lane.startswith(prefix) for details in kinds.roles("details") for prefix in details.lanes):
        return LaneOrigin()
    settings = open_reader().settings
    declared = _declared(lane, settings.pool(pool).lanes, settings.pool(pool).pattern_of(lane))
    is_known = declared or bool(settings.store_name and said)
    given = {name: _number(said.get(name, ""), usual) for name, usual in USUAL.items()}
    if is_known:
        return _told(OPERATOR, {name: value for name, value in given.items() if values[name] != value})
    restores = {name: usual for name, usual in USUAL.items() if values[name] != usual}
    is_left = any(name in said and values[name] == given[name] for name in restores)
    return _told(LEFT if is_left else OPERATOR, restores)


def told(word: str) -> Sentence:
    """The origin, behind the values."""
    return say("left by earlier settings") if word == LEFT else say("set by an operator")


def removal(pool: str, lane: str, origin: LaneOrigin) -> Sentence:
    """The origin in a sentence, with the command that takes the values away."""
    options = [word for name, value in origin.restores.items() for word in (f"--{name}", _shown(value))]
    command = manage("queue", "set-lane", lane, "--pool", pool, *options)
    if origin.word == LEFT:
        return say("Earlier settings, which named the lane, left this. `%(command)s` takes it away.", command=command)
    return say("An operator has set this, not the settings. `%(command)s` takes it back.", command=command)


def _declared(lane: str, named: Mapping[str, LaneSettings], pattern: LaneSettings | None) -> bool:
    return lane in named or pattern is not None


def _told(word: str, restores: Mapping[str, float | None]) -> LaneOrigin:
    return LaneOrigin(word, restores) if restores else LaneOrigin()


def _number(text: str, usual: float | None) -> float | None:
    try:
        return float(text)
    except ValueError:  # empty, or written by another program
        return usual


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
