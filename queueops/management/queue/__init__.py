"""The parts of `manage.py queue`: each subcommand is a function that asks or acts, and says what it found."""
