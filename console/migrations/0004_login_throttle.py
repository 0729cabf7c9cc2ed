"""Tries to log in are counted by key, in place of a row for each failure."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queueops_console", "0003_unknown")]

    operations = [
        migrations.CreateModel(
            name="LoginThrottle",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=80, unique=True)),
                ("used", models.PositiveIntegerField(default=0)),
                ("until", models.DateTimeField(db_index=True)),
            ],
            options={"default_permissions": ()},
        ),
        migrations.DeleteModel(name="FailedLogin"),
    ]
