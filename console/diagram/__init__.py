"""State diagram: drawn as SVG on the server from `queueops.model.states`."""
