"""Fixtures of results."""

from __future__ import annotations

import threading

import pytest

from queueops.testing import run_worker


@pytest.fixture
def later():
    """Run the worker a little later, in a thread."""
    threads = []

    def start(delay=0.05):
        thread = threading.Timer(delay, run_worker)
        threads.append(thread)
        thread.start()
        return thread

    yield start
    for thread in threads:
        thread.join()
