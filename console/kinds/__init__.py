"""Task kinds: the pages of map-reduce tasks and composites."""
