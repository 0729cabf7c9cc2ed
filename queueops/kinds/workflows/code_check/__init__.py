"""Code check: what in the code of workflows no replay can repeat, found before it is deployed."""
