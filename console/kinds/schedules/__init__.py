"""Schedules: their pages, their form and the actions on them."""
