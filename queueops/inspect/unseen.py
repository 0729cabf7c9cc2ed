"""Unseen values: what a search cannot see, because the store has it encrypted."""

from __future__ import annotations

from queueops import conf
from queueops.inspect import filter_text
from queueops.inspect.filter_syntax import terms
from queueops.inspect.query import TaskQuery
from queueops.model.sentences import Sentence, say

ARGUMENTS = say("Arguments are encrypted in the store: this text is found in ids, and in arguments that are in clear.")
MESSAGES = say("Messages of errors are encrypted in the store: types are compared, and messages that are in clear.")
STATUSES = say("Statuses of runs are encrypted in the store: this text is found in those that are in clear.")


def unseen(query: TaskQuery, status: str = "") -> tuple[Sentence, ...]:
    """What a filter of tasks, or of runs by their ``status``, does not find; nothing without keys in ENCRYPTION."""
    if not conf.current().encryption:
        return ()
    rest = terms(filter_text.tree(query.q)) if query.q else ()
    errors = [query.error, *(term.value for term in rest if term.field == "error")]
    by_text = any(error and not filter_text.FINGERPRINT.fullmatch(error) for error in errors)
    found = {ARGUMENTS: bool(query.contains), MESSAGES: by_text, STATUSES: bool(status)}
    return tuple(text for text, is_hidden in found.items() if is_hidden)
