"""Management commands: `manage.py queueops` and its subcommands."""
