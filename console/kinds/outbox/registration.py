"""Registration of the outbox in the console: its page, if the project has the app, and the actions on its rows."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from console.access.permissions import Verb
from console.kinds.outbox import pages
from console.kinds.outbox.actions import ACTIONS, rows_in_words
from console.ui.kind_pages import KindPages, Route, VerbWords
from queueops import inspect

PERMISSIONS = {"retry": Verb.OPERATE, "drop": Verb.DESTROY}

PAGES = KindPages(
    routes=(
        Route(pattern="outbox/", view=pages.index, name="outbox", permission=Verb.VIEW, of_project=True),
        Route(pattern="outbox/_rows", view=pages.rows, name="outbox-rows", permission=Verb.VIEW, of_project=True),
        *(
            Route(
                pattern=f"outbox/_{verb}",
                view=pages.act,
                name=f"outbox-{verb}",
                permission=PERMISSIONS[verb],
                given={"verb": verb},
                verb=action.verb,
                of_project=True,
            )
            for verb, action in ACTIONS.items()
        ),
    ),
    navigation=(("outbox", "u", "database", _("Outbox")),),
    group="fleet",
    in_use=inspect.outbox_in_use,
    verbs={
        "retry_outbox": VerbWords(
            label=_("Try rows of the outbox again"), phrase=_("Try %(what)s again"), counted=rows_in_words
        ),
        "drop_outbox": VerbWords(
            label=_("Delete rows of the outbox"), phrase=_("Delete %(what)s"), counted=rows_in_words
        ),
    },
)
