from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("demo", "0001_demo")]

    operations = [
        migrations.CreateModel(
            name="Report",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("task", models.CharField(max_length=200, unique=True)),
                ("root", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("at", models.DateTimeField(auto_now=True)),
            ],
            options={"default_permissions": ()},
        ),
        migrations.CreateModel(
            name="Digest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first", models.PositiveBigIntegerField(unique=True)),
                ("last", models.PositiveBigIntegerField()),
                ("verbs", models.JSONField(default=dict)),
                ("people", models.PositiveIntegerField()),
                ("at", models.DateTimeField(auto_now=True)),
            ],
            options={"default_permissions": ()},
        ),
    ]
