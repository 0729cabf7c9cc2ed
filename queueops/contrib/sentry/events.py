"""What an event says of a task, and what is masked in it by the setting REDACT."""

from __future__ import annotations

import json
from typing import Any

from queueops import conf
from queueops.model.contracts import Outcome, Settlement
from queueops.model.redact import cut
from queueops.redis.broker import get_broker

LONGEST = 8_000
"""Characters of the arguments."""


def facts_of(context: Any) -> dict[str, Any]:
    """The task of an event. Results and metadata are not sent."""
    lease = context.lease
    facts = {
        "id": lease.id,
        "name": lease.name,
        "kind": lease.kind,
        "attempt": lease.attempt,
        "attempts": lease.retries + 1,
        "pool": lease.pool,
        "lane": lease.lane,
        "root": context.root,
    }
    if lease.args and conf.current().sentry.arguments:
        signature = getattr(getattr(context.handler, "plan", None), "signature", None)
        names = tuple(signature.parameters) if signature else ()
        facts["arguments"] = cut(conf.redactor().compact(lease.args, names), LONGEST)
    return facts


def completed_event(context: Any, event: Any, hint: Any) -> Any:
    """Add the task, but to a transaction, which every attempt has: to mask arguments takes time."""
    if event.get("type") != "transaction":
        event.setdefault("contexts", {})["queueops"] = facts_of(context)
    return masked_event(event)


def masked_event(event: Any) -> Any:
    """Mask the messages of errors and of log lines, the variables of frames and the breadcrumbs.

    Our own frames lose their variables: they hold arguments without their names.
    """
    hide = conf.redactor()
    for key in {"message", "logentry", "extra"} & set(event):
        event[key] = hide.value(event[key])
    if isinstance(line := event.get("logentry"), dict):
        line.pop("params", None)  # values without their names; the formatted line has them
    for error in (event.get("exception") or {}).get("values") or ():
        if isinstance(error.get("value"), str):
            error["value"] = hide.text(error["value"])
        for frame in (error.get("stacktrace") or {}).get("frames") or ():
            if str(frame.get("module") or "").startswith("queueops."):
                frame.pop("vars", None)
            elif "vars" in frame:
                frame["vars"] = hide.value(frame["vars"])
    crumbs = event.get("breadcrumbs") or {}
    for crumb in crumbs.get("values") or () if isinstance(crumbs, dict) else crumbs:
        for key in ("message", "data"):
            if key in crumb:
                crumb[key] = hide.value(crumb[key])
    return event


def event_of_killed(pool: str, id: str, end: Settlement) -> Any:
    """The event of a task whose process died or was killed; None if it only goes back to its lane."""
    if end.outcome not in (Outcome.CRASH, Outcome.TIMEOUT):
        return None
    record = get_broker().record(pool, id)
    name = record.name if record else ""
    what, why = _told(end)
    facts = {"id": id, "name": name, "pool": pool} | ({"state": record.state} if record else {})
    return {
        "level": "error",
        "transaction": name,
        "exception": {"values": [{"type": what, "value": conf.redactor().text(why)}]},
        "fingerprint": ["queueops", what, name],
        "tags": {"queueops.task": id, "queueops.name": name, "queueops.pool": pool},
        "contexts": {"queueops": facts},
    }


def _told(end: Settlement) -> tuple[str, str]:
    if end.outcome is Outcome.CRASH:
        return "WorkerDied", end.value.decode("utf-8", "replace")
    stored: dict[str, Any] = json.loads(end.value)
    return str(stored.get("type", "HardTimeout")), str(stored.get("message", ""))
