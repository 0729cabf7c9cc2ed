"""The table of the marks."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    operations = [
        migrations.CreateModel(
            name="DoneTask",
            fields=[
                ("key", models.CharField(max_length=320, primary_key=True, serialize=False)),
                ("result", models.TextField()),
                ("done", models.DateTimeField(db_index=True)),
            ],
        ),
    ]
