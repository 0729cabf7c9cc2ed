"""Tests of what a kind brings: a sample kind, in one folder."""
