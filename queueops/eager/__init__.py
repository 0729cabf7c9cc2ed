"""Eager mode: a broker that runs each task at its push, in memory. Kinds bring what is their own, by role `eager`."""
