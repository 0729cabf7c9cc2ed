"""Forms of chunks: new data of one, or of many."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.ui.forms import JsonField


class ChunkForm(forms.Form):
    """A chunk's data: any JSON."""

    use_required_attribute = False
    data = JsonField(_("Data"))  # type: ignore[assignment]  # becomes a field of the form


class ChunksForm(forms.Form):
    """New data for many chunks: fields to set in their data, or a JSON value that replaces it."""

    FIELDS, WHOLE = "fields", "data"
    use_required_attribute = False
    change = forms.ChoiceField(
        label=_("Change"), choices=((FIELDS, _("Set these fields")), (WHOLE, _("Replace all data")))
    )
    value = JsonField(_("JSON"))

    def clean(self) -> dict[str, Any]:
        """To set fields, the JSON value must be an object with at least one field."""
        found = super().clean() or self.cleaned_data
        if found.get("change") == self.FIELDS and "value" in found:
            if not isinstance(found["value"], dict):
                self.add_error("value", _('Write a JSON object, such as {"host": "b"}.'))
            elif not found["value"]:
                self.add_error("value", _("Enter at least one field."))
        return found

    @property
    def changed(self) -> dict[str, Any]:
        """The values for `preview_edit`, once the form is valid."""
        return {self.cleaned_data["change"]: self.cleaned_data["value"]}
