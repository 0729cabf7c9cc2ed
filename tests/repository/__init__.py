"""Tests of the repository itself: its docs, its tree, its wheel, its dependencies."""
