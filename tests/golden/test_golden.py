"""What must not change by the way: `python -m tests.golden` writes the files anew where a change is meant."""

from __future__ import annotations

import pytest

from tests.golden.subjects import FOLDER, SUBJECTS


def golden(name: str) -> list[str]:
    return (FOLDER / f"{name}.txt").read_text().splitlines()


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_nothing_changed_that_others_rely_on(name: str) -> None:
    assert SUBJECTS[name]() == golden(name)
