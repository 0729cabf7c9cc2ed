"""The audit log: each action with its user, time, target, changes and outcome."""
