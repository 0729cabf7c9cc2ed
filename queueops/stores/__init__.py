"""Stores in place of Redis: the base of a store for plain tasks, and the rules that it applies to records."""

from queueops.model.capabilities import Capability
from queueops.stores.plain_store import PlainStore

__all__ = ["Capability", "PlainStore"]
