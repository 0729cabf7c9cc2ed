"""Action catalog: the verbs of `queueops.control.verbs` with icons and forms, and those that kinds add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from django.utils.functional import Promise, lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext

from console.access.permissions import TABLE, Verb
from console.ui import forms
from console.ui.kind_names import reserve
from console.ui.kind_pages import actions_of_kind, notes_of_kinds, offered_by_kind, verb_of_kind, verbs_of_kinds
from queueops.control.verbs import BULK, ON_TASKS, OTHERS, VERBS
from queueops.control.verbs import Verb as Known
from queueops.inspect import TaskDetail, TaskFacts
from queueops.model.allowed import refused_verbs
from queueops.model.states import State, states_of, table

Call = Callable[..., Any]


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

ICONS = {
    "retry": "refresh",
    "rerun": "rotate-clockwise",
    "reinstate": "arrow-back-up",
    "run_now": "player-play",
    "requeue": "arrow-back-up",
    "postpone": "calendar-time",
    "cancel": "ban",
    "interrupt": "power",
    "release": "door-exit",
    "priority": "arrows-sort",
    "move": "arrows-right",
    "keep": "pin",
    "delete": "trash",
    "discard": "flame",
}
FORMS: dict[str, type[forms.ActionForm]] = {
    "postpone": forms.PostponeForm,
    "priority": forms.PriorityForm,
    "move": forms.MoveForm,
    "keep": forms.KeepForm,
}
ACTIONS: dict[str, Action] = {
    verb.name: Action(
        verb.name,
        verb.act,
        verb.label,
        ICONS[verb.name],
        FORMS.get(verb.name, forms.ActionForm),
        irreversible=verb.final,
        asks_first=verb.asks_first,
        note=_note(verb.name, verb.note),
    )
    for verb in ON_TASKS.values()
    if verb.label
}

AGAIN = (
    _("Run again"),
    _("Runs the task again with the same arguments. It has already succeeded once."),
    _("Run %(what)s again"),
)
"""Label, note and button of a retry of a plain task that has succeeded."""

UNDO = "undo "

reserve("verb", (*ACTIONS, *OTHERS))


def sentence(action: Action, what: str) -> str:
    """The words of the button that confirms: the verb, and what it acts on with its number.

    A standard action with another label does not take the words of its verb.
    """
    own, usual = verb_of_kind(action.verb), ACTIONS.get(action.verb)
    known = "" if usual is not None and action.label != usual.label else _known(action.verb).sentence
    if phrase := action.phrase or known or (own.phrase if own is not None else ""):
        return str(phrase) % {"what": what}
    return _("%(verb)s %(what)s") % {"verb": action.label, "what": what}


def on_all(action: Action) -> str:
    """The words of a button that acts on all tasks of a list."""
    return sentence(action, pgettext("what an action acts on", "all"))


def label(verb: str) -> str:
    """The label of a verb, also of an undo; an unknown verb is its own label."""
    if verb.startswith(UNDO):
        return _("Undo: %(verb)s") % {"verb": label(verb.removeprefix(UNDO))}
    own = verb_of_kind(verb)
    return str(_known(verb).label or (own.label if own is not None else verb))


def verbs() -> list[str]:
    """All verbs of the audit log, but for those of undo."""
    return [*ACTIONS, *OTHERS, *verbs_of_kinds()]


def is_ending(verb: str) -> bool:
    """Whether a verb ends work, or leaves a part of it out."""
    own = verb_of_kind(verb)
    return _known(verb).ends or (own is not None and own.ends)


def is_reasoned(action: Action) -> bool:
    """Whether the store keeps the reason of an action too."""
    own = verb_of_kind(action.verb)
    return action.reasoned or _known(action.verb).reasoned or (own is not None and own.reasoned)


def afterwards(verb: str) -> str:
    """The lasting effect of a verb; empty if the states of the tasks show it."""
    own = verb_of_kind(verb)
    return str(own.afterwards if own is not None else _known(verb).afterwards)


def stays(verb: str) -> bool:
    """Whether a verb leaves a task in its state."""
    return _known(verb).stays


def _known(verb: str) -> Known:
    return VERBS.get(verb, Known(verb))


def offered(state: str, may: frozenset[str], kind: str = "") -> list[Action]:
    """The actions for selected rows: those that each state and kind (any, if none is chosen) and the user may do."""
    chosen = states_of(state) if state else ()
    permitted = set(BULK).intersection(*(table().actions.get(each, ()) for each in chosen))
    found = permitted.difference(*(refused_verbs(kind, {"s": each}) for each in chosen or ("",)))
    can_interrupt = "cancel" in found and (not chosen or any(each in table().under_way for each in chosen))
    found = found | {"interrupt"} if can_interrupt else found - {"interrupt"}
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
        actions["retry"] = ACTIONS["retry"]._replace(label=AGAIN[0], note=AGAIN[1], phrase=AGAIN[2])
    actions = offered_by_kind(task, actions)
    return {verb: actions[verb] for verb in ACTIONS if verb in actions}
