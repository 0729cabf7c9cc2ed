"""Callbacks of jobs: what is sent, by which way, when again, and to which addresses not now."""
