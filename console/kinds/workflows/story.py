"""Story of a run: each entry of its history in words, and whether the run can be reset to it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from django.utils.translation import gettext as _

from queueops.inspect import RunLine, RunView


class Told(msgspec.Struct, frozen=True):
    """One entry with its words. `name` is that of its command, if the entry has none of its own."""

    line: RunLine
    words: str
    name: str
    begins_step: bool


def story(run: RunView) -> tuple[Told, ...]:
    """The entries of a page in words."""
    names = {span.number: span.name for span in run.spans if span.name}
    return tuple(tell(line, names) for line in run.lines)


def tell(line: RunLine, names: Mapping[int, str]) -> Told:
    """One entry in words."""
    return Told(line, words().get(line.kind, ""), line.name or names.get(line.command, ""), line.kind == "step")


def words() -> dict[str, str]:
    """What each kind of entry says."""
    return {
        "step": _("A worker makes a decision step."),
        "call": _("The code calls an activity."),
        "child": _("The code begins a child workflow."),
        "timer": _("The code sets a timer."),
        "tell": _("The code sends a signal to another instance."),
        "drop": _("The code does not need this any more."),
        "ask": _("The code asks this to end, and waits for that."),
        "side": _("A value is recorded."),
        "patch": _("The run goes by this change of the code."),
        "end": _("The code ends."),
        "done": _("It has succeeded."),
        "failed": _("It has failed."),
        "fired": _("The timer has fired."),
        "signal": _("A signal has come."),
        "cancel": _("A cancel was asked for."),
    }
