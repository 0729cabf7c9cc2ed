"""Redis layer: keys, scripts, replies, connections, embedded server and broker. No other package imports redis-py."""
