#!lua flags=allow-oom
-- wait: registers a caller that waits for the end of a task (told by a message on `P:task:<id>#done`).
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 the awaited generation (0: any), 3 '1' if it is the generation after that
-- Reply: the state now; '' when there is no such task, `superseded` when another generation has the id, `waiting` when
--        the generation before has not ended.
-- Transitions: none.
--@needs end_effects store_helpers

local wanted, after = tonumber(ARGV[2]), ARGV[3] == '1'
local row = lib.named_fields(lib.task_key(ARGV[1]), F.state, F.uid, F.pushed_uid, F.has_more)
if not row or not row[F.state] then return '' end
local found = lib.number_of(row[F.pushed_uid] or row[F.uid])
if wanted > 0 and found ~= wanted and not (after and found and found > wanted) then return 'superseded' end
if not TERMINAL[row[F.state]] then call('HSET', lib.task_key(ARGV[1]), F.waited_for, 1, F.has_more, row[F.has_more] or lib.LIGHT) end
return after and found == wanted and 'waiting' or row[F.state]
