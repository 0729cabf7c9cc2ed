"""Login throttle: counts each try before its password is checked, and gives the successful ones back.

A try needs room in all of its budgets: that of its address and name together, of its address, and of its name. So the
guesses of one address lock out no other address. A browser that has logged in with this name before shows it by a
signed cookie and has a budget of its own. An address from which this name has logged in before passes the wider bounds.
"""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Sequence
from datetime import timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import NamedTuple

from django.db import IntegrityError, router, transaction
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from console.audit.log import address_of
from console.models import LoginThrottle

WINDOW = timedelta(minutes=5)
KNOWN = timedelta(days=30)
MOST_BY_PAIR = 10  # by address and name together, or by a browser that is known
MOST_BY_ADDRESS = 50  # many people may share one
MOST_BY_NAME = 100  # from all addresses where this name is not known
COOKIE = "queueops_login"
LONGEST_NAME = 1000
SITE = 64
"""Bits of an IPv6 address that stand for one site: its host may choose all others."""

_IGNORED = frozenset({"Mn", "Me", "Cf", "Cc"})


class Budget(NamedTuple):
    """How many tries a key has in one WINDOW."""

    key: str
    most: int


class Attempt:
    """One try to log in: counted when it is made. `wait_seconds` is 0 when its password may be checked."""

    def __init__(self, request: HttpRequest) -> None:
        self._name = folded(request.POST.get("username", ""))
        self._site = _site(request)
        self._browser = _known_browser(request, self._name)
        self._taken: list[str] = []
        self.wait_seconds = 0
        _rows().filter(until__lt=timezone.now()).delete()
        self._take(self._budgets())

    def succeeded(self, request: HttpRequest, response: HttpResponseBase) -> None:
        """Give the try back, and know this browser and this address from now on."""
        self._give_back()
        browser = self._browser or secrets.token_hex(8)
        response.set_signed_cookie(
            COOKIE, f"{_digest('name', self._name)}.{browser}", salt=COOKIE, max_age=KNOWN,
            path=reverse("console:login"), secure=request.is_secure(), httponly=True, samesite="Lax",
        )  # fmt: skip
        until = timezone.now() + KNOWN
        _rows().update_or_create(key=self._key("known"), defaults={"until": until})

    def _budgets(self) -> Sequence[Budget]:
        if self._browser:
            return [Budget(_digest("browser", self._browser), MOST_BY_PAIR)]
        budgets = [Budget(self._key("pair"), MOST_BY_PAIR)]
        if _rows().filter(key=self._key("known"), until__gt=timezone.now()).exists():
            return budgets
        if self._site:
            budgets.append(Budget(_digest("address", self._site), MOST_BY_ADDRESS))
        return [*budgets, Budget(_digest("name", self._name), MOST_BY_NAME)]

    def _take(self, budgets: Sequence[Budget]) -> None:
        for budget in budgets:
            if not _take_one(budget):
                self._give_back()
                self.wait_seconds = _seconds_left(budget)
                return
            self._taken.append(budget.key)

    def _give_back(self) -> None:
        for key in self._taken:
            _rows().filter(key=key, used__gt=0).update(used=F("used") - 1)
        self._taken.clear()

    def _key(self, kind: str) -> str:
        return _digest(kind, f"{self._site} {self._name}")


def folded(name: str) -> str:
    """The form that all spellings share which Django or a database may take for one name.

    Django normalises to NFKC; databases may ignore case, accents and characters without width.
    """
    before, text = "", name.strip()[:LONGEST_NAME]
    while text != before:
        before = text
        parts = unicodedata.normalize("NFKD", text.casefold())
        kept = "".join(character for character in parts if unicodedata.category(character) not in _IGNORED)
        text = unicodedata.normalize("NFKC", kept).strip()
    return text


def _take_one(budget: Budget) -> bool:
    """Count one try, or say that there is no room. Each statement is atomic, so parallel tries cannot pass."""
    now = timezone.now()
    for _ in range(2):  # a second time when another try has made, or renewed, the row in between
        row = _rows().filter(key=budget.key)
        if row.filter(until__gt=now, used__lt=budget.most).update(used=F("used") + 1):
            return True
        if row.filter(until__lte=now).update(used=1, until=now + WINDOW):
            return True
        if not row.exists() and _make(budget.key):
            return True
    return False


def _make(key: str) -> bool:
    try:
        with transaction.atomic(using=_database()):
            _rows().create(key=key, used=1, until=timezone.now() + WINDOW)
    except IntegrityError:
        return False
    return True


def _seconds_left(budget: Budget) -> int:
    until = _rows().filter(key=budget.key).values_list("until", flat=True).first()
    return 1 if until is None else max(1, int((until - timezone.now()).total_seconds()) + 1)


def _known_browser(request: HttpRequest, name: str) -> str:
    """The number of a browser that has logged in with this name, or an empty text."""
    value = request.get_signed_cookie(COOKIE, default="", salt=COOKIE, max_age=KNOWN) or ""
    digest, _, browser = value.partition(".")
    return browser if digest == _digest("name", name) else ""


def _site(request: HttpRequest) -> str:
    """Where the request comes from; empty for this machine: its address is a proxy's, so all clients share it."""
    address = address_of(request)
    if address is None or (found := ip_address(address)).is_loopback:
        return ""
    return str(ip_network((found, SITE), strict=False)) if isinstance(found, IPv6Address) else address


def _digest(kind: str, value: str) -> str:
    """A key that does not tell the value: some people type their password where the name belongs."""
    return f"{kind}:{salted_hmac('console.throttle', value, algorithm='sha256').hexdigest()}"


def _database() -> str:
    return router.db_for_write(LoginThrottle)


def _rows() -> QuerySet[LoginThrottle]:
    """All rows, where they are written: a replica may be behind."""
    return LoginThrottle.objects.using(_database())
