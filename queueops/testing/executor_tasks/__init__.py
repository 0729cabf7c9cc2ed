"""App for the settings of tests: its tasks are those that `ExecutorConformance` runs."""
