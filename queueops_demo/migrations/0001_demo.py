from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Pace",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("rate", models.FloatField(default=4.0)),
            ],
            options={"default_permissions": ()},
        ),
        migrations.CreateModel(
            name="Reading",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=400)),
                ("tenant", models.CharField(blank=True, max_length=40)),
                ("lines", models.PositiveIntegerField()),
                ("words", models.PositiveIntegerField()),
                ("at", models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
            options={"default_permissions": ()},
        ),
    ]
