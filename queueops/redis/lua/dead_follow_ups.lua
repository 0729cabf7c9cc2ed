#!lua flags=no-writes
-- dead_follow_ups: the follow-ups that could not be pushed, the latest first.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 how many at most
-- Reply: for each: id of the task, ms, state of the task ('' = its record is gone, or another generation has its id), its
--        note ('' if there is none): generation, a space, JSON.
-- Transitions: none.
--@needs dead_follow_ups store_helpers tolerant_reads

lib.tolerate()

local function state_of(id, origin)
  local _, state, uid, first = lib.values_of(lib.task_key(id), F.state, F.uid, F.pushed_uid)
  return state and (first or uid) == origin and state or ''
end

local reply = {}
local found = call('ZREVRANGE', ctx.DEAD_FOLLOW_UPS, 0, tonumber(ARGV[1]) - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  local id, origin = string.match(found[i], '^(.-)#(.-)#')
  local note = call('HGET', ctx.DEAD_FOLLOW_UP_NOTES, found[i])
  reply[#reply + 1] = { id or found[i], found[i + 1], id and state_of(id, origin) or '', note or '' }
end
return lib.told(reply)
