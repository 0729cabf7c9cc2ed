"""Schedules that are made while the program runs: `from queueops import schedules`.

    schedules.create(send_report, Schedule("0 3 * * *", zone="Europe/Berlin"), id="nightly")

A watchdog fires them. `list` and `get` say how they are, `preview` when a line would fire.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queueops.schedules.control import create_schedule as create
    from queueops.schedules.control import delete_schedule as delete
    from queueops.schedules.control import pause_schedule as pause
    from queueops.schedules.control import resume_schedule as resume
    from queueops.schedules.control import run_schedule as run_now
    from queueops.schedules.control import update_schedule as update
    from queueops.schedules.inspect import ScheduleDetail as ScheduleDetail
    from queueops.schedules.inspect import ScheduleEvent as ScheduleEvent
    from queueops.schedules.inspect import ScheduleRow as ScheduleRow
    from queueops.schedules.inspect import preview as preview
    from queueops.schedules.inspect import schedule as get
    from queueops.schedules.inspect import schedules as list
    from queueops.schedules.schedule import Overlap as Overlap
    from queueops.schedules.schedule import Schedule as Schedule

# A process that only pushes imports this package, too, for its store: the names are imported when they are first used.
_HOMES = {
    "Overlap": "queueops.schedules.schedule:Overlap",
    "Schedule": "queueops.schedules.schedule:Schedule",
    "create": "queueops.schedules.control:create_schedule",
    "delete": "queueops.schedules.control:delete_schedule",
    "pause": "queueops.schedules.control:pause_schedule",
    "resume": "queueops.schedules.control:resume_schedule",
    "run_now": "queueops.schedules.control:run_schedule",
    "update": "queueops.schedules.control:update_schedule",
    "ScheduleDetail": "queueops.schedules.inspect:ScheduleDetail",
    "ScheduleEvent": "queueops.schedules.inspect:ScheduleEvent",
    "ScheduleRow": "queueops.schedules.inspect:ScheduleRow",
    "preview": "queueops.schedules.inspect:preview",
    "get": "queueops.schedules.inspect:schedule",
    "list": "queueops.schedules.inspect:schedules",
}

__all__ = [
    "Overlap",
    "Schedule",
    "ScheduleDetail",
    "ScheduleEvent",
    "ScheduleRow",
    "create",
    "delete",
    "get",
    "list",
    "pause",
    "preview",
    "resume",
    "run_now",
    "update",
]


if not TYPE_CHECKING:  # a type checker sees the names above

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'queueops.schedules' has no attribute {name!r}")
        module, _, own = _HOMES[name].partition(":")
        value = globals()[name] = getattr(import_module(module), own)
        return value


def __dir__() -> Any:
    return sorted({*globals(), *__all__})
