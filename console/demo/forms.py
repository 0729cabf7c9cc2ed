"""The slider."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from console.demo.rate import MAX_RATE


class PaceForm(forms.Form):
    """How many tasks a second."""

    rate = forms.FloatField(
        label=_("Tasks a second"),
        min_value=0,
        max_value=MAX_RATE,
        widget=forms.NumberInput(attrs={"type": "range", "class": "form-range", "list": "paces", "step": "1"}),
    )
