"""Pool messages: the page of the messages between pools, and the actions on them."""
