"""An outcome of the audit log for actions that a user may not do."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queueops_console", "0004_login_throttle")]

    operations = [
        migrations.AlterField(
            model_name="auditentry",
            name="outcome",
            field=models.CharField(
                choices=[
                    ("begun", "begun"),
                    ("done", "done"),
                    ("partly", "partly done"),
                    ("refused", "refused"),
                    ("denied", "not permitted"),
                    ("failed", "failed"),
                    ("unknown", "unknown"),
                ],
                default="begun",
                max_length=10,
                verbose_name="outcome",
            ),
        ),
    ]
