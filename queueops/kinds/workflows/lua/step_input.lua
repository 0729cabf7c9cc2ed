#!lua flags=no-writes
-- step_input: what a decision step begins with.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 fence of its lease, 3 fence of the step after which the worker has the run in memory ('' = it does not),
--       4 entries of the history that it has
-- Reply: '1' if the reply goes on from there, instance, the run that waits for it, the history from there, the inbox, and
--        the run that began the history; empty if the lease is not current.
-- Transitions: none.
--@needs runs store_helpers

local id = ARGV[1]
local row = lib.fields_of(lib.task_key(id), 'f', 'vf', 'vi', 'vr', 'vo')
if not row or row[1] ~= ARGV[2] then return {} end
local goes_on = ARGV[3] ~= '' and row[2] == ARGV[3]
local history = call('LRANGE', lib.runs.history_of(id), goes_on and ARGV[4] or 0, -1)
return { goes_on and '1' or '', row[3] or '', row[4] or '', history, call('LRANGE', lib.runs.inbox_of(id), 0, 999), row[5] or '' }
