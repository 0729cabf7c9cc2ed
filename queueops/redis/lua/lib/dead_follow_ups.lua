-- Dead follow-ups: those that could not be pushed. An index has each by the time, as `<task>#<generation>#<number>`, and a hash
-- what an operator must know of it. Neither depends on the record of the task, which may end first.
--@needs minute_counts outbox store_helpers transitions

local MOST, LISTED_MS, SHOWN_MS, OUT_AT_ONCE = 10000, 7 * 86400000, 86400000, 1000
local MOST_PLANS = 20 -- of one end
fresh.DEAD_FOLLOW_UPS = function() return P .. ':follow_ups:dead' end
fresh.DEAD_FOLLOW_UP_NOTES = function() return P .. ':follow_ups:notes' end

local function unlist(members)
  if not members[1] then return end
  lib.try('ZREM', ctx.DEAD_FOLLOW_UPS, unpack(members))
  lib.try('HDEL', ctx.DEAD_FOLLOW_UP_NOTES, unpack(members))
end

-- Generations share a member where a retry follows them: `origin` is the first of them.
local function member_of(id, origin, number) return id .. '#' .. origin .. '#' .. number end

-- Lists one. `dead` has id, uid, origin, number, name (of the task), outcome, and what was to be pushed: next, pool, next_id.
local function list(dead, reason)
  local member = member_of(dead.id, dead.origin, dead.number)
  local function short(text) return lib.shortened(text or '', 200) end
  lib.try('ZADD', ctx.DEAD_FOLLOW_UPS, NOW, member)
  local note = { name = short(dead.name), outcome = dead.outcome, next = short(dead.next), pool = short(dead.pool),
    next_id = short(dead.next_id), reason = lib.shortened(reason, 500) }
  lib.try('HSET', ctx.DEAD_FOLLOW_UP_NOTES, member, dead.uid .. ' ' .. cjson.encode(note))
  local over = (lib.try('ZCARD', ctx.DEAD_FOLLOW_UPS) or 0) - MOST
  if over > 0 then unlist(lib.try('ZRANGE', ctx.DEAD_FOLLOW_UPS, 0, min(over, OUT_AT_ONCE) - 1) or {}) end
end

-- One was delivered after all. That of a later generation stays.
local function unlist_delivered(id, uid, origin, number)
  local member = member_of(id, origin, number)
  local note = lib.try('HGET', ctx.DEAD_FOLLOW_UP_NOTES, member)
  if note and string.sub(note, 1, #uid + 1) == uid .. ' ' then unlist({ member }) end
end

-- A task has ended once more: those of its earlier end do not count any more.
function lib.unlist_dead_follow_ups(id, origin)
  local members = {}
  for number = 0, MOST_PLANS do members[#members + 1] = member_of(id, origin, number) end
  unlist(members)
end

-- Notes a follow-up that could not be pushed: in the counters, in the list of the pool, and in the record and the log of its
-- task while they exist. Returns the reason.
function lib.note_dead_follow_up(dead, reason)
  lib.count_minute('fu|dead', 1)
  list(dead, reason)
  local row = lib.named_fields(lib.task_key(dead.id), F.uid, F.state)
  if row and row[F.state] and row[F.uid] == dead.uid then
    lib.safe_call('HINCRBY', lib.task_key(dead.id), F.follow_ups_dead, 1)
    lib.log_line(dead.id, { k = 'follow_up', text = 'the follow-up on ' .. dead.outcome .. ' was not pushed: ' .. reason })
  end
  return reason
end

-- What its command says of a follow-up.
local function note_dead_command(command, reason)
  lib.note_dead_follow_up({ id = command.me, uid = command.u or '', origin = command.uo or command.u or '', number = command.fn or 0,
    name = command.tn, outcome = command.oo or '?', next = command.nn, pool = command.to, next_id = command.i }, reason)
end

function lib.hooks.reply.follow_up(command, word, detail)
  if word ~= 'OK' then return note_dead_command(command, word == 'REFUSED' and detail or 'its pool could not read it') end
  if not command.dd then return end
  unlist_delivered(command.me, command.u or '', command.uo or command.u or '', command.fn or 0) -- it was given up before
  local row = lib.named_fields(lib.task_key(command.me), F.uid)
  if row and row[F.uid] == command.u then lib.safe_call('HINCRBY', lib.task_key(command.me), F.follow_ups_dead, -1) end
end

function lib.hooks.dead_message.follow_up(command, reason)
  if command.dd then return end
  lib.safe_call('HSET', ctx.COMMAND .. command.cid, 'dd', 1)
  note_dead_command(command, reason)
end

local function last_reason()
  local member = call('ZREVRANGE', ctx.DEAD_FOLLOW_UPS, 0, 0)[1]
  local stored = member and call('HGET', ctx.DEAD_FOLLOW_UP_NOTES, member)
  local is_json, note = pcall(cjson.decode, stored and string.match(stored, ' (.*)') or '')
  return is_json and type(note) == 'table' and note.reason or ''
end

-- Those of the last day: the alarm ends by itself.
function lib.follow_up_figures(figures)
  if call('ZCARD', ctx.DEAD_FOLLOW_UPS) == 0 then return end
  local count, in_an_hour = call('ZCOUNT', ctx.DEAD_FOLLOW_UPS, lib.text(now - SHOWN_MS), '+inf'), lib.counted_last_hour('fu|dead')
  if count > 0 then figures.dead_follow_ups, figures.dead_follow_up_reason = count, last_reason() end
  if in_an_hour > 0 then figures.dead_follow_ups_in_an_hour = in_an_hour end
end

-- Their retention ends.
function lib.trim_dead_follow_ups()
  unlist(lib.try('ZRANGEBYSCORE', ctx.DEAD_FOLLOW_UPS, '-inf', lib.text(now - LISTED_MS), 'LIMIT', 0, OUT_AT_ONCE) or {})
end
