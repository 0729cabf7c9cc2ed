"""Stand-alone project: what `manage.py` of this repository runs. Other projects do not need it."""
