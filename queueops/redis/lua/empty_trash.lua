#!lua flags=allow-oom
-- empty_trash: deletes records in the trash for good, the oldest first. What belongs to a large record goes in steps.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 limit of records, 2 only what was deleted before this time (epoch ms; '' = now)
-- Reply: how many records were deleted, how many are left, the time of argument 2.
-- Transitions: none.
--@needs phases transitions

local trashed, before = P .. ':trashed', ARGV[2] ~= '' and ARGV[2] or NOW
local count = call('ZCOUNT', trashed, '-inf', before)
lib.need_agenda()
for _, id in ipairs(call('ZRANGEBYSCORE', trashed, '-inf', before, 'LIMIT', 0, tonumber(ARGV[1]))) do
  lib.hooks.due_entry.trash(id)
  if not call('ZSCORE', trashed, id) then lib.unschedule('~trash:' .. id) end
end
lib.settle_up()
local left = call('ZCOUNT', trashed, '-inf', before)
return { count - left, left, before }
