"""The audit log, failed logins, the permissions of the console and its three groups."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

GROUPS = {
    "viewers": ["view"],
    "operators": ["view", "operate", "see_arguments"],
    "administrators": ["view", "operate", "destroy", "configure", "see_arguments"],
}


def make_groups(apps, schema_editor):
    """Make the three groups, and the permissions that they need (Django makes those only after all migrations).

    A group that already has one of these names gets no permissions. The project chose its members for another purpose.
    """
    alias = schema_editor.connection.alias
    access, _ = (
        apps.get_model("contenttypes", "ContentType")
        .objects.using(alias)
        .get_or_create(app_label="queueops_console", model="access")
    )
    names = dict(apps.get_model("queueops_console", "Access")._meta.permissions)
    permissions = {
        verb: apps.get_model("auth", "Permission")
        .objects.using(alias)
        .get_or_create(content_type=access, codename=verb, defaults={"name": name})[0]
        for verb, name in names.items()
    }
    for name, verbs in GROUPS.items():
        group, is_new = apps.get_model("auth", "Group").objects.using(alias).get_or_create(name=name)
        if is_new:
            group.permissions.add(*(permissions[verb] for verb in verbs))
        else:
            print(f"\n  There is a group {name!r} already: it gets no permission of the console by itself.")


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Access",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ],
            options={
                "permissions": (
                    ("view", "May see the console"),
                    ("operate", "May retry, run, postpone, cancel and edit tasks"),
                    ("destroy", "May delete and discard tasks"),
                    ("configure", "May pause and limit lanes, and quiet and stop workers"),
                    ("see_arguments", "May see arguments, results and raw records"),
                ),
                "managed": False,
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(auto_now_add=True, db_index=True, verbose_name="when")),
                ("actor_name", models.CharField(max_length=150, verbose_name="name")),
                ("address", models.GenericIPAddressField(null=True, verbose_name="address")),
                ("verb", models.CharField(db_index=True, max_length=40, verbose_name="action")),
                ("target", models.CharField(max_length=400, verbose_name="target")),
                ("ids", models.JSONField(default=list, verbose_name="tasks")),
                ("filter", models.JSONField(default=dict, verbose_name="filter")),
                ("count", models.PositiveIntegerField(default=0, verbose_name="how many")),
                ("changed", models.PositiveIntegerField(default=0, verbose_name="changed")),
                ("reason", models.CharField(blank=True, max_length=500, verbose_name="reason")),
                ("before", models.JSONField(default=dict, verbose_name="before")),
                ("after", models.JSONField(default=dict, verbose_name="after")),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("begun", "begun"),
                            ("done", "done"),
                            ("partly", "partly done"),
                            ("refused", "refused"),
                            ("failed", "failed"),
                        ],
                        default="begun",
                        max_length=10,
                        verbose_name="outcome",
                    ),
                ),
                ("detail", models.CharField(blank=True, max_length=1000, verbose_name="detail")),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="who",
                    ),
                ),
                (
                    "undoes",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="undone_by",
                        to="queueops_console.auditentry",
                        verbose_name="undoes",
                    ),
                ),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit entries",
                "ordering": ("-pk",),
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="FailedLogin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=80)),
                ("at", models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["key", "at"], name="queueops_console_failed_login")],
            },
        ),
        migrations.CreateModel(
            name="AuditedTask",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("pool", models.CharField(max_length=200)),
                ("task_id", models.CharField(max_length=200)),
                (
                    "entry",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tasks",
                        to="queueops_console.auditentry",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["task_id", "pool"], name="queueops_console_audited_task")],
            },
        ),
        migrations.RunPython(make_groups, migrations.RunPython.noop, elidable=False),
    ]
