"""Outbox: commands about tasks of other pools, and their delivery."""
