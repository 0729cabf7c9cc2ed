"""Database models of the console: grants in pools, notes on errors, the audit log, counts of login attempts."""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeVar

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured
from django.db import models
from django.utils.translation import gettext_lazy as _

from queueops import conf
from queueops.conf.sealed_fields import SEALED, SealedJSON

if not apps.is_installed("console"):  # before Django says that a model has no app_label
    raise ImproperlyConfigured("The URLs of the console need 'queueops' and 'console' in INSTALLED_APPS.")


class Access(models.Model):
    """Permissions of the console; the model has no table."""

    class Meta:
        """Django's default permissions are not used."""

        managed = False
        default_permissions = ()
        permissions = (
            ("view", _("May see the console")),
            ("operate", _("May retry, run, postpone, cancel and edit tasks")),
            ("destroy", _("May delete and discard tasks")),
            ("configure", _("May pause and limit lanes, and quiet and stop workers")),
            ("see_arguments", _("May see arguments, results and raw records")),
            ("export", _("May export lists and tasks")),
            ("push", _("May push tasks")),
            ("share", _("May share saved views with all users")),
        )


STORE_LENGTH = 30
"""The column has a default in the database, too: in a rolling deploy, processes of the last version write no store."""
Row = TypeVar("Row", bound=models.Model)


class OfStore(models.Manager[Row]):
    """Sees the rows of the current store alone, so that no page acts on a row of another store."""

    def get_queryset(self) -> models.QuerySet[Row]:
        """The rows of the store that `conf.in_store` has chosen, or of the project's own."""
        return super().get_queryset().filter(store=conf.store_name())


class PoolGrant(models.Model):
    """What a group may do in some pools, besides what its permissions let it do in all pools."""

    class Level(models.TextChoices):
        """What is granted."""

        OPERATE = "operate", _("operate: retry, run, postpone, cancel and edit tasks")
        ADMINISTER = "administer", _("administer: also delete tasks, and pause and limit lanes")
        PUSH = "push", _("push tasks")

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="+", verbose_name=_("group"))
    pool = models.CharField(_("pool"), max_length=100, help_text=_("A name, or a pattern such as mail*."))
    level = models.CharField(_("level"), max_length=20, choices=Level, default=Level.OPERATE)
    store = models.CharField(
        _("store"),
        max_length=STORE_LENGTH,
        blank=True,
        default="",
        db_default="",
        help_text=_("A name of STORES; empty: the project's own."),
    )

    class Meta:
        """Django's default permissions let administrators edit the grants in Django's admin."""

        constraints = (
            models.UniqueConstraint(fields=("group", "pool", "level", "store"), name="queueops_console_one_grant"),
        )
        verbose_name = _("grant in a pool")
        verbose_name_plural = _("grants in pools")

    def __str__(self) -> str:
        return f"{self.group}: {self.level} in {self.pool}"


class Outcome(models.TextChoices):
    """How an action ended."""

    BEGUN = "begun", _("begun")  # it runs, is a paused bulk action, or its process died before the outcome was known
    DONE = "done", _("done")
    PARTLY = "partly", _("partly done")
    REFUSED = "refused", _("refused")
    DENIED = "denied", _("not permitted")  # denied to this user; `count` says how often on that day
    FAILED = "failed", _("failed")
    UNKNOWN = "unknown", _("unknown")  # the store was lost before it answered


UNCLEAR = (Outcome.BEGUN, Outcome.UNKNOWN, Outcome.FAILED)
"""Outcomes of a part whose changes are not known until the store is asked."""


