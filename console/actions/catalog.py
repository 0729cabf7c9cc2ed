"""Action catalog: the actions on tasks, each with its label, form and call of `queueops.control`.

Of other verbs (lanes, workers, names, undo) it has only the labels. Kinds add verbs of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from django.utils.functional import Promise, lazy
from django.utils.translation import gettext_lazy as _

from console.access.permissions import TABLE, Verb
from console.ui import forms
from console.ui.kind_names import reserve
from console.ui.kind_pages import actions_of_kind, notes_of_kinds, offered_by_kind, verb_of_kind, verbs_of_kinds
from queueops import control
from queueops.inspect import TaskDetail, TaskFacts
from queueops.model.allowed import refused_verbs
from queueops.model.states import FINISHED, TERMINAL, State, table

Call = Callable[..., Any]

ENDING = ("cancel", "interrupt", "stop")
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
    reasoned: bool = False  # the store keeps the reason of this action, whatever the verb does elsewhere
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
        return self.irreversible or self.permission is Verb.DESTROY or is_ending(self.verb)


def _with_kinds(verb: str, note: str | Promise) -> str:
    """A note, with what the kinds add to it."""
    return " ".join((str(note), *notes_of_kinds(verb)))


_note = lazy(_with_kinds, str)

ACTIONS: dict[str, Action] = {
    action.verb: action._replace(note=_note(action.verb, action.note))
    for action in (
        Action(
            "retry",
            lambda ids, **how: control.retry(ids, **how),
            _("Retry"),
            "refresh",
            note=_("Runs the task again with the same arguments. A retry that has started cannot be undone."),
        ),
        Action(
            "rerun",
            lambda ids, **how: control.retry(ids, everything=True, **how),
            _("Run everything again"),
            "rotate-clockwise",
            asks_first=True,
            note=_("Runs all parts again, also those that succeeded."),
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
            note=_("Deleted tasks stay in the trash for 24 hours."),
        ),
        Action(
            "discard",
            lambda ids, **how: control.discard(ids, **how),
            _("Discard"),
            "flame",
            irreversible=True,
            note=_("Discarded tasks cannot be restored."),
        ),
    )
}

AGAIN = (_("Run again"), _("Runs the task again with the same arguments. It has already succeeded once."))
"""Label and note of a retry of a plain task that has succeeded."""

REASONED = ("cancel", "interrupt")
"""Verbs whose reason is stored in the store too."""

SENTENCES: dict[str, str | Promise] = {
    "rerun": _("Run %(what)s again with all parts"),
    "run_now": _("Run %(what)s now"),
    "interrupt": _("Cancel and interrupt %(what)s"),
    "priority": _("Set the priority of %(what)s"),
    "keep": _("Keep %(what)s longer"),
    "pause_pool": _("Pause all lanes of %(what)s"),
    "empty_trash": _("Empty the trash of %(what)s"),
}
"""Words of the button that confirms, of verbs whose label cannot stand before what they act on."""

STAYING = ("priority", "move", "keep")
"""Verbs that leave a task in its state."""
AFTERWARDS: dict[str, str | Promise] = {
    "delete": _("In the trash for 24 hours."),
    "discard": _("Cannot be restored."),
    "pause": _("Workers claim no more tasks from this lane. Running tasks continue."),
    "resume": _("Workers claim tasks from this lane again."),
    "empty_trash": _("Its tasks cannot be restored."),
    "pause_name": _("No task of this name starts in %(pools)s. Running tasks continue."),
    "resume_name": _("Its tasks return to their places in their lanes."),
    "set_lane": _("The limits apply from the next claim."),
    "pause_pool": _("Workers claim nothing from the lanes of this pool. Running tasks continue."),
    "resume_pool": _("Workers claim tasks from all lanes of this pool again."),
    "quiet": _("The worker finishes its running tasks and claims no new tasks."),
    "stop_operation": _("What it has changed stays changed."),
    "stop": _("The worker ends within its grace time."),
    "stacks": _("The page of the worker shows them when it has answered."),
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
    "pause_name": _("Pause the name"),
    "resume_name": _("Resume the name"),
    "fsck": _("Repair the findings of the check"),
    "flush": _("Flush the pool"),
    "empty_trash": _("Empty the trash"),
    "quiet": _("Quiet"),
    "stop": _("Stop"),
    "stacks": _("Ask for stacks"),
    "undo": _("Undo"),
    "go_on": _("Continue an action"),
    "steer_operation": _("Pause, resume or stop a bulk action"),
    "pause_operation": _("Pause a bulk action"),
    "resume_operation": _("Resume a bulk action"),
    "stop_operation": _("Stop a bulk action"),
}
"""Verbs that are not about tasks, or that have a form of their own."""

reserve("verb", (*ACTIONS, *OTHER_LABELS))

BULK = ("retry", "reinstate", "run_now", "requeue", "postpone", "move", "cancel", "delete", "discard")
"""The actions of the bulk bar, in order."""


def sentence(action: Action, what: str) -> str:
    """The words of the button that confirms: the verb, and what it acts on with its number."""
    own = verb_of_kind(action.verb)
    if phrase := action.phrase or SENTENCES.get(action.verb) or (own.phrase if own is not None else ""):
        return str(phrase) % {"what": what}
    return _("%(verb)s %(what)s") % {"verb": action.label, "what": what}


def label(verb: str) -> str:
    """The label of a verb, also of an undo; an unknown verb is its own label."""
    if verb.startswith(UNDO):
        return _("Undo: %(verb)s") % {"verb": label(verb.removeprefix(UNDO))}
    if verb in ACTIONS:
        return str(ACTIONS[verb].label)
    own = verb_of_kind(verb)
    return str(own.label if own is not None else OTHER_LABELS.get(verb, verb))


def verbs() -> list[str]:
    """All verbs of the audit log, but for those of undo."""
    return [*ACTIONS, *OTHER_LABELS, *verbs_of_kinds()]


def is_ending(verb: str) -> bool:
    """Whether a verb ends work, or leaves a part of it out."""
    own = verb_of_kind(verb)
    return verb in ENDING or (own is not None and own.ends)


def is_reasoned(action: Action) -> bool:
    """Whether the store keeps the reason of an action too."""
    own = verb_of_kind(action.verb)
    return action.reasoned or action.verb in REASONED or (own is not None and own.reasoned)


def afterwards(verb: str) -> str:
    """The lasting effect of a verb; empty if the states of the tasks show it."""
    own = verb_of_kind(verb)
    return str(own.afterwards if own is not None else AFTERWARDS.get(verb, ""))


def offered(state: str, may: frozenset[str], kind: str = "") -> list[Action]:
    """The actions for selected rows: those that state and kind (any, if none is chosen) and the user may do."""
    ended = [table().actions.get(each, ()) for each in TERMINAL] if state == FINISHED else []
    permitted = set(ended[0]).intersection(*ended) if ended else table().actions.get(state, ()) if state else BULK
    found = set(permitted).difference(refused_verbs(kind, {"s": state}))
    return [ACTIONS[verb] for verb in BULK if verb in found and ACTIONS[verb].permission in may]


def allowed(task: TaskDetail, may: frozenset[str]) -> list[Action]:
    """The actions that a task's kind and state, and the user's permissions, allow."""
    own = actions_of_kind(task.kind)
    found = [own.get(verb) or action for verb, action in actions_on(task).items()]
    return [action for action in found if action.permission in may]


def actions_on(task: TaskFacts) -> dict[str, Action]:
    """The standard actions that the kind and the state of a task allow, by verb, in the order of display.

    They have the label and note for this task: a retry of an ended task says what it runs.
    """
    found = set(task.allowed)
    if "cancel" in found and task.state in table().under_way:
        found.add("interrupt")
    actions = {verb: ACTIONS[verb] for verb in ACTIONS if verb in found}
    if "retry" in actions and task.state == State.SUCCEEDED:
        actions["retry"] = ACTIONS["retry"]._replace(label=AGAIN[0], note=AGAIN[1])
    actions = offered_by_kind(task, actions)
    return {verb: actions[verb] for verb in ACTIONS if verb in actions}
