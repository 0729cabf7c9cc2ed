"""Tests of `queueops.testing`."""
