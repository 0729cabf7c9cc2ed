"""Actions on all tasks that match a filter: an entry with parts, and where it goes on."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queueops_console", "0001_console")]

    operations = [
        migrations.AddField(
            model_name="auditentry",
            name="part_of",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="parts",
                to="queueops_console.auditentry",
            ),
        ),
        migrations.AddField(model_name="auditentry", name="place", field=models.TextField(null=True)),
        migrations.AddField(model_name="auditentry", name="seen", field=models.PositiveIntegerField(default=0)),
    ]
