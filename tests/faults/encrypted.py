"""Tasks with a marker in each value, for worker processes."""

from tests.redis import encrypted_work as encrypted_work
