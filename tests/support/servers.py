"""Servers without functions: a switch for all servers of a run of tests, and scripts for one broker."""

from __future__ import annotations

import os

from queueops.redis.broker import RedisBroker
from tests.kernel.desk import FOREVER

SWITCH = "QUEUEOPS_TESTS_WITHOUT_FUNCTIONS"
"""In the environment of a run: none of its servers has functions. All clients send scripts."""
NO_FUNCTIONS = dict.fromkeys(("rename-command FCALL", "rename-command FUNCTION"), "")
"""Lines of a server's configuration, by their beginning: it knows as many commands as Redis 6.2."""
WITHOUT = NO_FUNCTIONS if SWITCH in os.environ else {}
"""What all servers of this run have of it."""


def use_scripts(broker: RedisBroker) -> None:
    """Send scripts to a server that has functions."""
    broker.scripts.without_functions(FOREVER)
