"""The stand-alone project: what `manage.py` of this repository runs. Someone else's project needs none of it."""
