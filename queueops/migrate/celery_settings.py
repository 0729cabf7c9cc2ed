"""Settings of Celery: what each becomes, and a first QUEUEOPS beside them."""

from __future__ import annotations

import libcst as cst
from libcst import matchers

from queueops.migrate.code import UNKNOWN, dict_items, is_none, keywords, literal, positional, short
from queueops.migrate.rewriter import Rewriter

ADVICE = {
    "broker_url": 'QUEUEOPS["URL"], of a Redis or Valkey',
    "result_backend": 'QUEUEOPS["URL"]: results are in the same store',
    "result_expires": 'QUEUEOPS["RETENTION"], or keep=',
    "task_time_limit": 'QUEUEOPS["POOLS"]["default"]["timeout"], for each pool',
    "task_soft_time_limit": 'QUEUEOPS["POOLS"]["default"]["timeout"], for each pool; the hard limit follows by itself',
    "task_always_eager": "with eager(): in a test; there is no setting",
    "task_eager_propagates": "an eager task raises TaskFailed from result()",
    "task_serializer": "nothing: arguments are JSON, converted by the annotations",
    "result_serializer": "nothing: results are JSON, converted by the annotations",
    "accept_content": "nothing: arguments are JSON",
    "task_ignore_result": "keep=60 at the tasks; results are kept for a day",
    "task_store_errors_even_if_ignored": "nothing: errors are kept for 14 days",
    "task_acks_late": "nothing: it is always so",
    "task_reject_on_worker_lost": "nothing: it is always so",
    "task_track_started": "nothing: it is always so",
    "task_send_sent_event": "nothing: waiting tasks are in the console",
    "worker_send_task_events": "nothing: the console shows all tasks",
    "task_default_queue": 'pool= at the tasks; the default is "default"',
    "task_queues": 'QUEUEOPS["POOLS"]',
    "task_routes": "pool= at each task; a function as a route has no counterpart",
    "task_default_rate_limit": 'rate="10/m" at the tasks, or a rate of a lane in QUEUEOPS["POOLS"]',
    "task_default_priority": "priority= at the tasks",
    "worker_prefetch_multiplier": "nothing: a worker claims only tasks that it can begin soon",
    "worker_concurrency": "manage.py runworker --threads, --processes",
    "worker_max_tasks_per_child": "manage.py runworker --max-tasks",
    "worker_max_memory_per_child": "manage.py runworker --max-memory",
    "worker_hijack_root_logger": "nothing: logging is Django's LOGGING",
    "broker_transport_options": 'QUEUEOPS["LEASE"] for the visibility timeout; QUEUEOPS["CONNECT"] for connections',
    "broker_connection_retry_on_startup": 'QUEUEOPS["RETRY"]',
    "timezone": "Django's TIME_ZONE, or Schedule(zone=)",
    "enable_utc": "nothing: Django's TIME_ZONE counts",
    "beat_scheduler": "nothing: manage.py watchdog fires schedules; they are edited in the console",
    "imports": 'QUEUEOPS["TASK_MODULES"]',
    "include": 'QUEUEOPS["TASK_MODULES"]',
    "redis_backend_use_ssl": 'rediss:// in QUEUEOPS["URL"], and ?ssl_cert_reqs= behind it',
    "broker_use_ssl": 'rediss:// in QUEUEOPS["URL"], and ?ssl_cert_reqs= behind it',
}
OLD = {
    "celeryd_concurrency": "worker_concurrency",
    "celeryd_task_time_limit": "task_time_limit",
    "celeryd_task_soft_time_limit": "task_soft_time_limit",
    "always_eager": "task_always_eager",
    "task_result_expires": "result_expires",
    "routes": "task_routes",
    "queues": "task_queues",
    "ignore_result": "task_ignore_result",
    "acks_late": "task_acks_late",
    "default_queue": "task_default_queue",
}
"""Names of settings before Celery 4, without CELERY_."""
BEAT = "beat_schedule"


PREFIXES = ("CELERY_", "CELERYD_", "CELERYBEAT_", "BROKER_")
ADDED = "entries that are added to a schedule are not read; write @task(cron=...), or beat sends what has moved"


def _upper(target: cst.CSTNode) -> str:
    """The name of a setting of Django, also as `settings.NAME`; empty for other targets."""
    last = target.attr if isinstance(target, cst.Attribute) else target
    return last.value if isinstance(last, cst.Name) and last.value.isupper() else ""


def setting_of(target: cst.CSTNode) -> str:
    """The setting of Celery that an assignment sets, in small letters; empty for other targets."""
    if (upper := _upper(target)).startswith(PREFIXES):
        name = upper.removeprefix("CELERY_").lower()
        return BEAT if name == "celerybeat_schedule" else OLD.get(name, name)
    if upper:
        return ""
    is_conf = (
        isinstance(target, cst.Attribute)
        and isinstance(target.value, cst.Attribute)
        and target.value.attr.value == "conf"
    )
    return target.attr.value if is_conf and isinstance(target, cst.Attribute) else ""


