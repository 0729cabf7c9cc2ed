#!lua flags=no-writes
-- run_page: one page of runs, newest first, walking the smallest index that the filter allows within a budget.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 rows, 2 budget of candidates, 3..5 cursor: index, score, id ('' at the beginning), 6 and 7 the earliest and the
--       latest creation in ms ('' = any), 8 a text that the status has, in lower case, 9 an instance, or '*' behind its
--       beginning ('' = any), 10 number of indexes to choose from; their key suffixes; then triples as of `page`.
-- Reply: as of `page`.
-- Transitions: none.
--@needs run_walk tolerant_reads

lib.tolerate()
return lib.told(lib.run_walk.page(ARGV))
