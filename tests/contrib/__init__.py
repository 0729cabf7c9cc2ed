"""Tests of django.tasks."""
