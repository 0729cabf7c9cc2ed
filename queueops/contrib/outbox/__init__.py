"""Outbox: an app that keeps pushes as rows of the project's database until the store has them.

INSTALLED_APPS = [..., "queueops.contrib.outbox"]
QUEUEOPS = {"TRANSACTIONS": "outbox", ...}

A row is committed with the transaction of its push, or not at all. It is sent right after the commit, or by a watchdog.
"""
