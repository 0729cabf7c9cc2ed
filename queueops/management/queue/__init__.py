"""Subcommands of `manage.py queue`: each function asks or acts, and yields its output."""
