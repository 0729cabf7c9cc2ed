"""QueueOps as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks
from django.utils.module_loading import autodiscover_modules

from queueops.model import load_time  # noqa: F401  it takes down the time


class QueueOpsConfig(AppConfig):
    """Finds the tasks of all installed apps. Nothing here speaks to Redis: a project starts while its store is down."""

    name = "queueops"
    verbose_name = "QueueOps"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the checks, mask the lines of our loggers, and import every app's task modules."""
        from queueops import checks as own
        from queueops import conf, logs
        from queueops.model import endings
        from queueops.results import waiting
        from queueops.tasks import producer_signals, registry

        checks.register(own.check_settings, "queueops")
        checks.register(own.check_environment, "queueops")
        checks.register(own.check_commands, "queueops")
        checks.register(own.check_kinds, "queueops")
        checks.register(own.check_roles)
        checks.register(own.check_starts, "queueops")
        checks.register(own.check_store, "queueops", deploy=True)
        logs.protect()
        waiting.explain = _explain
        endings.listen(endings.send)
        endings.register_sender(producer_signals)
        registry.register_cancel_listener(producer_signals.kinds_cancelled, producer_signals.tell_cancelled)
        autodiscover_modules(*conf.task_modules())


def _explain(pool: str, task_id: str) -> tuple[str, str]:
    """Why a task did not end in time. Imported here: most processes never ask."""
    from queueops.inspect.why import state_and_reason

    return state_and_reason(pool, task_id)
