"""Tests of plain data."""
