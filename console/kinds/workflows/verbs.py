"""Verbs of runs."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from console.ui.kind_pages import VerbWords

VERBS: dict[str, VerbWords] = {
    "signal_runs": VerbWords(label=_("Send a signal to runs"), phrase=_("Send the signal to %(what)s")),
    "cancel_runs": VerbWords(label=_("Ask runs to cancel")),
    "terminate-run": VerbWords(label=_("Terminate runs")),  # of denied actions, as the next one
    "retry-step": VerbWords(label=_("Retry the failed steps of runs")),
    "suspend_runs": VerbWords(label=_("Suspend runs")),
    "resume_runs": VerbWords(label=_("Resume runs")),
    "reset_runs": VerbWords(label=_("Reset runs"), phrase=_("Reset %(what)s"), ends=True),
    "start_run": VerbWords(label=_("Start a run")),
}
