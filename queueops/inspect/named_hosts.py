"""Named hosts: the hosts that the texts of recent errors name, as those of a dependency that is slow or away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from queueops.inspect.redaction import conceals

MAIN_SHARE = 0.6
"""From this share of the errors of a name on, it is the host that they name which fails."""
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


def hosts_of_names(sampled: Mapping[str, Any]) -> dict[str, str]:
    """The host that most of the errors of a name in a pool name. A reader who may not see messages gets none."""
    every: Counter[str] = Counter()
    of_host: Counter[tuple[str, str]] = Counter()
    for row in () if conceals() else sampled.get("errors") or ():
        name, times = str(row["name"]), int(row["times"])
        every[name] += times
        if host := host_of(str(row["title"])):
            of_host[name, host] += times
    return {name: host for (name, host), times in of_host.items() if times >= MAIN_SHARE * every[name]}


def host_named(sampled: Mapping[str, Any], names: Iterable[str]) -> str:
    """A sentence with the one host that the errors of these names name; empty if there is none, or are several."""
    found = hosts_of_names(sampled)
    hosts = {found[name] for name in names if name in found}
    return f" The errors name the host {hosts.pop()}." if len(hosts) == 1 else ""
