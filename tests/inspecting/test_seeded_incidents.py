"""The incidents that a seed draws for the drill: twelve, the same for the same seed, and each can be planted."""

from __future__ import annotations

import inspect
import re
from functools import partial

from tests.soak.seeded import LATEST_S, PAIRS, SINGLE, drawn


def test_a_seed_draws_nine_faults_alone_and_three_pairs_of_different_ones() -> None:
    for seed in range(20):
        found = drawn(seed)
        assert [len(faults) for faults in found] == [1] * SINGLE + [2] * PAIRS
        assert [fault.name for faults in found for fault in faults] == [
            fault.name for faults in drawn(seed) for fault in faults
        ]
        assert len({faults[0].name for faults in found[:SINGLE]}) == SINGLE
        assert all(one.alarm != other.alarm for one, other in found[SINGLE:])
    assert {faults[0].name for faults in drawn(1)} != {faults[0].name for faults in drawn(2)}


def test_each_drawn_fault_fits_how_it_is_planted_found_and_mended() -> None:
    for fault in (fault for seed in range(20) for faults in drawn(seed) for fault in faults):
        plant = fault.plant
        if isinstance(plant, partial):
            inspect.signature(plant.func).bind(None, *plant.args, **plant.keywords)
        re.compile(fault.alarm)
        re.compile(fault.cause)
        assert 0 <= fault.after_s <= LATEST_S
        assert bool(fault.mend) != bool(fault.obey), fault.name
