#!lua flags=no-writes
-- page: one page of a task list, newest first, walking the smallest index that the filter allows within a budget.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 rows, 2 budget of candidates, 3..5 cursor: index, score, id ('' at the beginning), 6 number of indexes
--       to choose from; their key suffixes ('*' = every state,
--       'state:finished' = every state of ended tasks, 'state:a,b' = some states); then triples: field, value, suffix of
--       the index that implies it ('' = none).
-- Reply: suffix of the walked index, its size, '1' at its end, candidates seen, score and id of the last one; then for
--        each row: id, score, time of its state, length of its arguments, its fields.
-- Transitions: none.
--@needs list_page tolerant_reads

lib.tolerate()
return lib.told(lib.list_page(ARGV))
