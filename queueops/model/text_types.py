"""Text types: values that are stored as their text, such as paths and IP addresses."""

from __future__ import annotations

import abc
import typing
from collections.abc import Callable
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
    ip_address,
    ip_interface,
    ip_network,
)
from pathlib import PurePath
from typing import Any

TEXT_TYPES = (PurePath, IPv4Address, IPv6Address, IPv4Network, IPv6Network)
"""An interface is an address, too."""


def _either(name: str, *versions: type) -> abc.ABCMeta:
    """A common base class of both IP versions: msgspec has no union of two types that it does not know."""
    made = abc.ABCMeta(name, (), {})
    for version in versions:
        made.register(version)
    return made


_VERSIONS: dict[Callable[[str], Any], tuple[type, type]] = {
    ip_address: (IPv4Address, IPv6Address),
    ip_network: (IPv4Network, IPv6Network),
    ip_interface: (IPv4Interface, IPv6Interface),
}
_EITHER = {frozenset(versions): _either(f"{versions[0].__name__}_or_6", *versions) for versions in _VERSIONS.values()}
_READERS: dict[type, Callable[[str], Any]] = {
    _EITHER[frozenset(versions)]: read for read, versions in _VERSIONS.items()
}


def is_text_type(kind: Any) -> bool:
    """Whether values of this class are stored as their text."""
    return isinstance(kind, type) and (kind in _READERS or issubclass(kind, TEXT_TYPES))


def either_version(annotation: Any) -> Any:
    """The annotation, with one class in place of a union of both versions of IP addresses."""
    members = typing.get_args(annotation)
    wanted = _EITHER.get(frozenset(member for member in members if member is not type(None)))
    if wanted is None:
        return annotation
    return wanted | None if type(None) in members else wanted


def read_text(kind: type, value: Any) -> Any:
    """Convert text to a value of `kind`. Raises ValueError for invalid text."""
    if not isinstance(value, str):  # IPv4Address(5) is 0.0.0.5
        raise ValueError(f"Expected `{kind.__name__}` as a text, got `{type(value).__name__}`")
    return _READERS.get(kind, kind)(value)
