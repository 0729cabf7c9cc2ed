"""State machines of Hypothesis: how the tests run them, with the same bounds everywhere."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

PHASES = [Phase.generate, Phase.shrink] if "SHRINK" in os.environ else [Phase.generate]
"""A failure is told as it was found; with SHRINK in the environment the shortest way to it is sought, for minutes."""


def run_machine(machine: type[RuleBasedStateMachine], *, examples: int, steps: int) -> None:
    """Run so many examples of a machine, of so many steps at most."""
    bounds = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize="CI" in os.environ,  # a run that judges a change must judge the same each time
        phases=PHASES,
        print_blob=True,
    )
    run_state_machine_as_test(machine, settings=bounds)
