"""Answers that are no page of their own: redirects and error pages."""
