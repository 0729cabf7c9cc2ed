"""Tests of handles, results and their signals."""
