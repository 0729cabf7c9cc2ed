"""Login throttle: counts each attempt before its password is checked, and gives the successful ones back.

An attempt needs room in three budgets: of its address and name together, of its address, and of its name. So the
guesses from one address do not lock out other addresses. A signed cookie marks a browser that has logged in with this
name before. Such a browser has its own budget. An address from which this name has logged in before skips the budgets
of address and name.
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
MOST_BY_PAIR = 10  # for an address and name together, or for a known browser
MOST_BY_ADDRESS = 50  # many users may share one address
MOST_BY_NAME = 100  # from all addresses from which this name has not logged in before
COOKIE = "queueops_login"
LONGEST_NAME = 1000
SITE = 64
"""The prefix length of an IPv6 site: a client may choose all the other bits of its address."""

_IGNORED = frozenset({"Mn", "Me", "Cf", "Cc"})


class Budget(NamedTuple):
    """How many login attempts a key has in one WINDOW."""

    key: str
    most: int


class Attempt:
    """One login attempt, counted when it is made. `wait_seconds` is 0 when its password may be checked."""

    def __init__(self, request: HttpRequest) -> None:
        self._name = folded(request.POST.get("username", ""))
        self._site = _site(request)
        self._browser = _known_browser(request, self._name)
        self._taken: list[str] = []
        self.wait_seconds = 0
        _rows().filter(until__lt=timezone.now()).delete()
        self._take(self._budgets())

    def succeeded(self, request: HttpRequest, response: HttpResponseBase) -> None:
        """Give the attempt back, and mark this browser and this address as known."""
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
    """Normalise a name: spellings that Django or a database may treat as equal get the same form.

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
    """Count one attempt; False if the budget is used up. Each statement is atomic, so parallel attempts stay in it."""
    now = timezone.now()
    for _ in range(2):  # once more when another attempt has created or renewed the row in between
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
    """The random id of a browser that has logged in with this name, or an empty text."""
    value = request.get_signed_cookie(COOKIE, default="", salt=COOKIE, max_age=KNOWN) or ""
    digest, _, browser = value.partition(".")
    return browser if digest == _digest("name", name) else ""


def _site(request: HttpRequest) -> str:
    """The client's address; empty for the local machine: that is a proxy, whose clients would all share one budget."""
    address = address_of(request)
    if address is None or (found := ip_address(address)).is_loopback:
        return ""
    return str(ip_network((found, SITE), strict=False)) if isinstance(found, IPv6Address) else address


def _digest(kind: str, value: str) -> str:
    """A digest that does not reveal the value: some users type their password into the name field."""
    return f"{kind}:{salted_hmac('console.throttle', value, algorithm='sha256').hexdigest()}"


def _database() -> str:
    return router.db_for_write(LoginThrottle)


def _rows() -> QuerySet[LoginThrottle]:
    """All rows, on the database for writes: a replica may lag behind."""
    return LoginThrottle.objects.using(_database())
