"""History of pools: figures over a range of time, of many series at once, and of one moment."""
