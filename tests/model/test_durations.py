"""Moments and delays as users give them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from queueops.errors import BadOption
from queueops.model.durations import signed_ms, to_ms, when

NOON = datetime(2026, 1, 31, 12, 0)  # noqa: DTZ001  it is meant to be naive


def test_a_naive_moment_is_refused_where_django_has_time_zones() -> None:
    with pytest.raises(BadOption, match="must be an aware datetime"):
        when("delay", NOON)


def test_without_use_tz_a_naive_moment_is_of_the_project_s_zone(settings: Any) -> None:
    settings.USE_TZ, settings.TIME_ZONE = False, "America/New_York"
    assert when("delay", NOON).due_ms == datetime(2026, 1, 31, 17, 0, tzinfo=UTC).timestamp() * 1000
    assert abs((when("delay", timezone.now()).due_ms or 0) - datetime.now(UTC).timestamp() * 1000) < 600_000


@pytest.mark.parametrize("seconds", [10**400, -(10**400)])
def test_a_whole_number_that_no_float_holds_is_refused_as_any_other(seconds: int) -> None:
    for read in (to_ms, signed_ms):
        with pytest.raises(BadOption, match="from 0 seconds to a hundred years"):
            read("delay", seconds)
