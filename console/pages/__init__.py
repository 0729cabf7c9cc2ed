"""Pages of the console: one module or folder for each."""
