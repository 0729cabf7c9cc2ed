"""Files of jobs: downloads, the stores of their files, lists of them, and their deletion."""
