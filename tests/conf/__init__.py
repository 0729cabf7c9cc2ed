"""Tests of settings, system checks and logging."""
