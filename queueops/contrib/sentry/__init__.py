"""Sentry for tasks of all kinds: failed tasks as events, performance with traces from request to task, and crons.

    INSTALLED_APPS = [..., "queueops", "queueops.contrib.sentry"]

The project calls `sentry_sdk.init`, as for its requests. Needs `pip install 'queueops[sentry]'`.

    QUEUEOPS = {..., "SENTRY": {"retries": True, "monitors": False, "arguments": False}}

`retries`: an attempt that will be tried again is an event, too (no). `monitors`: runs of plain tasks by schedules are
check-ins (yes). `arguments`: an event has the task's arguments, masked by `REDACT` (yes).
"""
