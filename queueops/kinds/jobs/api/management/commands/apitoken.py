"""`manage.py apitoken create | list | revoke`: the tokens of the clients of the HTTP API."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError

from queueops.errors import QueueOpsError
from queueops.kinds.jobs.api_tokens import ApiToken, Scope, api_tokens, create_api_token, revoke_api_token
from queueops.management.queue.audit import recorded


class Command(BaseCommand):
    """Makes, lists and revokes tokens. A token is printed once, when it is made."""

    help = "The tokens of the clients of the HTTP API of jobs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One action, and the options of a new token."""
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a token, and print it once")
        create.add_argument("name", help="the client")
        create.add_argument("--scope", dest="scopes", action="append", choices=list(Scope), help="repeat it for more")
        create.add_argument("--rate", type=float, metavar="N", help="requests a second; default: no limit")
        create.add_argument("--body-limit", type=int, metavar="BYTES", help="default: that of the settings")
        revoke = actions.add_parser("revoke", help="revoke the valid token of a client")
        revoke.add_argument("name", help="the client")
        listed = actions.add_parser("list", help="all tokens, also revoked ones")
        listed.add_argument("--json", action="store_true", help="print one JSON list")

    def handle(self, *, action: str, **options: Any) -> None:
        """Perform the action, with an entry in the audit log for a change."""
        try:
            getattr(self, f"_{action}")(options)
        except QueueOpsError as error:
            raise CommandError(str(error)) from error

    def _create(self, options: dict[str, Any]) -> None:
        name, limits = options["name"], {key: options[key] for key in ("rate", "body_limit")}
        scopes = options["scopes"] or [Scope.SUBMIT, Scope.READ]
        with recorded(verb="create_token", target=name, after={"scopes": scopes} | limits) as act:
            made = create_api_token(name, scopes, **limits, who=act.who)
            act.changed = 1
        self.stderr.write("The token is not stored and cannot be shown again:")
        self.stdout.write(made.secret)

    def _revoke(self, options: dict[str, Any]) -> None:
        with recorded(verb="revoke_token", target=options["name"]) as act:
            revoke_api_token(options["name"], who=act.who)
            act.changed = 1
        self.stdout.write(f"Revoked the token of {options['name']}.")

    def _list(self, options: dict[str, Any]) -> None:
        found = api_tokens()
        if options["json"]:
            self.stdout.write(json.dumps(msgspec.to_builtins(found)))
            return
        for token in found:
            self.stdout.write(_line(token))


def _line(token: ApiToken) -> str:
    rate = "any rate" if token.rate is None else f"{token.rate:g}/s"
    state = f"revoked by {token.revoked_by}" if token.revoked_ms else "valid"
    return f"{token.name}  {','.join(token.scopes)}  {rate}  made by {token.created_by}  {state}"
