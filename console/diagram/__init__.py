"""The state machine as a picture, drawn on the server from `queueops.model.states`."""
