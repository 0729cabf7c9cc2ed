"""The permissions to export and to share views, and the saved views."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("queueops_console", "0006_ended"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="access",
            options={
                "default_permissions": (),
                "managed": False,
                "permissions": (
                    ("view", "May see the console"),
                    ("operate", "May retry, run, postpone, cancel and edit tasks"),
                    ("destroy", "May delete and discard tasks"),
                    ("configure", "May pause and limit lanes, and quiet and stop workers"),
                    ("see_arguments", "May see arguments, results and raw records"),
                    ("export", "May export lists and tasks"),
                    ("share", "May share saved views with all users"),
                ),
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80, verbose_name="name")),
                ("query", models.JSONField(default=dict, verbose_name="filter")),
                ("shared", models.BooleanField(db_index=True, default=False, verbose_name="for all users")),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="owner",
                    ),
                ),
            ],
            options={
                "ordering": ("name", "pk"),
                "default_permissions": (),
                "constraints": [models.UniqueConstraint(fields=("owner", "name"), name="queueops_console_saved_view")],
            },
        ),
    ]
