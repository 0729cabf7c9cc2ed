from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queueops_console", "0002_parts")]

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
                    ("failed", "failed"),
                    ("unknown", "unknown"),
                ],
                default="begun",
                max_length=10,
                verbose_name="outcome",
            ),
        ),
    ]
