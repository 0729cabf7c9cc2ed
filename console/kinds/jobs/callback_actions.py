"""Actions on callbacks beside those of all tasks: redirect, send a test, send to a host again that has failed."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from console.actions.catalog import Action
from console.actions.perform import answer, perform
from console.actions.selection import Choice, Thing
from console.http import redirects
from console.ui.forms import ActionForm
from console.ui.notices import notice
from queueops import conf, control, inspect


class AddressForm(ActionForm):
    """The address to which callbacks go."""

    url = forms.URLField(
        label=_("Address"), max_length=4000, assume_scheme="https", widget=forms.URLInput({"class": "form-control"})
    )


REDIRECT = Action(
    "redirect_callbacks",
    lambda ids, **how: control.redirect_callbacks(ids, **how),
    _("Redirect"),
    "arrows-right",
    AddressForm,
    asks_first=True,
    note=_(
        "Sends the callbacks to another address, with the same body and id. Those that have ended, or are in back-off,"
        " are sent now."
    ),
    url="callbacks-redirect",
)
TEST = Action(
    "send_test_callback",
    lambda pool, host, *, who, url: control.send_test_callback(url),
    _("Send a test"),
    "player-play",
    AddressForm,
    url="callbacks-test",
)
CLOSE = Action(
    "close_circuit",
    lambda pool, host, who: control.close_circuit(host, pool),
    _("Send again now"),
    "player-play",
    url="aggregation-close_circuit",
)


def redirect(request: HttpRequest) -> HttpResponse:
    """Send the ticked callbacks to another address, after a question."""
    choice = Choice.parse(request.POST.getlist("task"))
    if not len(choice):
        notice(request, messages.INFO, _("Select the callbacks that go to another address."))
    return answer(request, REDIRECT, choice, "callbacks")


def test(request: HttpRequest) -> HttpResponse:
    """Send a test callback to an address."""
    form = AddressForm(request.POST)
    if not form.is_valid():
        notice(request, messages.ERROR, _("Enter an address such as https://example.com/done."))
        return redirects.back(request, "callbacks")
    address = form.cleaned_data["url"]
    thing = Thing.named("", str(_("the test callback")), {}, {"url": conf.redactor().text(address)})
    perform(request, TEST, thing, {"url": address})
    return redirects.back(request, "callbacks")


def close(request: HttpRequest, pool: str, lane: str) -> HttpResponse:
    """Send callbacks to a host again now, though it has failed."""
    was = inspect.job_lane(lane, pool)
    if was is None:
        raise Http404
    thing = Thing.named(pool, was.id, {"shut_ms": was.shut_ms}, {"shut_ms": None})
    return answer(request, CLOSE, thing, "callbacks")