class AuditEntry(models.Model):
    """One action of one user. It is written before the action and completed after it; no page edits or deletes it.

    The console itself updates the entries of bulk actions, undone actions and denied actions later.
    """

    SEALED: ClassVar = ("before", "after")

    objects: ClassVar[OfStore[Self]] = OfStore()
    store = models.CharField(_("store"), max_length=STORE_LENGTH, blank=True, default=conf.store_name, db_default="")
    at = models.DateTimeField(_("when"), auto_now_add=True, db_index=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", verbose_name=_("who")
    )
    actor_name = models.CharField(_("name"), max_length=150)  # stays when the account is deleted
    address = models.GenericIPAddressField(_("address"), null=True)
    verb = models.CharField(_("action"), max_length=40, db_index=True)
    target = models.CharField(_("target"), max_length=400)  # a task, a lane, a worker; or what the ids have in common
    ids = models.JSONField(_("tasks"), default=list)  # [[pool, id], ...]
    filter = models.JSONField(_("filter"), default=dict)
    count = models.PositiveIntegerField(_("how many"), default=0)
    changed = models.PositiveIntegerField(_("changed"), default=0)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    before = SealedJSON(_("before"), default=dict)
    after = SealedJSON(_("after"), default=dict)
    outcome = models.CharField(_("outcome"), max_length=10, choices=Outcome, default=Outcome.BEGUN)
    detail = models.CharField(_("detail"), max_length=1000, blank=True)
    undoes = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, related_name="undone_by", verbose_name=_("undoes")
    )
    part_of = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="parts")
    place = models.TextField(null=True)  # position of a bulk action that has not ended
    seen = models.PositiveIntegerField(default=0)  # tasks that a bulk action has seen so far
    ended_at = models.DateTimeField(null=True, db_index=True)  # when workers had ended a bulk action

    class Meta:
        """Django's default permissions are not used."""

        default_permissions = ()
        ordering = ("-pk",)
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit entries")

    def __str__(self) -> str:
        return f"{self.actor_name}: {self.verb} {self.target}"

    @property
    def is_mass(self) -> bool:
        """Whether it is a bulk action, whose parts hold the tasks."""
        return bool(self.filter) and not self.ids

    @property
    def is_closed(self) -> bool:
        """Whether its values are encrypted, and no key opens them."""
        return SEALED in self.before or SEALED in self.after

    @property
    def goes_on(self) -> bool:
        """Whether the action has not ended yet."""
        return self.place is not None

    @property
    def operations(self) -> list[tuple[str, str]]:
        """Pool and id of the operations that perform it, if workers do."""
        return [(pool, id) for pool, id in (self.before.get("operations", ()) if self.is_mass else ())]

    @property
    def is_unknown(self) -> bool:
        """Whether it is unknown which tasks the action changed."""
        is_part = bool(self.part_of_id and not self.undoes_id)
        return bool(self.ids) and self.outcome in (UNCLEAR if is_part else (Outcome.UNKNOWN,))

    @property
    def token(self) -> str:
        """The idempotency token of the action in the store. The token of a part begins with that of the whole."""
        own = f"{self.pk}-{self.at:%y%m%d%H%M%S%f}"
        return f"{self.part_of.token}.{own}" if self.part_of else own

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refused: audit entries are permanent. A query set's `delete` does not call this."""
        raise PermissionError("An audit entry cannot be deleted.")


class AuditedTask(models.Model):
    """Finds the entries of one task."""

    entry = models.ForeignKey(AuditEntry, on_delete=models.CASCADE, related_name="tasks")
    pool = models.CharField(max_length=200)
    task_id = models.CharField(max_length=200)

    class Meta:
        """Django's default permissions are not used."""

        default_permissions = ()
        indexes = (models.Index(fields=["task_id", "pool"], name="queueops_console_audited_task"),)

    def __str__(self) -> str:
        return self.task_id


class ErrorTriage(models.Model):
    """What operators have noted about an error. Times are epoch milliseconds, that of `resolved_ms` of the store."""

    objects: ClassVar[OfStore[Self]] = OfStore()
    store = models.CharField(max_length=STORE_LENGTH, blank=True, default=conf.store_name, db_default="")
    fingerprint = models.CharField(max_length=200)
    resolved_ms = models.BigIntegerField(null=True)
    assignee = models.CharField(max_length=150, blank=True)  # the name of a user; it stays when the account is deleted
    note = models.CharField(max_length=500, blank=True)

    class Meta:
        """Django's default permissions are not used."""

        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=("store", "fingerprint"), name="queueops_console_one_triage"),)

    def __str__(self) -> str:
        return self.fingerprint


class SavedView(models.Model):
    """A filter of the task list under a name. A shared one stays when its owner is deleted."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", verbose_name=_("owner")
    )
    name = models.CharField(_("name"), max_length=80)
    query = models.JSONField(_("filter"), default=dict)  # the parameters of the list's URL
    shared = models.BooleanField(_("for all users"), default=False, db_index=True)

    class Meta:
        """Django's default permissions are not used."""

        default_permissions = ()
        ordering = ("name", "pk")
        constraints = (models.UniqueConstraint(fields=["owner", "name"], name="queueops_console_saved_view"),)

    def __str__(self) -> str:
        return self.name


class UserColumns(models.Model):
    """The columns and the order of task lists that a user has chosen, in every browser and store."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    names = models.CharField(max_length=200, blank=True)  # joined by commas; empty: none
    sort = models.CharField(max_length=20, blank=True, default="", db_default="")  # empty: the store's order

    class Meta:
        """Django's default permissions are not used."""

        default_permissions = ()

    def __str__(self) -> str:
        return self.names


class LoginThrottle(models.Model):
    """Login attempts of a key until a time; or a key that is known until then."""

    key = models.CharField(max_length=80, unique=True)
    used = models.PositiveIntegerField(default=0)
    until = models.DateTimeField(db_index=True)

    class Meta:
        """Django's default permissions are not used."""

        default_permissions = ()

    def __str__(self) -> str:
        return self.key
