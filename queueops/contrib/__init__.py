"""Integrations of other libraries, such as Django's task framework."""
