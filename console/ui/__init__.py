"""How things are shown: pages and fragments, lists, numbers, states, links."""
