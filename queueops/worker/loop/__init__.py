"""Main loop of a worker process: claims, renews and settles."""
