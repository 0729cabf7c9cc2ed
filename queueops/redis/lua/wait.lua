#!lua flags=allow-oom
-- wait: somebody wants to be told of the end of a task (by a message on `P:task:<id>#done`).
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id
-- Reply: the state now; '' when there is no such task.
-- Transitions: none.
--@include clock
--@include core

local row = fields_of(task_key(ARGV[1]), 's')
if not row or not row[1] then return '' end
if not TERMINAL[row[1]] then call('HSET', task_key(ARGV[1]), 'wt', 1) end
return row[1]
