"""API tokens: the clients of the HTTP API, with their scopes and limits. A token is shown once, when it is made."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext_lazy as _

from console.access.permissions import Verb
from console.actions.catalog import Action
from console.actions.perform import answer, do
from console.actions.selection import Thing
from console.models import Outcome
from console.ui.render import Frame, page
from queueops import control, inspect
from queueops.control import NewApiToken
from queueops.errors.job_api import ApiAppMissing
from queueops.model.explained import explained

PUSH = "push"
SCOPES = (
    ("submit", _("submit: submit jobs")),
    ("read", _("read: see jobs and aggregations")),
    ("manage", _("manage: cancel and retry jobs, change aggregations")),
)
OF_TASKS = (
    (Verb.VIEW, _("view: see tasks, lanes, workers, errors, schedules and runs")),
    (Verb.SEE_ARGUMENTS, _("see_arguments: see arguments, results and messages of tasks")),
    (PUSH, _("push: push tasks by their name")),
    (Verb.OPERATE, _("operate: retry, run, postpone and cancel tasks")),
    (Verb.DESTROY, _("destroy: delete and discard tasks")),
    (Verb.CONFIGURE, _("configure: pause lanes, names and schedules, and quiet workers")),
)
"""The scopes of the API of tasks. Each has the name of a permission, and only users who have it may give it."""
REVOKE = Action(
    "revoke_token",
    lambda pool, name, who: control.revoke_api_token(name, who=who),
    _("Revoke"),
    "ban",
    asks_first=True,
    note=_("The client is refused within five seconds. A revoked token cannot be used again."),
    url="api-token-revoke",
)


class TokenForm(forms.Form):
    """A new token: its client, its scopes and its limits."""

    use_required_attribute = False
    name = forms.CharField(label=_("Client"), max_length=100)
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"), choices=SCOPES, widget=forms.CheckboxSelectMultiple, initial=["submit", "read"]
    )
    rate = forms.FloatField(label=_("Requests per second"), min_value=0.001, max_value=100_000, required=False)
    body_limit = forms.IntegerField(label=_("Most bytes of a request"), min_value=1, required=False)

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.POST or None)
        may = Frame(request).may
        self.fields["scopes"].choices = [*SCOPES, *(each for each in OF_TASKS if each[0] in may)]  # type: ignore[attr-defined]


def index(request: HttpRequest) -> HttpResponse:
    """All tokens, and the form of a new one."""
    return _page(request, TokenForm(request))


def create(request: HttpRequest) -> HttpResponse:
    """Make a token, and show it: it is stored nowhere."""
    form, made = TokenForm(request), None
    if not form.is_valid():
        return _page(request, form, status=422)
    values = form.cleaned_data
    limits = {name: values[name] for name in ("rate", "body_limit")}

    def call(_pool: str, name: str, who: str) -> None:
        nonlocal made
        made = control.create_api_token(name, values["scopes"], **limits, who=who)

    new = Thing.named("", values["name"], {}, {"scopes": values["scopes"]} | limits)
    entry = do(request, Action("create_token", call), new, {})
    if entry.outcome == Outcome.FAILED:
        form.add_error(None, entry.detail)
        return _page(request, form, status=422)
    request.POST = QueryDict()  # the next token begins with an empty form
    return _page(request, TokenForm(request), made=made)


def revoke(request: HttpRequest, number: int) -> HttpResponse:
    """Revoke a token, after a question."""
    found = next((token for token in inspect.api_tokens() if token.id == number and not token.revoked_ms), None)
    if found is None:
        raise Http404
    was = {"scopes": list(found.scopes), "rate": found.rate, "body_limit": found.body_limit}
    return answer(request, REVOKE, Thing.named("", found.name, was, was | {"revoked": True}), "api-tokens")


def _page(request: HttpRequest, form: TokenForm, *, made: NewApiToken | None = None, status: int = 200) -> HttpResponse:
    fault: str = ""
    tokens: list[Any] = []
    try:
        tokens = sorted(inspect.api_tokens(), key=lambda token: bool(token.revoked_ms))
    except ApiAppMissing as error:
        fault = explained(error)
    context = {"tokens": tokens, "form": form, "made": made, "fault": fault}
    return page(request, "jobs/tokens.html", context, status=status)
