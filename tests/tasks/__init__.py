"""Tests of what a project writes tasks with."""
