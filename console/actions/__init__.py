"""Actions on tasks: selection, confirmation, execution and undo."""
