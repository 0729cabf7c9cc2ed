"""Code load time: when this process began to load the project's code. Imported with the app, before other code."""

import time

LOADED_AT = time.time()
"""Seconds of the epoch: a file that was saved later may be newer than the loaded code."""
