"""The table of the states of chunks: it must make sense in itself."""

from __future__ import annotations

from queueops.kinds.mapreduce.states import CHUNK_ACTIONS, CHUNK_CLASSES, CHUNK_TRANSITIONS, CHUNKS, ChunkState
from queueops.model.states import Actor, held, table


def test_every_state_of_a_chunk_has_one_class() -> None:
    assert set(CHUNK_CLASSES) == set(ChunkState)
    assert CHUNKS.leased == (ChunkState.ACTIVE,)
    assert held() == (*table().leased, ChunkState.ACTIVE)
    assert ChunkState.ACTIVE not in table().states


def test_an_operators_actions_on_chunks_are_transitions_of_the_table() -> None:
    made = {(source, verb) for source, _, verb, actors in CHUNK_TRANSITIONS if Actor.OPERATOR in actors}
    for state, verbs in CHUNK_ACTIONS.items():
        for verb in verbs:
            again = "retry" if verb in ("redo", "set") else verb
            assert verb in ("edit", "speculate") or (state, again) in made or state == ChunkState.FAILED, (state, verb)
    assert set(ChunkState) == set(CHUNK_ACTIONS)
    assert CHUNKS.allowing("release") == (ChunkState.ACTIVE,)


def test_every_state_of_a_chunk_can_be_reached_and_left() -> None:
    for state in ChunkState:
        assert any(row[0] == state for row in CHUNK_TRANSITIONS)
        assert any(row[1] == state for row in CHUNK_TRANSITIONS)
    rows = [row[:3] for row in CHUNK_TRANSITIONS]
    assert len(rows) == len(set(rows))
