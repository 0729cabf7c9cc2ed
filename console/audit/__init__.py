"""The audit log: what was done, by whom, and what it changed."""
