"""Action catalog: the actions on tasks, each with its label, form and call of `queueops.control`.

Of other verbs (lanes, workers, schedules, chunks, undo) it has only the labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.access.permissions import TABLE, Verb
from console.ui import forms
from console.ui.kind_pages import actions_of_kind
from queueops import control
from queueops.inspect import TaskDetail, TaskFacts
from queueops.model.allowed import refused_verbs
from queueops.model.states import TERMINAL, State, table

Call = Callable[..., Any]

ENDING = ("cancel", "interrupt", "stop", "drop_chunks", "reset_runs")
"""Verbs that end work, or leave a part of it out."""


class Action(NamedTuple):
    """An action of the console; `verb` is its name in the audit log.

    `call` performs it; a selection in `console.actions.selection` makes the call and knows its parameters.
    """

    verb: str
    call: Call
    label: str | Promise = ""
    icon: str = ""
    form: type[forms.ActionForm] = forms.ActionForm
    irreversible: bool = False
    asks_first: bool = False
    note: str | Promise = ""
    url: str = ""
    phrase: str | Promise = ""  # of the button that confirms, with %(what)s; empty: by `sentence`

    @property
    def url_name(self) -> str:
        """The URL name of the action; without `url` it is that of an action on one task."""
        return self.url or f"task-{self.verb}"

    @property
    def permission(self) -> Verb | None:
        """The permission that the action needs."""
        return TABLE[self.url_name]

    @property
    def asks(self) -> bool:
        """Whether the action needs input besides the selection."""
        return bool(self.form.base_fields)

    @property
    def is_destructive(self) -> bool:
        """Whether work or data is lost by it: its button is red."""
        return self.irreversible or self.permission is Verb.DESTROY or self.verb in ENDING


ACTIONS: dict[str, Action] = {
    action.verb: action
    for action in (
        Action(
            "retry",
            lambda ids, **how: control.retry(ids, **how),
            _("Retry"),
            "refresh",
            note=_(
                "Runs the task again with the same arguments. A retry that has started cannot be undone. A"
                " map-reduce task continues where it ended: at its failed chunks, or at its reduce."
            ),
        ),
        Action(
            "rerun",
            lambda ids, **how: control.retry(ids, everything=True, **how),
            _("Run everything again"),
            "rotate-clockwise",
            asks_first=True,
            note=_("Runs all parts again, also those that succeeded. An iterator starts from its beginning."),
        ),
        Action(
            "reinstate",
            lambda ids, **how: control.reinstate(ids, **how),
            _("Reinstate"),
            "arrow-back-up",
            note=_(
                "Takes the cancel back. The task returns to its lane, or waits until it is due; its attempts stay"
                " counted. A task that was running runs again."
            ),
        ),
        Action(
            "run_now",
            lambda ids, **how: control.run_now(ids, **how),
            _("Run now"),
            "player-play",
            note=_("Makes the task ready now, before its due time."),
        ),
        Action(
            "requeue",
            lambda ids, **how: control.requeue(ids, **how),
            _("Requeue"),
            "arrow-back-up",
            note=_("Makes the task ready again. The task returns to quarantine if the cause remains."),
        ),
        Action(
            "postpone",
            lambda ids, seconds, **how: control.postpone(ids, seconds=seconds, **how),
            _("Postpone"),
            "calendar-time",
            forms.PostponeForm,
            note=_("The task waits until that time. Then it becomes ready."),
        ),
        Action(
            "cancel",
            lambda ids, reason="", **how: control.cancel(ids, reason=reason, **how),
            _("Cancel"),
            "ban",
            note=_(
                "Cancels the task. A running task is asked to stop; its effects so far remain. Undo restores only"
                " tasks that had not started."
            ),
        ),
        Action(
            "interrupt",
            lambda ids, reason="", **how: control.cancel(ids, reason=reason, hard=True, **how),
            _("Cancel and interrupt"),
            "power",
            asks_first=True,
            note=_(
                "Cancels the task, and interrupts it if it is running. If it still runs one second later, its"
                " worker process is killed. Other tasks of that process run again."
            ),
        ),
        Action(
            "release",
            lambda ids, **how: control.release(ids, **how),
            _("Release"),
            "door-exit",
            note=_(
                "Takes the task from its worker and makes it ready again, without counting an attempt. Its code"
                " continues there, but the outcome is refused: the task may run twice."
            ),
        ),
        Action(
            "priority",
            lambda ids, priority, **how: control.set_priority(ids, priority, **how),
            _("Priority"),
            "arrows-sort",
            forms.PriorityForm,
            note=_("From -100 to 100. The task with the highest priority starts first in its lane."),
        ),
        Action(
            "move",
            lambda ids, lane, **how: control.move(ids, lane, **how),
            _("Move"),
            "arrows-right",
            forms.MoveForm,
            note=_("Moves the task to another lane of its pool. The limits of that lane apply."),
        ),
        Action(
            "keep",
            lambda ids, days, **how: control.keep(ids, days * 86400, **how),
            _("Keep longer"),
            "pin",
            forms.KeepForm,
            note=_("Keeps the task for that many days from now. Then it is deleted."),
        ),
        Action(
            "delete",
            lambda ids, **how: control.delete(ids, **how),
            _("Delete"),
            "trash",
            note=_("Deleted tasks stay in the trash for 24 hours. A job that is deleted sends no callback."),
        ),
        Action(
            "discard",
            lambda ids, **how: control.discard(ids, **how),
            _("Discard"),
            "flame",
            irreversible=True,
            note=_("Discarded tasks cannot be restored. A job that is discarded sends no callback."),
        ),
    )
}

RETRIES = {
    "process": (
        _("Retry failed chunks"),
        _("Runs the chunks that are not done, then the reduce. Done chunks keep their results."),
    ),
    "reduce": (_("Retry the reduce"), _("Runs the reduce again with the results of the chunks. No chunk runs again.")),
}
"""Label and note of a retry of an ended map-reduce task, by the stage where it continues."""
RETRIES_OF_PARTS = {
    "chain": (
        _("Retry failed parts"),
        _("Runs the failed part again, then the parts after it. Succeeded parts keep their results."),
    ),
    "group": (_("Retry failed parts"), _("Runs the parts that did not succeed. Succeeded parts keep their results.")),
    "iterator": (
        _("Retry failed parts"),
        _("Runs the parts that did not succeed. Then the iterator continues from its last state."),
    ),
}
"""Label and note of a retry of a parent task, by its kind."""
GOES_ON = (_("Continue from the last state"), _("The iterator continues from its last state."))
"""Label and note of a retry of an iterator that has succeeded."""

AGAIN = (_("Run again"), _("Runs the task again with the same arguments. It has already succeeded once."))
"""Label and note of a retry of a plain task that has succeeded."""

REASONED = ("cancel", "interrupt", "start_maintenance")
"""Verbs whose reason is stored in the store too."""

SENTENCES: dict[str, str | Promise] = {
    "rerun": _("Run %(what)s again with all parts"),
    "run_now": _("Run %(what)s now"),
    "interrupt": _("Cancel and interrupt %(what)s"),
    "priority": _("Set the priority of %(what)s"),
    "keep": _("Keep %(what)s longer"),
    "requeue_commands": _("Try %(what)s again"),
    "pause_pool": _("Pause all lanes of %(what)s"),
    "redirect_callbacks": _("Redirect %(what)s"),
    "start_maintenance": _("Start the %(what)s"),
    "stop_maintenance": _("End the %(what)s"),
    "speculate_chunks": _("Start second runs of %(what)s"),
    "redo_chunks": _("Edit and retry %(what)s"),
    "set_chunks": _("Set fields and retry %(what)s"),
    "restart_failed": _("Restart %(what)s"),
    "restart_all": _("Restart %(what)s"),
    "restart_map": _("Restart from map, delete %(what)s"),
}
"""Words of the button that confirms, of verbs whose label cannot stand before what they act on."""

STAYING = ("priority", "move", "keep")
"""Verbs that leave a task in its state."""
AFTERWARDS: dict[str, str | Promise] = {
    "delete": _("In the trash for 24 hours."),
    "discard": _("Cannot be restored."),
    "pause": _("Workers claim no more tasks from this lane. Running tasks continue."),
    "resume": _("Workers claim tasks from this lane again."),
    "pause_name": _("No task of this name starts. Running tasks continue."),
    "resume_name": _("Its tasks return to their places in their lanes."),
    "set_lane": _("The limits apply from the next claim."),
    "pause_pool": _("Workers claim nothing from the lanes of this pool. Running tasks continue."),
    "resume_pool": _("Workers claim tasks from all lanes of this pool again."),
    "quiet": _("The worker finishes its running tasks and claims no new tasks."),
    "stop_operation": _("What it has changed stays changed."),
    "stop": _("The worker ends within its grace time."),
    "stacks": _("The page of the worker shows them when it has answered."),
    "start_maintenance": _("The health check of the API answers 503."),
}
"""The lasting effect of a verb, if the tasks' states do not show it."""

