"""Demo page: the rate of sample tasks, and the latest reports."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.audit.log import recorded
from console.ui.render import page
from queueops_demo.models import Digest, Pace, Report
from queueops_demo.rate import MAX_RATE

SHOWN = 10
MARKS = (0, 1, 4, 10, 25, 50, 100)


class PaceForm(forms.Form):
    """The slider: how many tasks a second."""

    rate = forms.FloatField(
        label=gettext_lazy("Tasks a second"),
        min_value=0,
        max_value=MAX_RATE,
        widget=forms.NumberInput(attrs={"type": "range", "class": "form-range", "list": "paces", "step": "1"}),
    )


def show(request: HttpRequest) -> HttpResponse:
    """The slider at the current rate."""
    return _page(request, PaceForm(initial={"rate": Pace.now()}))


def set_pace(request: HttpRequest) -> HttpResponse:
    """Set the rate of the feeder; 0 stops it."""
    form = PaceForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    rate = form.cleaned_data["rate"]
    with recorded(request, "pace", "demo", before={"rate": Pace.now()}, after={"rate": rate}):
        Pace.set(rate)
    messages.success(request, _("Sample work now comes at %(rate)g tasks a second.") % {"rate": rate})
    return redirect("demo:demo")


def report(request: HttpRequest, pk: int) -> HttpResponse:
    """One nightly report."""
    return page(request, "demo/report.html", {"report": get_object_or_404(Report, pk=pk)})


def _page(request: HttpRequest, form: PaceForm, status: int = 200) -> HttpResponse:
    reports, digests = Report.objects.order_by("-pk")[:SHOWN], Digest.objects.order_by("-first")[:SHOWN]
    context = {"form": form, "rate": Pace.now(), "marks": MARKS, "reports": reports, "digests": digests}
    return page(request, "demo/pace.html", context, status=status)
