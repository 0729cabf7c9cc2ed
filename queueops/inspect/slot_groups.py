"""Slot groups: the slots of workers that serve the same lanes, and the speeds of lanes that share them.

A worker with `--lanes` serves some lanes only. Lanes take turns by weight, until the slots that serve them are used up.
So any set of groups bounds the lanes that no other group serves. With one group this is a plain fair share.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple, Protocol

MOST = 4
"""Groups that are told apart. The slots of further ones count for all lanes that any of them serves."""
LEAST = 1e-9


class Sharer(Protocol):
    """A lane that shares slots with others."""

    key: str
    weight: int
    run_s: float | None

    @property
    def most(self) -> float:
        """The highest number of starts per second that the lane itself permits."""


class Bound(NamedTuple):
    """The slots of a set of groups, and the lanes that no other group serves."""

    slots: float
    lanes: frozenset[str]


class SlotGroups:
    """The slots of a pool, by the lanes that they serve."""

    def __init__(self, lanes: Collection[str], workers: Iterable[tuple[float, Callable[[str], bool]]]) -> None:
        """Use the keys of the lanes, and of each worker its slots and whether it serves the lane of a key."""
        groups: dict[frozenset[str], float] = {}
        for slots, serves in workers:
            served = frozenset(key for key in lanes if serves(key))
            groups[served] = groups.get(served, 0.0) + slots
        known = sorted(groups.items(), key=lambda group: -group[1])
        if more := known[MOST - 1 :]:
            known[MOST - 1 :] = [(frozenset().union(*(served for served, _ in more)), sum(slots for _, slots in more))]
        self._groups = known
        self._bounds = [*_bounds(frozenset(lanes), known)]

    def slots_of(self, key: str) -> float:
        """The slots that serve a lane."""
        return sum(slots for served, slots in self._groups if key in served)

    def is_full(self, key: str, active: Callable[[str], float]) -> bool:
        """Whether a task has to end before one of the lane can start; `active` has the running tasks of a lane."""
        for bound in self._bounds:
            if key in bound.lanes and sum(active(each) for each in bound.lanes) >= bound.slots:
                return True
        return not self._bounds

    def share(self, lines: Sequence[Sharer]) -> dict[str, float]:
        """Starts per second: in the ratio of the weights, while slots suffice and no lane is over its own most."""
        speeds: dict[str, float] = {}
        used = [0.0] * len(self._bounds)
        others = list(lines)
        while others:
            turn, tight = min(self._turns(others, used), default=(0.0, -1))
            full = [line for line in others if line.most <= line.weight * turn]
            if not full:
                full = [line for line in others if tight < 0 or line.key in self._bounds[tight].lanes]
            for line in full:
                speeds[line.key] = min(line.most, line.weight * turn)
                for number, bound in enumerate(self._bounds):
                    used[number] += speeds[line.key] * (line.run_s or 0) if line.key in bound.lanes else 0.0
            others = [line for line in others if line.key not in speeds]
        return {key: max(speed, LEAST) for key, speed in speeds.items()}

    def _turns(self, lines: Sequence[Sharer], used: Sequence[float]) -> Iterable[tuple[float, int]]:
        """For each bound the turns per second at which it is used up, with its number."""
        for number, bound in enumerate(self._bounds):
            cost = sum(line.weight * (line.run_s or 0) for line in lines if line.key in bound.lanes)
            if cost:
                yield max(bound.slots - used[number], 0.0) / cost, number


def _bounds(lanes: frozenset[str], groups: Sequence[tuple[frozenset[str], float]]) -> Iterable[Bound]:
    for count in range(1, len(groups) + 1):
        for chosen in combinations(groups, count):
            others = frozenset().union(*(served for served, _ in groups if (served, _) not in chosen))
            if within := frozenset().union(*(served for served, _ in chosen)) - others:
                yield Bound(sum(slots for _, slots in chosen), within & lanes)
