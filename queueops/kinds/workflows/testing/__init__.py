"""Test environment of workflows: runs them in memory, without a store, and without waiting."""
