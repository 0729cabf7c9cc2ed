"""The order of task lists that a user has chosen."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queueops_console", "0011_user_columns")]

    operations = [
        migrations.AddField(
            model_name="usercolumns",
            name="sort",
            field=models.CharField(blank=True, db_default="", default="", max_length=20),
        ),
    ]
