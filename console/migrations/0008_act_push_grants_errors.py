"""The permission to push tasks, grants in single pools, and notes on errors."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("auth", "0012_alter_user_first_name_max_length"), ("queueops_console", "0007_views")]

    operations = [
        migrations.AlterModelOptions(
            name="access",
            options={
                "permissions": (
                    ("view", "May see the console"),
                    ("operate", "May retry, run, postpone, cancel and edit tasks"),
                    ("destroy", "May delete and discard tasks"),
                    ("configure", "May pause and limit lanes, and quiet and stop workers"),
                    ("see_arguments", "May see arguments, results and raw records"),
                    ("export", "May export lists and tasks"),
                    ("push", "May push tasks"),
                    ("share", "May share saved views with all users"),
                ),
                "default_permissions": (),
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="PoolGrant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "pool",
                    models.CharField(
                        help_text="A name, or a pattern such as mail*.", max_length=100, verbose_name="pool"
                    ),
                ),
                (
                    "level",
                    models.CharField(
                        choices=[
                            ("operate", "operate: retry, run, postpone, cancel and edit tasks"),
                            ("administer", "administer: also delete tasks, and pause and limit lanes"),
                            ("push", "push tasks"),
                        ],
                        default="operate",
                        max_length=20,
                        verbose_name="level",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="auth.group",
                        verbose_name="group",
                    ),
                ),
            ],
            options={
                "verbose_name": "grant in a pool",
                "verbose_name_plural": "grants in pools",
                "constraints": [
                    models.UniqueConstraint(fields=("group", "pool", "level"), name="queueops_console_one_grant")
                ],
            },
        ),
        migrations.CreateModel(
            name="ErrorTriage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("fingerprint", models.CharField(max_length=200, unique=True)),
                ("resolved_ms", models.BigIntegerField(null=True)),
                ("muted_until_ms", models.BigIntegerField(null=True)),
                ("assignee", models.CharField(blank=True, max_length=150)),
                ("note", models.CharField(blank=True, max_length=500)),
            ],
            options={"default_permissions": ()},
        ),
    ]
