"""Shared data model: states, records, contracts, ports, ids, durations, retry, cron, redaction.

It knows neither Redis nor Django models; it reads a few of Django's settings, such as the time zone.
"""
