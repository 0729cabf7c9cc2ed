"""The tables of the outbox."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    operations = [
        migrations.CreateModel(
            name="RelayTurn",
            fields=[("id", models.SmallIntegerField(primary_key=True, serialize=False))],
        ),
        migrations.CreateModel(
            name="OutboxRow",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("form", models.CharField(max_length=20)),
                ("pool", models.CharField(max_length=100)),
                ("lane", models.CharField(max_length=100)),
                ("push_id", models.CharField(max_length=255)),
                ("name", models.CharField(max_length=255)),
                ("body", models.TextField()),
                ("created", models.DateTimeField()),
                ("dead", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True, default="")),
            ],
            options={
                "indexes": [models.Index(fields=["dead", "pool", "lane", "id"], name="queueops_outbox_lane")],
            },
        ),
    ]
