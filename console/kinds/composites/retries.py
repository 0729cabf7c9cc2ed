"""Retries of parent tasks: what a retry of one runs, and the one that runs all its parts again."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from console.actions.catalog import ACTIONS, Action
from queueops.inspect import TaskFacts
from queueops.model.states import TERMINAL, State

LABEL = _("Retry failed parts")
PHRASE = _("Retry the failed parts of %(what)s")
NOTES = {
    "chain": _("Runs the failed part again, then the parts after it. Succeeded parts keep their results."),
    "group": _("Runs the parts that did not succeed. Succeeded parts keep their results."),
    "iterator": _("Runs the parts that did not succeed. Then the iterator continues from its last state."),
}
"""The note of a retry of an ended parent task, by its record."""
GOES_ON = (
    _("Continue from the last state"),
    _("The iterator continues from its last state."),
    _("Continue %(what)s from the last state"),
)
"""Label, note and button of a retry of an iterator that has succeeded."""


def offer(task: TaskFacts, actions: dict[str, Action]) -> dict[str, Action]:
    """The actions on a parent task: an ended one can be run with all its parts again, or with those that failed."""
    if "retry" not in actions or task.state not in TERMINAL:
        return actions
    own = actions | {"rerun": ACTIONS["rerun"]}
    if task.state != State.SUCCEEDED:
        return own | {"retry": own["retry"]._replace(label=LABEL, note=NOTES[task.kind], phrase=PHRASE)}
    if task.is_claimed:
        return own | {"retry": own["retry"]._replace(label=GOES_ON[0], note=GOES_ON[1], phrase=GOES_ON[2])}
    del own["retry"]  # no part of it failed: a retry would run the whole task too
    return own
