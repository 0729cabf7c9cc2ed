"""Pages: one module or folder for each."""
