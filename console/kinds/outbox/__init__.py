"""Outbox: the page of the commands between pools, and the actions on them."""
