"""Shared data model: states, records, ids, durations, encoding. Plain data, without Redis and without Django models."""
