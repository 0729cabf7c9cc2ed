"""The operations console: what happens, why, and what can be done about it. It asks and acts through the engine."""
