"""Map-reduce tasks: the pages of their chunks and the actions on them."""
