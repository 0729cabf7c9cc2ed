"""The permission to push tasks."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("queueops_console", "0006_ended")]

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
                    ("push", "May push tasks"),
                ),
                "default_permissions": (),
                "managed": False,
            },
        ),
    ]
