#!lua flags=no-writes
-- facets: the values by which a list can be filtered. The indexes and counters give the number of tasks of each.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many values of a facet at most (the latest used), 2 state, 3 name, 4 lane, 5 kind ('' = any), 6.. the kinds
--       there are
-- Reply: flat pairs: facet, list of value, count, ...
-- Transitions: none.
--@needs list_facets tolerant_reads

lib.tolerate()
return lib.told(lib.list_facets(ARGV))
