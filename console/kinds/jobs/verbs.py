"""Verbs of callbacks, files, tokens, aggregations and maintenance."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from console.ui.kind_pages import VerbWords

VERBS: dict[str, VerbWords] = {
    "create_token": VerbWords(label=_("Create an API token")),
    "revoke_token": VerbWords(label=_("Revoke an API token"), phrase=_("Revoke %(what)s")),
    "start_maintenance": VerbWords(
        label=_("Start maintenance"),
        phrase=_("Start the maintenance"),
        afterwards=_("The health check of the API answers 503."),
        reasoned=True,
    ),
    "stop_maintenance": VerbWords(label=_("End the maintenance"), phrase=_("End the maintenance")),
    "redirect_callbacks": VerbWords(label=_("Redirect callbacks"), phrase=_("Redirect %(what)s")),
    "send_test_callback": VerbWords(label=_("Send a test callback")),
    "submit_jobs": VerbWords(label=_("Submit jobs")),
    "delete_file": VerbWords(label=_("Delete a file"), phrase=_("Delete %(what)s now")),
    "keep_file": VerbWords(label=_("Keep a file")),
    "drain_aggregation": VerbWords(label=_("Drain an aggregation"), phrase=_("Drain %(what)s")),
    "accept_jobs": VerbWords(label=_("Accept jobs again")),
    "set_proxy": VerbWords(label=_("Set the proxy of an aggregation"), phrase=_("Set the proxy of %(what)s")),
    "delete_aggregation": VerbWords(label=_("Delete an aggregation"), phrase=_("Delete %(what)s")),
    "close_circuit": VerbWords(label=_("Send to a host again"), phrase=_("Send to %(what)s again now")),
}
NOTES = {
    "delete": _("A job that is deleted sends no callback."),
    "discard": _("A job that is discarded sends no callback."),
}
