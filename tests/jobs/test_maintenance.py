"""The maintenance switch: an operator switches it on and off, for all processes of the namespace."""

from __future__ import annotations

import pytest

from queueops import control, inspect


@pytest.mark.usefixtures("namespace")
def test_the_first_start_of_a_maintenance_is_kept_until_it_is_stopped() -> None:
    assert inspect.maintenance() is None
    assert not control.stop_maintenance()
    assert control.start_maintenance("new disks", who="ann")
    assert not control.start_maintenance("other", who="bob")
    found = inspect.maintenance()
    assert found is not None
    assert (found.who, found.reason) == ("ann", "new disks")
    assert 0 <= inspect.now_ms() - found.since_ms < 60_000
    control.flush("default")
    assert inspect.maintenance() == found, "a flush of a pool does not end it"
    assert control.stop_maintenance()
    assert inspect.maintenance() is None
