"""Verbs of operators: each stands here once, for the pages of the console and for `manage.py queue`.

A verb on tasks names its function in `queueops.control`. Icons and forms are the console's, options the terminal's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from queueops import control
from queueops.model.contracts import Row
from queueops.model.states import TIMED, State

Words = str | Promise
Back = tuple[str, dict[str, Any]]
"""The verb that takes an action back for a task, and its arguments."""
Undo = Callable[[Mapping[str, Any]], Back | None]
"""Of the facts of a task before the action, and its state `now`; None: nothing takes it back."""

NOT_BEGUN = (State.PENDING, *TIMED)


class Verb(NamedTuple):
    """An action of an operator."""

    name: str  # in the audit log
    label: Words = ""  # empty: only a terminal has it
    about: str = ""  # in the help of `manage.py queue`; empty: no subcommand has its name
    note: Words = ""  # what it does
    afterwards: Words = ""  # its lasting effect, if the tasks' states do not show it
    sentence: Words = ""  # of the button that confirms, with %(what)s; empty: the label stands before what it acts on
    function: str = ""  # of queueops.control, if it has another name
    fixed: Mapping[str, Any] = {}  # arguments of the function that are always the same
    takes: Mapping[str, str] = {}  # arguments that an operator gives, and their options in a terminal
    undo: Undo | None = None
    destroys: bool = False  # it needs the permission to destroy, not that to operate
    final: bool = False  # nothing brings the task back
    asks_first: bool = False  # also for one task
    ends: bool = False  # it ends work, or leaves a part of it out
    reasoned: bool = False  # the store keeps its reason, too
    stays: bool = False  # it leaves a task in its state

    def act(self, ids: Any, **values: Any) -> list[Row]:
        """Perform the action on tasks."""
        rows: list[Row] = getattr(control, self.function or self.name)(ids, **self.fixed, **values)
        return rows

    def arguments(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the function, from the options of the subcommand."""
        return {name: options[option] for name, option in self.takes.items()}


def _uncancel(was: Mapping[str, Any]) -> Back | None:
    """Only for tasks that had not begun, or were in back-off: a running task was stopped.

    A part has counted as failed in its parent task; to run it alone would change nothing there.
    """
    not_begun = was.get("state") in NOT_BEGUN and was["now"] == State.CANCELLED and not was.get("parent")
    return ("reinstate", {}) if not_begun else None


def _unpostpone(was: Mapping[str, Any]) -> Back | None:
    if was.get("state") == State.PENDING:
        return "run_now", {}
    return _wait_again(was) if was.get("state") == State.POSTPONED else None


def _wait_again(was: Mapping[str, Any]) -> Back | None:
    due = was.get("due_ms")
    return ("postpone", {"until_ms": due}) if was.get("state") in TIMED and due else None


def _reprioritise(was: Mapping[str, Any]) -> Back | None:
    return None if was.get("priority") is None else ("priority", {"priority": was["priority"]})


def _move_back(was: Mapping[str, Any]) -> Back | None:
    return ("move", {"lane": was["lane"]}) if was.get("lane") else None


ON_TASKS: dict[str, Verb] = {verb.name: verb for verb in (
    Verb("retry", _("Retry"), "run ended tasks again (map-reduce tasks: where they ended); start tasks in back-off now",
         _("Runs the task again with the same arguments. A retry that has started cannot be undone."),
         sentence=_("Retry %(what)s"), takes={"everything": "everything"}),
    Verb("rerun", _("Run everything again"), note=_("Runs all parts again, also those that succeeded."),
         sentence=_("Run %(what)s again with all parts"), function="retry", fixed={"everything": True},
         asks_first=True),
    Verb("reinstate", _("Reinstate"), "bring cancelled tasks back to their lane, or to wait until they are due",
         _("Takes the cancel back. The task returns to its lane, or waits until it is due; its attempts stay"
           " counted. A task that was running runs again."), sentence=_("Reinstate %(what)s")),
    Verb("run_now", _("Run now"), "make waiting tasks ready at once",
         _("Makes the task ready now, before its due time."), sentence=_("Run %(what)s now"), undo=_wait_again),
    Verb("requeue", _("Requeue"), "give quarantined tasks another try",
         _("Makes the task ready again. The task returns to quarantine if the cause remains."),
         sentence=_("Requeue %(what)s")),
    Verb("postpone", _("Postpone"), "let tasks that have not begun wait",
         _("The task waits until that time. Then it becomes ready."), sentence=_("Postpone %(what)s"),
         takes={"seconds": "delay"}, undo=_unpostpone),
    Verb("cancel", _("Cancel"), "cancel tasks; running tasks are asked to stop",
         _("Cancels the task. A running task is asked to stop; its effects so far remain. Undo restores only"
           " tasks that had not started."),
         sentence=_("Cancel %(what)s"), takes={"reason": "reason", "hard": "hard"}, undo=_uncancel, ends=True,
         reasoned=True),
    Verb("interrupt", _("Cancel and interrupt"),
         note=_("Cancels the task, and interrupts it if it is running. If it still runs one second later, its"
                " worker process is killed. Other tasks of that process run again."),
         sentence=_("Cancel and interrupt %(what)s"), function="cancel", fixed={"hard": True}, asks_first=True,
         ends=True, reasoned=True),
    Verb("release", _("Release"), "take running tasks from their workers, and make them ready again",
         _("Takes the task from its worker and makes it ready again, without counting an attempt. Its code"
           " continues there, but the outcome is refused: the task may run twice."),
         sentence=_("Release %(what)s"), asks_first=True),
    Verb("priority", _("Priority"), "change the priority of tasks that have not begun",
         _("From -100 to 100. The task with the highest priority starts first in its lane."),
         sentence=_("Set the priority of %(what)s"), function="set_priority", takes={"priority": "to"},
         undo=_reprioritise, stays=True),
    Verb("move", _("Move"), "put tasks that have not begun into another lane of their pool",
         _("Moves the task to another lane of its pool. The limits of that lane apply."),
         sentence=_("Move %(what)s"), takes={"lane": "to"}, undo=_move_back, stays=True),
    Verb("keep", _("Keep longer"), "keep ended tasks for so many days from now",
         _("Keeps the task for that many days from now. Then it is deleted."),
         sentence=_("Keep %(what)s longer"), takes={"seconds": "days"}, stays=True),
    Verb("delete", _("Delete"), "move ended tasks to the trash, for 24 hours",
         _("Deleted tasks stay in the trash for 24 hours."), _("In the trash for 24 hours."),
         sentence=_("Delete %(what)s"), undo=lambda was: ("restore", {}), destroys=True),
    Verb("restore", about="bring tasks back from the trash"),
    Verb("discard", _("Discard"), "throw quarantined tasks away, for good",
         _("Discarded tasks cannot be restored."), _("Cannot be restored."), sentence=_("Discard %(what)s"),
         destroys=True, final=True),
)}  # fmt: skip
"""The verbs on tasks, in the order in which a page offers them."""

