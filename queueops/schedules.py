"""Schedules that are made while the program runs: `from queueops import schedules`.

    schedules.create(send_report, Schedule("0 3 * * *", zone="Europe/Berlin"), id="nightly")

A watchdog fires them. `list` and `get` say how they are, `preview` when a line would fire.
"""

from queueops.control.schedules import create_schedule as create
from queueops.control.schedules import delete_schedule as delete
from queueops.control.schedules import pause_schedule as pause
from queueops.control.schedules import resume_schedule as resume
from queueops.control.schedules import run_schedule as run_now
from queueops.control.schedules import update_schedule as update
from queueops.inspect.schedules import ScheduleDetail, ScheduleEvent, ScheduleRow, preview
from queueops.inspect.schedules import schedule as get
from queueops.inspect.schedules import schedules as list
from queueops.model.schedule import Overlap, Schedule

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
