"""Named hosts: the hosts that the texts of recent errors name, as those of a dependency that is slow or away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from queueops.inspect.redaction import conceals, redactor
from queueops.model.sentences import say

MAIN_SHARE = 0.6
"""From this share of the errors of some names on, it is the host that they name which fails."""
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,98}[A-Za-z0-9])?"
_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443"}
_URL = re.compile(rf"\b(https?|wss?)://(?:[^\s/@'\"]*@)?({_HOST})(?::(\d{{1,5}}))?")
_PLACES = (
    re.compile(rf"host='?({_HOST})'?, port=(\d{{1,5}})"),  # urllib3, requests
    re.compile(rf"server at \"({_HOST})\"(?: \([^)]*\))?, port (\d{{1,5}})"),  # libpq
    re.compile(rf"(?:connect to host|connecting to|connect to) ({_HOST}):(\d{{1,5}})\b"),  # aiohttp, redis
    re.compile(
        r"(?<![\w.-])((?:[A-Za-z0-9-]+\.)+[A-Za-z][A-Za-z0-9-]*[A-Za-z0-9]|localhost|\d+(?:\.\d+){3}):(\d{2,5})\b"
    ),
)
_FILES = (".py", ".pyx", ".html", ".js", ".json", ".sql", ".xml", ".txt")


def host_of(title: str) -> str:
    """`api.example:443`, if the text of an error names a host; else nothing."""
    if found := _URL.search(title):
        return f"{found[2].lower()}:{found[3] or _PORTS[found[1]]}"
    for place in _PLACES:
        if (found := place.search(title)) and not found[1].lower().endswith(_FILES):
            return f"{found[1].lower()}:{found[2]}"
    return ""


def hosts_of_names(sampled: Mapping[str, Any], names: Container[str]) -> dict[str, str]:
    """The host that most of the errors of one of these names name. A reader who may not see messages gets none."""
    of_names: dict[str, Counter[str]] = {}
    for name, host, times in _latest(sampled, names):
        of_names.setdefault(name, Counter())[host] += times
    return {name: host for name, hosts in of_names.items() if (host := _main(hosts))}


def host_named(sampled: Mapping[str, Any], names: Iterable[str]) -> str:
    """A sentence with the host that most of the errors of these names name; empty if there is none."""
    hosts = Counter[str]()
    for _name, host, times in _latest(sampled, set(names)):
        hosts[host] += times
    host = _main(hosts)
    return say("The errors name the host %(host)s.", host=host) if host else ""


def names_host(text: str, host: str) -> bool:
    """Whether the text of an alarm has that sentence."""
    return f"the host {host}." in text


def _latest(sampled: Mapping[str, Any], names: Container[str]) -> Iterator[tuple[str, str, int]]:
    """Name, host and number of the latest errors of these names. What is masked in a text is no host."""
    mask = redactor().text
    for row in () if conceals() else sampled.get("errors") or ():
        if (name := str(row["name"])) in names:
            yield name, host_of(mask(str(row["title"]))), int(row["times"])


def _main(hosts: Counter[str]) -> str:
    host, times = max(hosts.items(), key=itemgetter(1), default=("", 0))
    return host if times >= MAIN_SHARE * hosts.total() else ""
