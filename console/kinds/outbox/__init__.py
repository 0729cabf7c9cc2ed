"""Outbox: the page of the pushes that wait in databases of the project, and the actions on them."""
