"""The only place that knows Redis: keys, scripts, replies, connections, the embedded server and the broker."""
