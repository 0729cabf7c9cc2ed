"""Presentation: rendering of pages and fragments, lists, numbers, states, links and forms."""
