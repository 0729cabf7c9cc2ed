"""Access control of the console: permissions, login, CSRF protection and response headers."""
