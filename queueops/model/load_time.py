"""When this process began to load the project's code: imported with the app, before the code of others."""

import time

LOADED_AT = time.time()
"""Seconds of the epoch: a file that was saved later may be newer than what runs."""
