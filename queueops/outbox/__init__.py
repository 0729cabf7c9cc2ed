"""Outbox: messages about tasks of other pools, and who brings them."""
