"""The brokers on which conformance tests run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from queueops.testing import eager, run_worker

Run = Callable[[], None]


@pytest.fixture(params=["redis", "eager"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs what was pushed; with the eager broker it has run before."""
    if request.param == "eager":
        with eager():
            yield lambda: None
    else:
        request.getfixturevalue("namespace")
        yield lambda: (run_worker(), None)[1]
