"""Schedules that are made while the program runs: `from queueops import schedules`.

    schedules.create(send_report, Schedule("0 3 * * *", zone="Europe/Berlin"), id="nightly")

A watchdog fires them. `list` and `get` say how they are, `preview` when a line would fire.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queueops.control.schedules import create_schedule as create
    from queueops.control.schedules import delete_schedule as delete
    from queueops.control.schedules import pause_schedule as pause
    from queueops.control.schedules import resume_schedule as resume
    from queueops.control.schedules import run_schedule as run_now
    from queueops.control.schedules import update_schedule as update
    from queueops.inspect.schedules import ScheduleDetail as ScheduleDetail
    from queueops.inspect.schedules import ScheduleEvent as ScheduleEvent
    from queueops.inspect.schedules import ScheduleRow as ScheduleRow
    from queueops.inspect.schedules import preview as preview
    from queueops.inspect.schedules import schedule as get
    from queueops.inspect.schedules import schedules as list
    from queueops.schedules.schedule import Overlap as Overlap
    from queueops.schedules.schedule import Schedule as Schedule

# A process that only pushes imports this package, too, for its store: the names are imported when they are first used.
_HOMES = {
    "Overlap": "queueops.schedules.schedule:Overlap",
    "Schedule": "queueops.schedules.schedule:Schedule",
    "create": "queueops.control.schedules:create_schedule",
    "delete": "queueops.control.schedules:delete_schedule",
    "pause": "queueops.control.schedules:pause_schedule",
    "resume": "queueops.control.schedules:resume_schedule",
    "run_now": "queueops.control.schedules:run_schedule",
    "update": "queueops.control.schedules:update_schedule",
    "ScheduleDetail": "queueops.inspect.schedules:ScheduleDetail",
    "ScheduleEvent": "queueops.inspect.schedules:ScheduleEvent",
    "ScheduleRow": "queueops.inspect.schedules:ScheduleRow",
    "preview": "queueops.inspect.schedules:preview",
    "get": "queueops.inspect.schedules:schedule",
    "list": "queueops.inspect.schedules:schedules",
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
