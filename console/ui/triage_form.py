"""Triage form: what operators note about an error."""

from __future__ import annotations

import time
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.utils.translation import gettext_lazy as _

from console.ui.error_groups import ErrorGroup

KEEP = "keep"
MUTES = (
    ("", _("not muted")),
    ("3600", _("1 hour")),
    ("86400", _("1 day")),
    ("604800", _("1 week")),
    ("2592000", _("30 days")),
)


class TriageForm(forms.Form):
    """How long it is muted, who works on it, and a note."""

    use_required_attribute = False
    mute = forms.ChoiceField(label=_("Mute for"), required=False)
    assignee = forms.CharField(label=_("Assigned to"), max_length=150, required=False)
    note = forms.CharField(label=_("Note"), max_length=500, required=False)

    def __init__(self, group: ErrorGroup, sent: Any = None) -> None:
        """`sent` is what the user sent, if anything."""
        initial = {"mute": KEEP if group.muted_until_ms else "", "assignee": group.assignee, "note": group.note}
        super().__init__(sent, initial=initial)
        kept = [(KEEP, _("as it is"))] if group.muted_until_ms else []
        self.fields["mute"].choices = [*kept, *MUTES]  # type: ignore[attr-defined]  # it is a field with choices
        self.fields["mute"].widget.attrs["class"] = "form-select"

    def clean_assignee(self) -> str:
        """The name of a user, or nothing."""
        name: str = self.cleaned_data["assignee"].strip()
        users = get_user_model()
        if name and not users.objects.filter(**{users.USERNAME_FIELD: name}, is_active=True).exists():
            raise forms.ValidationError(_("There is no active user with this name."))
        return name

    def values(self, group: ErrorGroup) -> dict[str, Any]:
        """The values that are stored."""
        mute = self.cleaned_data["mute"]
        until = round((time.time() + int(mute)) * 1000) if mute not in ("", KEEP) else None
        changed = {} if mute == KEEP or until == group.muted_until_ms else {"muted_until_ms": until}
        return {name: self.cleaned_data[name] for name in ("assignee", "note")} | changed
