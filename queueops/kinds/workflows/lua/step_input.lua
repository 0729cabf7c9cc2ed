#!lua flags=no-writes
-- step_input: what a decision step begins with.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 fence of its lease, 3 fence of the step after which the worker has the run in memory ('' = it does not),
--       4 entries of the history that it has
-- Reply: '1' if the reply goes on from there, instance, the run that waits for it, a page of the history from there, the
--        first events of the inbox, the run that began the history, and the length of the whole history; empty if the lease
--        is not current.
-- Transitions: none.
--@needs runs store_helpers

local id = ARGV[1]
local row = lib.named_fields(lib.task_key(id), F.fence, F.step_fence, F.instance, F.waiting_run, F.origin)
if not row or row[F.fence] ~= ARGV[2] then return {} end
local goes_on = ARGV[3] ~= '' and row[F.step_fence] == ARGV[3]
local first, key = goes_on and tonumber(ARGV[4]) or 0, lib.runs.history_of(id)
local history = call('LRANGE', key, first, first + 999)
local inbox = call('LRANGE', lib.runs.inbox_of(id), 0, 999)
return { goes_on and '1' or '', row[F.instance] or '', row[F.waiting_run] or '', history, inbox, row[F.origin] or '', call('LLEN', key) }