BULK = (
    *("retry", "reinstate", "run_now", "requeue", "postpone", "move"),
    *("cancel", "interrupt", "release", "delete", "discard"),
)
"""Those that a page offers for a list of tasks, in order."""

FREEING = frozenset({"interrupt", "release"})
"""Those that free slots of workers: no worker performs them, since these tasks may hold all slots."""

OTHERS: dict[str, Verb] = {verb.name: verb for verb in (
    Verb("push", _("Push")),
    Verb("edit", _("Edit"), "give a task other arguments; an ended task runs again with them"),
    Verb("pause", _("Pause"), "claim nothing from a lane any more, or no task of a name",
         afterwards=_("Workers claim no more tasks from this lane. Running tasks continue.")),
    Verb("resume", _("Resume"), "claim from a lane again, or the tasks of a name",
         afterwards=_("Workers claim tasks from this lane again.")),
    Verb("set_lane", _("Set the lane"),
         "limit how many tasks of a lane run at once or start in a second; set its weight beside others",
         afterwards=_("The limits apply from the next claim.")),
    Verb("pause_pool", _("Pause all lanes of a pool"), "pause each lane that a pool has now",
         afterwards=_("Workers claim nothing from the lanes of this pool. Running tasks continue."),
         sentence=_("Pause all lanes of %(what)s")),
    Verb("resume_pool", _("Resume all lanes of a pool"), "resume each paused lane of a pool",
         afterwards=_("Workers claim tasks from all lanes of this pool again.")),
    Verb("pause_name", _("Pause the name"),
         afterwards=_("No task of this name starts in %(pools)s. Running tasks continue.")),
    Verb("resume_name", _("Resume the name"), afterwards=_("Its tasks return to their places in their lanes.")),
    Verb("fsck", _("Repair the findings of the check")),
    Verb("reencrypt", _("Encrypt anew")),
    Verb("flush", _("Flush the pool"), "delete everything in a pool, or in the whole namespace, for good"),
    Verb("empty_trash", _("Empty the trash"), afterwards=_("Its tasks cannot be restored."),
         sentence=_("Empty the trash of %(what)s")),
    Verb("quiet", _("Quiet"), "let a worker process end what it runs, and take nothing new",
         afterwards=_("The worker finishes its running tasks and claims no new tasks."), sentence=_("Quiet %(what)s")),
    Verb("stop", _("Stop"), "end a worker process within its grace time",
         afterwards=_("The worker ends within its grace time."), sentence=_("Stop %(what)s"), ends=True),
    Verb("stacks", _("Ask for stacks"), "what each thread of a worker process runs now, also of a frozen one",
         afterwards=_("The page of the worker shows them when it has answered.")),
    Verb("resolve_error", _("Resolve the error"), afterwards=_("Its next failure reports it again.")),
    Verb("reopen_error", _("Reopen the error")),
    Verb("note_error", _("Note on the error")),
    Verb("acknowledge_alert", _("Acknowledge"), afterwards=_("It is not repeated. Its end is still sent.")),
    Verb("unacknowledge_alert", _("Unacknowledge"), afterwards=_("It is repeated again until it ends.")),
    Verb("silence_alert", _("Silence"), afterwards=_("Nothing is sent about it until then."),
         sentence=_("Silence %(what)s")),
    Verb("unsilence_alert", _("End the silence"), afterwards=_("Messages are sent again.")),
    Verb("test_alert", _("Send a test"), afterwards=_("The target has accepted it. See whether it arrives.")),
    Verb("undo", _("Undo")),
    Verb("export", _("Export")),
    Verb("save_view", _("Save a view")),
    Verb("rename_view", _("Rename a view")),
    Verb("delete_view", _("Delete a view")),
    Verb("go_on", _("Continue an action")),
    Verb("steer_operation", _("Pause, resume or stop a bulk action")),
    Verb("pause_operation", _("Pause a bulk action")),
    Verb("resume_operation", _("Resume a bulk action")),
    Verb("stop_operation", _("Stop a bulk action"), afterwards=_("What it has changed stays changed.")),
)}  # fmt: skip
"""The verbs that are not about tasks, or that have a form of their own."""

VERBS = ON_TASKS | OTHERS
