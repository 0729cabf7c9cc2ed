"""Migrations of the marks."""