UNDO = "undo "
OTHER_LABELS: dict[str, str | Promise] = {
    "edit": _("Edit"),
    "pause": _("Pause"),
    "resume": _("Resume"),
    "set_lane": _("Set the lane"),
    "pause_pool": _("Pause all lanes of a pool"),
    "resume_pool": _("Resume all lanes of a pool"),
    "create_schedule": _("Create the schedule"),
    "edit_schedule": _("Edit the schedule"),
    "pause_name": _("Pause the name"),
    "resume_name": _("Resume the name"),
    "pause_schedule": _("Pause the schedule"),
    "resume_schedule": _("Resume the schedule"),
    "run_schedule": _("Run the schedule now"),
    "delete_schedule": _("Delete the schedule"),
    "requeue_commands": _("Try commands again"),
    "drop_commands": _("Drop commands"),
    "fsck": _("Repair the findings of the check"),
    "flush": _("Flush the pool"),
    "quiet": _("Quiet"),
    "stop": _("Stop"),
    "stacks": _("Ask for stacks"),
    "retry_chunks": _("Retry chunks"),
    "postpone_chunks": _("Postpone chunks"),
    "drop_chunks": _("Drop chunks"),
    "skip_chunks": _("Skip chunks"),
    "release_chunks": _("Release chunks"),
    "speculate_chunks": _("Start second runs of chunks"),
    "edit_chunks": _("Edit a chunk"),
    "redo_chunks": _("Edit and retry chunks"),
    "set_chunks": _("Set fields of chunks and retry"),
    "restart": _("Restart from a stage"),  # audit labels of denied actions, for all stages and actions
    "signal_runs": _("Send a signal to runs"),
    "cancel_runs": _("Ask runs to cancel"),
    "terminate-run": _("Terminate runs"),
    "retry-step": _("Retry the failed steps of runs"),
    "suspend_runs": _("Suspend runs"),
    "resume_runs": _("Resume runs"),
    "create_token": _("Create an API token"),
    "revoke_token": _("Revoke an API token"),
    "start_maintenance": _("Start maintenance"),
    "stop_maintenance": _("End the maintenance"),
    "redirect_callbacks": _("Redirect callbacks"),
    "send_test_callback": _("Send a test callback"),
    "submit_jobs": _("Submit jobs"),
    "delete_file": _("Delete a file"),
    "keep_file": _("Keep a file"),
    "drain_aggregation": _("Drain an aggregation"),
    "accept_jobs": _("Accept jobs again"),
    "set_proxy": _("Set the proxy of an aggregation"),
    "delete_aggregation": _("Delete an aggregation"),
    "close_circuit": _("Send to a host again"),
    "reset_runs": _("Reset runs"),
    "start_run": _("Start a run"),
    "undo": _("Undo"),
    "go_on": _("Continue an action"),
    "steer_operation": _("Pause, resume or stop a bulk action"),
    "pause_operation": _("Pause a bulk action"),
    "resume_operation": _("Resume a bulk action"),
    "stop_operation": _("Stop a bulk action"),
    "restart_map": _("Restart from map"),
    "restart_all": _("Restart from process: all chunks"),
    "restart_failed": _("Restart from process: failed chunks"),
    "restart_reduce": _("Restart from reduce"),
}
"""Verbs that are not about tasks, or that have a form of their own."""

