"""One valid token of a name on each database: MySQL has no constraints with a condition."""

from contextlib import suppress
from typing import Any

from django.db import IntegrityError, migrations, models, transaction


def fill(apps: Any, schema_editor: Any) -> None:
    """Give each valid token its valid name, but the oldest alone where two have one name."""
    alias = schema_editor.connection.alias
    tokens = apps.get_model("queueops_jobs_api", "ApiToken").objects.using(alias)
    for token in tokens.filter(revoked_at=None).order_by("pk"):
        with suppress(IntegrityError), transaction.atomic(using=alias):
            tokens.filter(pk=token.pk).update(valid_name=token.name)


class Migration(migrations.Migration):
    dependencies = [("queueops_jobs_api", "0001_tokens")]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="valid_name",
            field=models.CharField(max_length=100, null=True, unique=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RemoveConstraint(model_name="apitoken", name="queueops_jobs_api_token_name"),
    ]
