"""Mutes of errors are kept in the store, where the watchdog heeds them.

Mutes in this column are not copied: a migration must not need the store. Mute these errors again.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("queueops_console", "0008_act_push_grants_errors"),
    ]

    operations = [
        migrations.RemoveField(
            model_name="errortriage",
            name="muted_until_ms",
        ),
    ]