class SettingsReport(cst.CSTVisitor):
    """Notes each setting, and each entry of the schedule that stays."""

    def __init__(self, rewriter: Rewriter) -> None:
        super().__init__()
        self.rewriter = rewriter

    def visit_Assign(self, node: cst.Assign) -> None:
        """A setting that is assigned."""
        for target in node.targets:
            self._assigned(target.target, node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        """The same with a type."""
        self._assigned(node.target, node.value)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        """A setting that is extended."""
        self._assigned(node.target, None)

    def _assigned(self, target: cst.BaseExpression, value: cst.BaseExpression | None) -> None:
        of = target.value if isinstance(target, cst.Subscript) else target
        if not (name := setting_of(of)) or not self._known(of):
            return
        self._note(of, name)
        if name == BEAT and not (of is target and isinstance(value, cst.Dict)):
            self._added(of)

    def visit_Call(self, node: cst.Call) -> None:
        """The settings of `app.conf.update(...)` and of `override_settings(...)`, and a schedule that is extended."""
        full = self.rewriter.names.full(node.func)
        given = keywords(node.args)
        if full.endswith(".conf.update") and self.rewriter.project.is_app(full.removesuffix(".conf.update")):
            for name in (*given, *(each for arg in positional(node.args) for each in dict_items(arg.value) or ())):
                self._note(node, name)
        else:
            for name in filter(None, (setting_of(cst.Name(each)) for each in given)):
                self._note(node, name)
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in ("update", "setdefault"):
            of = node.func.value
            if setting_of(of) == BEAT and self._known(of):
                self._added(of)

    def visit_StarredDictElement(self, node: cst.StarredDictElement) -> None:
        """Entries from elsewhere."""
        if node in self.rewriter.project.left_entries:
            self._added(node.value)

    def _added(self, node: cst.CSTNode) -> None:
        self.rewriter.notes.left(self.rewriter.names.line(node), short(node), ADDED)

    def visit_DictElement(self, node: cst.DictElement) -> None:
        """An entry that stays, with the reason."""
        if reason := self.rewriter.project.left_entries.get(node):
            key = literal(node.key)
            self.rewriter.listed.update(matchers.findall(node, matchers.Name()))
            self.rewriter.notes.left(self.rewriter.names.line(node), f"the schedule {key!r}", reason)

    def _known(self, target: cst.BaseExpression) -> bool:
        if _upper(target):
            return True
        full = self.rewriter.names.full(target)
        return self.rewriter.project.is_app(full.rpartition(".conf.")[0])

    def _note(self, node: cst.CSTNode, name: str) -> None:
        if name != BEAT:
            text = ADVICE.get(name, "it has no counterpart")
            self.rewriter.notes.left(
                self.rewriter.names.line(node), f"setting {name}", f"it is {text}" if name in ADVICE else text
            )


def with_queueops(rewriter: Rewriter, tree: cst.Module) -> cst.Module:
    """The settings module with a first QUEUEOPS, behind the last setting of Celery."""
    found = {}
    last = -1
    for at, line in enumerate(tree.body):
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            target = small.targets[0].target if isinstance(small, cst.Assign) else getattr(small, "target", None)
            if isinstance(target, cst.Name) and target.value == "QUEUEOPS":
                return tree
            if isinstance(small, cst.Assign) and isinstance(target, cst.Name) and (name := setting_of(target)):
                found[name] = (target.value, small.value)
                last = at
    lines = _lines(rewriter, found) if "broker_url" in found else []
    if not lines:
        return tree
    text = "QUEUEOPS = {\n" + "".join(f"    {line},\n" for line in lines) + "}\n"
    made = cst.parse_statement(text, config=tree.config_for_parsing)
    rewriter.notes.check(0, "QUEUEOPS", 'also add "queueops" and "console" to INSTALLED_APPS; Celery may run beside it')
    return tree.with_changes(body=[*tree.body[: last + 1], made, *tree.body[last + 1 :]])


def _lines(rewriter: Rewriter, found: dict[str, tuple[str, cst.BaseExpression]]) -> list[str]:
    """The settings that are sure: the URL, the retention and the global time limit."""
    name, value = found["broker_url"]
    url = literal(value)
    if isinstance(url, str) and not url.startswith(("redis://", "rediss://", "unix://")):
        return []
    if url is UNKNOWN:
        rewriter.notes.check(0, f"URL: {name}", "it must be the URL of a Redis or Valkey")
    lines = [f'"URL": {name}']
    if "result_expires" in found and not is_none(found["result_expires"][1]):
        lines.append(f'"RETENTION": {{"succeeded": {found["result_expires"][0]}}}')
    limit = found.get("task_soft_time_limit") or found.get("task_time_limit")
    pools = sorted({task.pool for task in rewriter.project.tasks.values() if task.moves and task.pool} | {"default"})
    if limit and not is_none(limit[1]):
        lines.append('"POOLS": {' + ", ".join(f'"{pool}": {{"timeout": {limit[0]}}}' for pool in pools) + "}")
    elif len(pools) > 1:
        lines.append('"POOLS": {' + ", ".join(f'"{pool}": {{}}' for pool in pools if pool != "default") + "}")
    return lines
