"""Tests of connections and of the embedded server."""
