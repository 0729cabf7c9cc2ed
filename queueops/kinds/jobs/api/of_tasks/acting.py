"""Operations that change something: push a task, and the verbs of `queueops.control.verbs`. All are audited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from django.http import HttpRequest
from msgspec.structs import replace
from ninja.responses import Status

from queueops import control, inspect
from queueops.control.verbs import ON_TASKS
from queueops.inspect.selection import extent_of
from queueops.kinds.jobs.api.audit import recorded
from queueops.kinds.jobs.api.authentication import Bearer, client_of_request
from queueops.kinds.jobs.api.idempotency import id_of_key
from queueops.kinds.jobs.api.of_tasks import shapes
from queueops.kinds.jobs.api.of_tasks.client import ANY, need, router, told
from queueops.kinds.jobs.api.problems import KEY, Problem
from queueops.kinds.jobs.api_tokens import Scope
from queueops.model.contracts import Row
from queueops.model.sentences import encodable
from queueops.tasks.by_name import task_named

OF_THE_CALL = ("verb", "ids", "pool")
UNSEEN = "A token with the scope view is told the reason."


@router.post(
    "/tasks",
    auth=Bearer(Scope.PUSH),
    response={201: shapes.Pushed, 200: shapes.Pushed},
    operation_id="push_task",
    summary="Push a task by its name",
)
def push(request: HttpRequest, given: shapes.NewTask) -> Any:
    """Push a task. With a header `Idempotency-Key`, a repeated request makes no second task (200)."""
    if inspect.is_own_name(given.name):
        raise Problem(422, "This name is one of the engine's own tasks.", [("name", "a task of the project")])
    options = given.model_dump(exclude={"name", "args", "kwargs"}, exclude_none=True)
    if key := request.headers.get(KEY, ""):
        options["id"] = id_of_key(request, key, "task")
    with told(request), recorded(request, "push", target=given.name, pool=options.get("pool", "")) as act:
        handle = task_named(given.name, **options).push(*given.args, **given.kwargs)
        act.after, act.changed = {"id": handle.id}, int(handle.word != "EXISTS")
    return Status(200 if handle.word == "EXISTS" else 201, {"id": handle.id})


@router.post(
    "/tasks/actions", auth=ANY, response=shapes.Done, operation_id="act_on_tasks", summary="Perform a verb on tasks"
)
def act_on_tasks(request: HttpRequest, given: shapes.Verb) -> Any:
    """Perform a verb on tasks. `word` is REFUSED where the state of a task does not allow it, with the reason.

    State and reason are missing without the scope `view`.
    """
    verb = ON_TASKS[given.verb]
    need(request, Scope.DESTROY if verb.destroys else Scope.OPERATE)
    values = given.model_dump(exclude=set(OF_THE_CALL), exclude_none=True)
    _check_fields(verb.name, tuple(verb.takes), values)
    with told(request), recorded(request, verb.name, pool=given.pool, ids=given.ids) as act:
        act.reason = values.get("reason", "")
        act.rows = verb.act(given.ids, pool=given.pool, who=act.who, token=act.token, **values)
        return _done(request, act.rows)


@router.post(
    "/tasks/operations",
    auth=ANY,
    response=shapes.AllBegun,
    operation_id="act_on_all_tasks",
    summary="Begin a verb on all matching tasks",
)
def act_on_all_tasks(request: HttpRequest, given: shapes.VerbOnAll) -> Any:
    """Begin a verb on all tasks that match a filter now. No operation begins where no task matches.

    Workers perform it in parts. Its entry in the audit log can undo it. The scope `view` is needed, too: the answer
    tells which pools have tasks that match.
    """
    verb = ON_TASKS[given.verb]
    need(request, Scope.DESTROY if verb.destroys else Scope.OPERATE)
    need(request, Scope.VIEW)
    values = given.model_dump(exclude={"verb", "filter", "most"}, exclude_none=True)
    _check_fields(verb.name, tuple(verb.takes), values)
    with told(request):
        query, asked_ms = inspect.parse_filter(given.filter).whole(), inspect.now_ms()
        page = inspect.tasks(query, limit=1)
        count = extent_of(query, page).count
        most = min(count, given.most or count)
        if not most:
            return {"operations": [], "missing": [str(each) for each in page.broken]}
        facts = {"target": given.filter, "filter": query.params(), "reason": values.get("reason", ""), "most": most}
        with recorded(request, verb.name, **facts) as act:
            how: dict[str, Any] = {"most": most, "asked_ms": asked_ms, "who": act.who, "token": act.token}
            begun = control.begin_operation(verb.name, query, **how, **values)
            act.operations = list(begun)
        places = [{"pool": pool, "id": id} for pool, id in begun]
        return {"operations": places, "missing": [str(each) for each in begun.broken]}


def _done(request: HttpRequest, rows: Sequence[Row]) -> dict[str, Any]:
    """What became of each task. A token that may not view tasks is not told their states."""
    if Scope.VIEW not in client_of_request(request).scopes:
        rows = [replace(row, state="", detail=UNSEEN if row.detail else "") for row in rows]
    return {"rows": msgspec.to_builtins(rows, enc_hook=encodable)}


def _check_fields(verb: str, takes: tuple[str, ...], values: dict[str, Any]) -> None:
    """Raise Problem for a field that the verb does not take, or that it lacks."""
    needed = set(takes) & set(shapes.NEEDED)
    errors = [(name, f"{verb} does not take it") for name in values if name not in takes]
    errors += [(name, f"{verb} needs it") for name in sorted(needed - values.keys())]
    if errors:
        raise Problem(422, "The request has fields that are wrong.", errors)


@router.post(
    "/runs/actions", auth=ANY, response=shapes.Done, operation_id="act_on_runs", summary="Perform a verb on runs"
)
def act_on_runs(request: HttpRequest, given: shapes.RunVerb) -> Any:
    """Ask the code of runs to end, suspend or resume runs, or make their failed step again."""
    need(request, Scope.OPERATE)
    with told(request), recorded(request, given.verb, pool=given.pool, ids=given.ids, reason=given.reason) as act:
        call = getattr(control, given.verb)
        act.rows = call(given.ids, pool=given.pool, reason=given.reason, who=act.who, token=act.token)
        return _done(request, act.rows)


LANES: dict[str, Callable[..., Any]] = {
    "pause": control.pause_lane,
    "resume": control.resume_lane,
    "set_lane": control.set_lane,
}


@router.post(
    "/lanes/actions", auth=ANY, response=shapes.Did, operation_id="act_on_lane", summary="Pause, resume or limit a lane"
)
def act_on_lane(request: HttpRequest, given: shapes.LaneVerb) -> Any:
    """Pause or resume a lane, or set its limit, rate and weight. A limit that is left out stays."""
    limits = given.model_dump(include={"limit", "rate", "weight"}, exclude_unset=True)
    if given.verb != "set_lane":
        _check_fields(given.verb, (), {name: value for name, value in limits.items() if value is not None})
        limits = {}
    call = LANES[given.verb]
    return _did(request, given.verb, lambda: call(given.pool, given.lane, **limits), f"{given.pool}/{given.lane}")


@router.post(
    "/names/actions", auth=ANY, response=shapes.Did, operation_id="act_on_name", summary="Pause or resume a task name"
)
def act_on_name(request: HttpRequest, given: shapes.NameVerb) -> Any:
    """Pause a name, so that none of its tasks starts, or resume it."""
    target = f"{given.pool}/{given.name}" if given.pool else given.name
    return _did(request, given.verb, lambda: getattr(control, given.verb)(given.name, given.pool), target)


WORKERS = {"quiet": control.quiet_worker, "stop": control.stop_worker, "stacks": control.dump_stacks}


@router.post(
    "/workers/actions", auth=ANY, response=shapes.Did, operation_id="act_on_worker", summary="Quiet or stop a worker"
)
def act_on_worker(request: HttpRequest, given: shapes.WorkerVerb) -> Any:
    """Ask a worker to claim nothing more, to stop within its grace time, or for the stacks of its threads."""
    scope = Scope.OPERATE if given.verb == "stacks" else Scope.CONFIGURE
    done = _did(request, given.verb, lambda: WORKERS[given.verb](given.id), given.id, scope)
    if not done["changed"]:
        raise Problem(404, "There is no worker with this id.")
    return done


@router.post(
    "/schedules/actions",
    auth=ANY,
    response=shapes.Did,
    operation_id="act_on_schedule",
    summary="Pause, resume or run a schedule",
)
def act_on_schedule(request: HttpRequest, given: shapes.ScheduleVerb) -> Any:
    """Pause or resume a schedule, or push its task now."""
    scope = Scope.OPERATE if given.verb == "run_schedule" else Scope.CONFIGURE
    call = getattr(control, given.verb)
    return _did(request, given.verb, lambda: call(given.id, pool=given.pool), given.id, scope)


def _did(
    request: HttpRequest, verb: str, call: Callable[[], Any], target: str, scope: Scope = Scope.CONFIGURE
) -> dict[str, Any]:
    """Perform a verb on what is not a task. An answer False means that nothing was changed."""
    need(request, scope)
    with told(request), recorded(request, verb, target=target) as act:
        found = call()
        act.changed = int(found is not False)
        return {"changed": found is not False, "id": found if isinstance(found, str) else ""}
