"""Schedule form: the task, the times, and the policies for missed ticks and overlapping runs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.ui import json_text
from console.ui.forms import EditForm
from console.ui.preferences import zones
from queueops import control
from queueops.errors import (
    BadId,
    BadSchedule,
    BadZone,
    QueueOpsError,
    ScheduleInUse,
    UnknownTask,
)
from queueops.inspect import ScheduleDetail
from queueops.model.explained import explained
from queueops.schedules.schedule import Schedule

CATCH_UP = (
    ("once", _("one run for all missed ticks")),
    ("skip", _("no run")),
    ("all:5", _("one run each, for the last 5")),
    ("all:20", _("one run each, for the last 20")),
    ("all", _("one run each, for the last 100")),
)
OVERLAP = (("allow", _("run in parallel")), ("skip", _("skip the tick")), ("queue", _("run after it")))
BLAMED: tuple[tuple[type[QueueOpsError], str], ...] = (
    (BadSchedule, "line"),
    (BadZone, "zone"),
    (UnknownTask, "task"),
    (BadId, "id"),
    (ScheduleInUse, "id"),
)
"""Which field an error of the engine belongs to; else it is that of the arguments."""


class ScheduleForm(EditForm):
    """A new schedule, or a new version of one; the engine's own checks run before it is saved."""

    id = forms.CharField(label=_("Name"), max_length=165, required=False)
    task = forms.CharField(label=_("Task"), max_length=200)
    line = forms.CharField(label=_("When"), max_length=100)
    zone = forms.ChoiceField(label=_("Time zone"))
    jitter = forms.FloatField(label=_("Random delay, up to"), min_value=0, max_value=86_400, initial=0)
    catch_up = forms.ChoiceField(label=_("For missed ticks"), choices=CATCH_UP)
    overlap = forms.ChoiceField(label=_("If the previous run has not ended"), choices=OVERLAP)
    field_order = ("task", "id", "line", "zone", "overlap", "catch_up", "jitter", "args", "kwargs")

    def __init__(self, *values: Any, edited: ScheduleDetail | None = None, **named: Any) -> None:
        """`edited` is the schedule that is changed; its name cannot be changed."""
        super().__init__(*values, **named)
        self.edited = edited
        known = list(zones())
        if edited is not None:
            del self.fields["id"]
            known = sorted({*known, edited.zone} - {""})
            self._keep_choice("catch_up", edited.catch_up)
        self._choices("zone", [(zone, zone) for zone in known])
        for name in ("zone", "catch_up", "overlap"):
            self.fields[name].widget.attrs["class"] = "form-select"

    def clean(self) -> dict[str, Any]:
        """Run the engine's own checks; an error appears at its field."""
        values = super().clean() or {}
        if self.errors:
            return values
        try:
            schedule = self.schedule()
            if self.edited is None:
                control.check_schedule(values["task"], schedule, id=values["id"])
            else:
                control.check_schedule(values["task"], schedule, id=self.edited.id, changed=True, pool=self.edited.pool)
        except QueueOpsError as error:
            self.add_error(next((name for kind, name in BLAMED if isinstance(error, kind)), "args"), explained(error))
        return values

    def schedule(self) -> Schedule:
        """The schedule of the form. Raises BadSchedule, BadZone and BadOption."""
        values = self.cleaned_data
        names = ("line", "zone", "jitter", "catch_up", "overlap", "args", "kwargs")
        return Schedule(**{name: values[name] for name in names})

    def _keep_choice(self, name: str, value: str) -> None:
        if value and value not in dict(CATCH_UP):
            self._choices(name, [*CATCH_UP, (value, value)])

    def _choices(self, name: str, choices: Any) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]  # they are fields with choices


def as_sent(schedule: ScheduleDetail) -> dict[str, Any]:
    """A schedule as the form's initial values."""
    args, kwargs = json_text.split(schedule.args_json)
    names = ("task", "line", "zone", "catch_up", "overlap")
    jitter = schedule.jitter_ms / 1000
    return {name: getattr(schedule, name) for name in names} | {
        "jitter": int(jitter) if jitter == int(jitter) else jitter,
        "args": args,
        "kwargs": kwargs,
    }
