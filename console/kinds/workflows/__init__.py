"""Pages of workflows: the tab of a run, and its actions."""
