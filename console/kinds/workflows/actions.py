"""Actions on runs: signal, cancel as an event, terminate, retry of the failed step, suspend, resume, reset."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.actions.catalog import Action
from console.actions.perform import answer
from console.actions.selection import Choice
from console.pages.task import find
from console.ui.forms import ActionForm, refuse_mask
from queueops import control

WIDE = "form-control"
"""The style of a field in the question of an action."""


class SignalForm(ActionForm):
    """The name of a signal, and its value as JSON."""

    name = forms.CharField(label=gettext_lazy("Signal"), max_length=100, widget=forms.TextInput({"class": WIDE}))
    value = forms.CharField(
        label=gettext_lazy("Value (JSON)"), max_length=20_000, required=False, widget=forms.TextInput({"class": WIDE})
    )

    def clean_value(self) -> Any:
        """The value. Empty text means null."""
        text = self.cleaned_data["value"].strip()
        refuse_mask(text)
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError):
            raise forms.ValidationError(_('Enter a value as JSON, such as true, 7 or "text".')) from None


class ResetForm(ActionForm):
    """An entry of the step that is made again, and why."""

    entry = forms.IntegerField(label=gettext_lazy("Entry of the history"), min_value=1, max_value=1_000_000)
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=500, required=False)


def _reset(ids: list[str], *, entry: int, reason: str, **how: Any) -> list[control.Row]:
    return [control.reset_run(id, entry, reason, **how) for id in ids]


ACTIONS: dict[str, Action] = {
    "signal": Action(
        "signal_runs",
        lambda ids, **how: control.signal_runs(ids, **how),
        gettext_lazy("Send signal"),
        "player-play",
        SignalForm,
    ),
    "cancel": Action(
        "cancel_runs",
        lambda ids, **how: control.cancel_runs(ids, **how),
        gettext_lazy("Ask to cancel"),
        "x",
        note=gettext_lazy("The code gets a cancel, and may clean up. Terminate ends the run at once."),
    ),
    "terminate": Action(
        "cancel",
        lambda ids, reason="", **how: control.cancel(ids, reason=reason, **how),
        gettext_lazy("Terminate"),
        "ban",
        asks_first=True,
        note=gettext_lazy("Ends the run at once, with its activities, children and timers. Its code is not asked."),
        url="task-terminate-run",
        phrase=gettext_lazy("Terminate %(what)s"),
    ),
    "retry": Action(
        "retry",
        lambda ids, **how: control.retry_runs(ids, **how),
        gettext_lazy("Retry the failed step"),
        "refresh",
        asks_first=True,
        note=gettext_lazy(
            "Makes the last step again. Activities and children that failed in it run again, and what it had given up"
            " begins again."
        ),
        url="task-retry-step",
        phrase=gettext_lazy("Retry the failed step of %(what)s"),
        reasoned=True,
    ),
    "suspend": Action(
        "suspend_runs",
        lambda ids, **how: control.suspend_runs(ids, **how),
        gettext_lazy("Suspend"),
        "player-pause",
        note=gettext_lazy("Makes no further step. Events wait in the inbox."),
    ),
    "resume": Action(
        "resume_runs",
        lambda ids, **how: control.resume_runs(ids, **how),
        gettext_lazy("Resume"),
        "player-play",
        note=gettext_lazy("Goes on with the events of the inbox."),
    ),
    "reset": Action(
        "reset_runs",
        _reset,
        gettext_lazy("Reset"),
        "rotate-clockwise",
        ResetForm,
        asks_first=True,
        note=gettext_lazy(
            "Begins a new run with the history before this step, and makes the step again. Signals behind it come"
            " again, calls behind it are cancelled. A run that has not ended is cancelled."
        ),
    ),
}


def act(request: HttpRequest, id: str, verb: str) -> HttpResponse:
    """Perform an action on a run. A signal that is not valid is asked for again, with what is wrong."""
    return answer(request, ACTIONS[verb], Choice.of(find(request, id)))
