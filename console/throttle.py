"""How often a login may fail: by the name that is tried and by the address it comes from, counted in the database."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from ipaddress import ip_address

from django.http import HttpRequest
from django.utils import timezone

from console.audit import address_of
from console.models import FailedLogin

WINDOW = timedelta(minutes=5)
MOST_BY_NAME = 10
MOST_BY_ADDRESS = 50  # many people may share one


def failed(request: HttpRequest) -> None:
    """Remember a failure, and forget those that no longer count."""
    FailedLogin.objects.filter(at__lt=timezone.now() - WINDOW).delete()
    FailedLogin.objects.bulk_create(FailedLogin(key=key) for key, _most in _keys(request))


def wait_seconds(request: HttpRequest) -> int:
    """How long the next try has to wait; 0 when it may be made."""
    return max((_wait(key, most) for key, most in _keys(request)), default=0)


def _wait(key: str, most: int) -> int:
    since = timezone.now() - WINDOW
    times: list[datetime] = list(
        FailedLogin.objects.filter(key=key, at__gte=since).order_by("-at").values_list("at", flat=True)[:most]
    )
    if len(times) < most:
        return 0
    return max(1, int((times[-1] + WINDOW - timezone.now()).total_seconds()) + 1)


def _keys(request: HttpRequest) -> list[tuple[str, int]]:
    name = request.POST.get("username", "").strip().casefold()
    digest = hashlib.sha256(name.encode()).hexdigest()
    keys = [(f"name:{digest}", MOST_BY_NAME)]
    address = address_of(request)
    if address is not None and not ip_address(address).is_loopback:  # that of a proxy is everybody's
        keys.append((f"address:{address}", MOST_BY_ADDRESS))
    return keys
