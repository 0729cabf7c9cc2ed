"""Access: who may see and do what, and the login."""
