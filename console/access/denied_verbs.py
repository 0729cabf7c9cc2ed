"""Verbs of denied actions: the audit log names the action itself and not its URL."""

from __future__ import annotations

from console.actions.catalog import ACTIONS

_OTHER = {
    "task-edit-save": "edit",
    "task-chunk-edit-save": "edit_chunks",
    "task-chunks-edit-save": "set_chunks",
    "task-chunks-restart": "restart",
    "lane-set": "set_lane",
    "schedule-edit-save": "edit_schedule",
    "audit-go-on": "go_on",
}
_PREFIXES = ("tasks-all-", "task-chunks-", "tasks-", "task-", "lane-", "worker-", "commands-", "schedule-")
_THINGS = {"task-chunks-": "_chunks", "commands-": "_commands", "schedule-": "_schedule"}


def verb_of(name: str) -> str:
    """The verb of the action behind the URL of this name: `retry` of `tasks-all-retry`, `drop_chunks`, `set_lane`."""
    if name in _OTHER:
        return _OTHER[name]
    prefix = next((each for each in _PREFIXES if name.startswith(each)), "")
    verb = name.removeprefix(prefix).removesuffix("-dead")
    return verb if verb in ACTIONS and prefix not in _THINGS else verb + _THINGS.get(prefix, "")