BULK = ("retry", "reinstate", "run_now", "requeue", "postpone", "move", "cancel", "delete", "discard")
"""The actions of the bulk bar, in order."""


def sentence(action: Action, what: str) -> str:
    """The words of the button that confirms: the verb, and what it acts on with its number."""
    if action.phrase:
        return str(action.phrase) % {"what": what}
    if action.verb in SENTENCES:
        return str(SENTENCES[action.verb]) % {"what": what}
    return _("%(verb)s %(what)s") % {"verb": action.label, "what": what}


def label(verb: str) -> str:
    """The label of a verb, also of an undo; an unknown verb is its own label."""
    if verb.startswith(UNDO):
        return _("Undo: %(verb)s") % {"verb": label(verb.removeprefix(UNDO))}
    return str(ACTIONS[verb].label) if verb in ACTIONS else str(OTHER_LABELS.get(verb, verb))


def offered(state: str, may: frozenset[str], kind: str = "") -> list[Action]:
    """The actions for selected rows: those that state and kind (any, if none is chosen) and the user may do."""
    permitted = table().actions.get(state, ()) if state else BULK
    verbs = set(permitted).difference(refused_verbs(kind, {"s": state}))
    return [ACTIONS[verb] for verb in BULK if verb in verbs and ACTIONS[verb].permission in may]


