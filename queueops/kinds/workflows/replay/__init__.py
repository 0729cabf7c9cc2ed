"""Replay: runs the code of a workflow from its history, and lets it do nothing that a history does not have."""
