"""API tokens: makes, lists, revokes and recognises the tokens of the clients of the HTTP API.

The table of the app `queueops.kinds.jobs.api` has them. A project without that app has no tokens.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from time import monotonic
from typing import Any

import msgspec
from django.apps import apps
from django.db import IntegrityError, router, transaction
from django.db.models import Q
from django.utils import timezone

from queueops.conf.tables import MOST_RATE
from queueops.control.lanes import LEAST_RATE
from queueops.errors import BadOption
from queueops.errors.job_api import ApiAppMissing, UnknownApiToken

APP = "queueops.kinds.jobs.api"
PREFIX = "qo_"
"""A token begins with it, so that scanners of secrets can find one that was published."""
KEPT_S = 5.0
"""A process asks the database for a token again after so long. A revoked token ends after that at the latest."""
MOST_KEPT = 1000
USED_EVERY = timedelta(minutes=1)
"""The time of the last use is written at most so often."""
MOST_BODY = 100 * 1024**2
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.@-]{0,99}")


class Scope(StrEnum):
    """What a token of the API permits. Those after the first three are for the API of tasks: see `OF_JOBS`."""

    SUBMIT = "submit"
    READ = "read"
    MANAGE = "manage"
    VIEW = "view"
    SEE_ARGUMENTS = "see_arguments"
    PUSH = "push"
    OPERATE = "operate"
    DESTROY = "destroy"
    CONFIGURE = "configure"


OF_JOBS = (Scope.SUBMIT, Scope.READ, Scope.MANAGE)
"""The scopes of the API of jobs. The others have the names of the console's permissions."""


class ApiToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret: whose it is, what it permits, and its limits. Times are epoch milliseconds."""

    id: int
    name: str
    scopes: tuple[Scope, ...]
    rate: float | None = None  # requests a second; None: no limit
    body_limit: int | None = None  # bytes; None: that of the setting
    created_ms: int = 0
    created_by: str = ""
    used_ms: int | None = None
    revoked_ms: int | None = None
    revoked_by: str = ""


class NewApiToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token that was made just now. Its secret is stored nowhere."""

    secret: str
    token: ApiToken


def api_tokens() -> list[ApiToken]:
    """All tokens of the API by name, with revoked ones. Raises ApiAppMissing."""
    return [_token(row) for row in _table().objects.all()]


def create_api_token(
    name: str,
    scopes: Iterable[str],
    *,
    rate: float | None = None,
    body_limit: int | None = None,
    who: str = "",
) -> NewApiToken:
    """Make a token for a client. Raises BadOption, also for a name in use, and ApiAppMissing."""
    checked = _scopes(scopes)
    if not _is_name(name):
        raise BadOption(name="name", value=name, expected="1 to 100 letters, digits, spaces and . _ @ -")
    if rate is not None and not (_is_number(rate) and LEAST_RATE <= rate <= MOST_RATE):
        raise BadOption(name="rate", value=rate, expected=f"a number from {LEAST_RATE:g} to {MOST_RATE:,.0f}, or None")
    if body_limit is not None and not (type(body_limit) is int and 1 <= body_limit <= MOST_BODY):
        raise BadOption(name="body_limit", value=body_limit, expected=f"1 to {MOST_BODY:,} bytes, or None")
    secret = PREFIX + secrets.token_urlsafe(32)
    try:
        with _transaction():  # an error of the insert leaves the caller's transaction usable
            row = _table().objects.create(
                name=name,
                valid_name=name,
                digest=_digest(secret),
                scopes=[str(scope) for scope in checked],
                rate=rate,
                body_limit=body_limit,
                created_by=who[:150],
            )
    except IntegrityError:
        raise BadOption(name="name", value=name, expected="a name that no valid token has") from None
    return NewApiToken(secret=secret, token=_token(row))


def revoke_api_token(name: str, *, who: str = "") -> ApiToken:
    """Revoke the valid token of this name. Other processes refuse it within five seconds.

    Raises UnknownApiToken and ApiAppMissing.
    """
    with _transaction():
        row = _table().objects.select_for_update().filter(name=name, revoked_at=None).first()
        if row is None:
            raise UnknownApiToken(name=name)
        row.revoked_at, row.revoked_by, row.valid_name = timezone.now(), who[:150], None
        row.save(update_fields=["revoked_at", "revoked_by", "valid_name"])
    forget()
    return _token(row)


def token_of(secret: str) -> ApiToken | None:
    """The valid token with this secret; None if there is none."""
    digest = _digest(secret)
    asked, found = _kept.get(digest, (0.0, None))
    if found is None or monotonic() - asked > KEPT_S:
        found = _read(digest)
        if found is None:
            _kept.pop(digest, None)
        else:
            if len(_kept) >= MOST_KEPT:
                _kept.clear()
            _kept[digest] = monotonic(), found
    return found


def is_known(secret: str) -> bool:
    """Whether this process has seen the secret as valid, and not as revoked since."""
    return _digest(secret) in _kept


def forget() -> None:
    """Ask the database for each token again."""
    _kept.clear()


def _read(digest: str) -> ApiToken | None:
    rows, now = _table().objects, timezone.now()
    row = rows.filter(digest=digest, revoked_at=None).first()
    if row is None:
        return None
    late = Q(used_at=None) | Q(used_at__lt=now - USED_EVERY)
    if row.used_at is None or row.used_at < now - USED_EVERY:
        rows.filter(late, pk=row.pk).update(used_at=now)
    return _token(row)


def _table() -> Any:
    """The model of the app, which a project without the API does not have."""
    if not apps.is_installed(APP):
        raise ApiAppMissing
    return apps.get_model("queueops_jobs_api", "ApiToken")


def _transaction() -> AbstractContextManager[None]:
    """A block of the database of the tokens."""
    return transaction.atomic(using=router.db_for_write(_table()))


def _token(row: Any) -> ApiToken:
    return ApiToken(
        id=row.pk,
        name=row.name,
        scopes=tuple(Scope(each) for each in row.scopes if each in set(Scope)),
        rate=row.rate,
        body_limit=row.body_limit,
        created_ms=_ms(row.created_at) or 0,
        created_by=row.created_by,
        used_ms=_ms(row.used_at),
        revoked_ms=_ms(row.revoked_at),
        revoked_by=row.revoked_by,
    )


def _ms(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _scopes(given: Any) -> list[Scope]:
    wanted = list(dict.fromkeys(given)) if not isinstance(given, str) else [given]
    if not wanted or not set(wanted) <= set(Scope):
        raise BadOption(name="scopes", value=wanted, expected=f"some of {', '.join(Scope)}")
    return [Scope(each) for each in wanted]


def _is_name(value: object) -> bool:
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_kept: dict[str, tuple[float, ApiToken]] = {}
"""Valid tokens of this process by digest, and when the database was asked."""
