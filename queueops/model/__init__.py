"""Plain data that all parts share: states, records, ids, durations, encoding. It needs neither Redis nor models."""
