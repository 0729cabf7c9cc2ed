"""The main loop of a worker process: it claims, renews and settles."""
