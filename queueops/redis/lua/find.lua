#!lua flags=no-writes
-- find: tasks whose id begins with a text, within a budget.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 beginning of the id, 2 time in ms before which no such task was made ('' = not known), 3 budget of candidates
--       for each state and end, 4 rows
-- Reply: '1' if the budget left candidates out; then for each row: id, score (empty), time of its state, length of its
--        arguments, its fields, the start of its arguments and of its error.
-- Transitions: none.
--@needs id_prefix tolerant_reads

lib.tolerate()

local rows, left = lib.rows_with_prefix(ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]))
return lib.told({ left and '1' or '', rows })
