"""Registration of pool messages in the console: the page of the messages between pools, and the actions on them."""

from __future__ import annotations

from django.template import Library
from django.utils.translation import gettext_lazy as _

from console.access.permissions import Verb
from console.kinds.pool_messages import command_actions, command_pages
from console.kinds.pool_messages.command_appearance import says
from console.ui.exported import Exported
from console.ui.kind_pages import KindPages, Route, VerbWords
from queueops import inspect
from queueops.inspect.export import OF_A_PAGE, pages_of

PERMISSIONS = {"requeue": Verb.OPERATE, "drop": Verb.DESTROY}

register = Library()
register.filter("command_says", says)

PAGES = KindPages(
    routes=(
        Route(pattern="pool-messages/", view=command_pages.index, name="commands", permission=Verb.VIEW),
        Route(pattern="commands/", view=command_pages.index, name="commands-alias", permission=Verb.VIEW),
        Route(pattern="commands/_rows", view=command_pages.rows, name="commands-rows", permission=Verb.VIEW),
        *(
            Route(
                pattern=f"commands/_{verb}{suffix}",
                view=view,
                name=f"commands-{verb}{suffix.replace('_', '-')}",
                permission=PERMISSIONS[verb],
                given={"verb": verb},
                verb=action.verb,
            )
            for suffix, view in (("", command_pages.act), ("_dead", command_pages.act_on_dead))
            for verb, action in command_actions.ACTIONS.items()
        ),
    ),
    tags=register,
    exports={
        "commands": Exported(
            (
                *("id", "pool", "verb", "sender", "to", "target", "generation", "round", "tries"),
                *("created_ms", "at_ms", "size", "error"),
            ),
            lambda params: pages_of(
                lambda after: inspect.commands(params.get("place") or "due", after=after, limit=OF_A_PAGE)
            ),
        )
    },
    navigation=(("commands", "m", "route", _("Pool messages")),),
    group="fleet",
    verbs={
        "requeue_commands": VerbWords(label=_("Try pool messages again"), phrase=_("Try %(what)s again")),
        "drop_commands": VerbWords(label=_("Drop pool messages"), phrase=_("Drop %(what)s")),
    },
)
