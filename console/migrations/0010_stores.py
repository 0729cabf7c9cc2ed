"""Other stores: the store of audit entries, of notes on errors and of grants in pools."""

from django.db import migrations, models

from queueops import conf


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("queueops_console", "0009_cockpit_mute"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="poolgrant",
            name="queueops_console_one_grant",
        ),
        migrations.AddField(
            model_name="auditentry",
            name="store",
            field=models.CharField(
                blank=True, db_default="", default=conf.store_name, max_length=30, verbose_name="store"
            ),
        ),
        migrations.AddField(
            model_name="errortriage",
            name="store",
            field=models.CharField(blank=True, db_default="", default=conf.store_name, max_length=30),
        ),
        migrations.AddField(
            model_name="poolgrant",
            name="store",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="A name of STORES; empty: the project's own.",
                max_length=30,
                verbose_name="store",
            ),
        ),
        migrations.AlterField(
            model_name="errortriage",
            name="fingerprint",
            field=models.CharField(max_length=200),
        ),
        migrations.AddConstraint(
            model_name="errortriage",
            constraint=models.UniqueConstraint(fields=("store", "fingerprint"), name="queueops_console_one_triage"),
        ),
        migrations.AddConstraint(
            model_name="poolgrant",
            constraint=models.UniqueConstraint(
                fields=("group", "pool", "level", "store"), name="queueops_console_one_grant"
            ),
        ),
    ]
