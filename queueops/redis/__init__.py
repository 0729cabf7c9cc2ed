"""Redis layer: keys, scripts, replies, connections, the embedded server and the broker. No other package uses Redis."""
