"""Forms of the console: inputs of actions, the filter of the audit log, limits of lanes."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from queueops.model.ids import NAME, NAME_LENGTH
from queueops.model.redact import mask_in

DELAYS = (
    (60, _("1 minute")),
    (300, _("5 minutes")),
    (3600, _("1 hour")),
    (6 * 3600, _("6 hours")),
    (86400, _("1 day")),
    (7 * 86400, _("1 week")),
)
LONGEST = timedelta(days=366)


class ActionForm(forms.Form):
    """An action that needs no input besides the selected tasks."""

    use_required_attribute = False

    @property
    def values(self) -> dict[str, Any]:
        """The action's values, once the form is valid."""
        return self.cleaned_data


class PostponeForm(ActionForm):
    """When to start: after a delay, or at a time in the user's zone."""

    delay = forms.TypedChoiceField(label=_("For"), choices=DELAYS, coerce=int, required=False, empty_value=None)
    until = forms.DateTimeField(
        label=_("or until"), required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )

    def clean_until(self) -> datetime | None:
        """The time in the user's zone: without USE_TZ Django leaves it naive."""
        until: datetime | None = self.cleaned_data.get("until")
        return until and (timezone.make_aware(until) if timezone.is_naive(until) else until)

    def clean(self) -> dict[str, Any]:
        """Require either a delay or a time in the future."""
        values = super().clean() or {}
        until = values.get("until")
        if until is None and not values.get("delay"):
            raise forms.ValidationError(_("Enter a duration or a time."))
        if until is not None and not datetime.now(UTC) < until < datetime.now(UTC) + LONGEST:
            raise forms.ValidationError(_("Enter a time in the future, at most one year ahead."))
        return values

    @property
    def values(self) -> dict[str, Any]:
        """The delay in seconds."""
        until = self.cleaned_data.get("until")
        ahead = (until - datetime.now(UTC)).total_seconds() if until else float(self.cleaned_data["delay"])
        return {"seconds": max(ahead, 0.0)}


class PriorityForm(ActionForm):
    """A task's priority; a higher priority goes first."""

    priority = forms.IntegerField(label=_("Priority"), min_value=-100, max_value=100)


class MoveForm(ActionForm):
    """Another lane of the same pool."""

    lane = forms.RegexField(rf"^{NAME.pattern}\Z", label=_("Lane"), max_length=NAME_LENGTH)


class KeepForm(ActionForm):
    """How long an ended task is kept."""

    days = forms.IntegerField(label=_("Days"), min_value=1, max_value=366)

    @property
    def values(self) -> dict[str, Any]:
        """The time in seconds."""
        return {"seconds": self.cleaned_data["days"] * 86400}


def refuse_mask(text: str) -> None:
    """Raise ValidationError for a text with a mask: it was shown, and its secrets must be typed anew."""
    if mask := mask_in(text):
        raise forms.ValidationError(_("Replace each %(mask)s with its value.") % {"mask": mask})


class JsonField(forms.CharField):
    """A JSON value of a kind; hidden values must be typed anew, so that the masked text is never sent back."""

    def __init__(self, label: Any, kind: type = object, advice: Any = "") -> None:
        """`advice` is the error for a value of another kind."""
        super().__init__(label=label, max_length=1_000_000)
        self.kind, self.advice = kind, advice

    def clean(self, value: Any) -> Any:
        """Parse the text."""
        text = super().clean(value)
        refuse_mask(text)
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise forms.ValidationError(_("This is not JSON: %(error)s") % {"error": error}) from error
        if not isinstance(found, self.kind):
            raise forms.ValidationError(self.advice)
        return found


class EditForm(forms.Form):
    """A task's arguments as JSON."""

    use_required_attribute = False
    args = JsonField(_("Positional arguments"), list, _('Write a JSON list, such as [42, "a"].'))
    kwargs = JsonField(_("Named arguments"), dict, _('Write a JSON object, such as {"key": 1}.'))

    def refuse(self, reason: str, *, by_state: bool) -> None:
        """Show the engine's refusal at the field that it is about, or above both."""
        named = set(self.cleaned_data["kwargs"]) & set(re.findall(r"\w+", reason))
        self.add_error(None if by_state else "kwargs" if named else "args", reason)


class LaneForm(forms.Form):
    """A lane's limit of parallel tasks (empty: no limit), of starts a second, and its weight."""

    use_required_attribute = False
    limit = forms.IntegerField(label=_("Limit"), min_value=1, max_value=1_000_000, required=False)
    rate = forms.FloatField(label=_("Starts per second"), min_value=0.001, max_value=100_000, required=False)
    weight = forms.IntegerField(label=_("Weight"), min_value=1, max_value=1000)
