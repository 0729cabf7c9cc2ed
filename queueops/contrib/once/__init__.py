"""Once: an app that makes what a task writes to the database happen once for each task, however often it runs.

from queueops.contrib.once import once

@task
@once
def book(order: int) -> int: ...
"""

from queueops.contrib.once.decorator import forget, once

__all__ = ["forget", "once"]