def allowed(task: TaskDetail, may: frozenset[str]) -> list[Action]:
    """The actions that a task's kind and state, and the user's permissions, allow."""
    own = actions_of_kind(task.kind)
    found = [own.get(verb) or named_for(ACTIONS[verb], task) for verb in verbs_of(task)]
    return [action for action in found if action.permission in may]


def verbs_of(task: TaskFacts) -> list[str]:
    """The verbs that the kind and the state of a task allow, in the order of display."""
    verbs = set(task.allowed)
    if "retry" in verbs and task.kind in RETRIES_OF_PARTS and task.state in TERMINAL:
        verbs.add("rerun")
        if task.state == State.SUCCEEDED and not task.is_claimed:
            verbs.discard("retry")  # no part of it failed: a retry would run the whole task too
    if "cancel" in verbs and task.state in table().under_way:
        verbs.add("interrupt")
    return [verb for verb in ACTIONS if verb in verbs]


def named_for(action: Action, task: TaskFacts) -> Action:
    """The action, with the label and note for this task: a retry of an ended task says what it runs."""
    if action.verb != "retry" or task.state not in TERMINAL:
        return action
    if task.state == State.SUCCEEDED and not task.is_claimed:
        return action._replace(label=ACTIONS["rerun"].label, note=ACTIONS["rerun"].note)
    if task.state == State.SUCCEEDED and task.kind == "iterator":
        return action._replace(label=GOES_ON[0], note=GOES_ON[1])
    goes_on_at = task.goes_on_at if isinstance(task, TaskDetail) else ""
    usual = AGAIN if task.state == State.SUCCEEDED else (action.label, action.note)
    label, note = RETRIES.get(goes_on_at) or RETRIES_OF_PARTS.get(task.kind) or usual
    return action._replace(label=label, note=note)
