"""Follow-ups: tasks that the end of another task pushes, in the call that ends it."""
