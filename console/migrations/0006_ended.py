"""The time when workers had ended a bulk action: its bar is shown for a while after it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queueops_console", "0005_denied")]

    operations = [
        migrations.AddField(
            model_name="auditentry",
            name="ended_at",
            field=models.DateTimeField(db_index=True, null=True),
        ),
    ]
