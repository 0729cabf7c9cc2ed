-- Claim: visits the ready lanes in a fair round and takes a share of each, until enough tasks are leased.
-- A plain task has a shorter path, with the same result: fast_swap.lua.
--@needs cancel claim_on_settle end_effects expiry lanes limits minute_counts numbers paused_names phases rate_limit records served_kinds
--@needs served_lanes store_helpers transitions unknown_names

local function lease_task(id, score, number, entered, worker, deadline, reply)
  local key = lib.task_key(id)
  local fields = redis.pcall('HGETALL', key)
  local state, name, kind, lane, created, phase, more, expires, limited
  if not fields.err then
    for i = 1, #fields, 2 do
      local field = fields[i]
      if field == 's' then state = fields[i + 1]
      elseif field == 'n' then name = fields[i + 1]
      elseif field == 'c' then created = fields[i + 1]
      elseif field == 'ph' then phase = fields[i + 1]
      elseif field == 'xe' then expires = true
      elseif lib.IS_MORE[field] then
        more = lib.more_with(field, more)
        if field == 'l' then lane = fields[i + 1] elseif field == 'k' then kind = fields[i + 1] elseif field == 'lk' then limited = true end
      end
    end
  end
  if not (name and CLASS[state]) then
    if lib.is_foreign(id) then return lib.hooks.parts.claim(id, number, worker, deadline, reply, score) end
    return lib.quarantine(id, 'pending', nil)
  end
  if state ~= 'pending' then return end
  local expiring = expires and lib.read_record(id)
  if expiring and lib.expire_unbegun(id, expiring, entered) then return end
  if lib.is_name_paused(name) then return lib.hold_back(id, score, name) end
  if lib.leaves_alone(worker, name, lane or 'default', score, id) then return end
  local leased = kind and CLAIMED_AS[phase and kind .. ' ' .. phase or kind] or 'locked'
  if expiring then lib.begin_again(id, expiring) end
  if created then
    call('HSET', key, 's', leased, 'f', number, 'w', worker, 'b', NOW)
  else
    call('HSET', key, 's', leased, 'f', number, 'w', worker, 'b', NOW, 'c', entered or NOW)
  end
  if more then call('HSET', key, 'm', more) end
  lib.move(id, 'pending', leased, name, kind, lane)
  lib.schedule(id, deadline)
  lib.take_slot(lane or 'default', id)
  if limited then lib.begin_turn(id, fields) end
  if kind then lib.add_brief(id, kind, fields) end
  reply[#reply + 1] = { id, number, now - (tonumber(entered) or now), fields }
end

-- A lane's share in this turn: an even part of the wanted tasks, times its weight, within slots and tokens.
local function share_of(lane, want, ready_lanes)
  local share = ready_lanes == 1 and want or max(1, floor(want / ready_lanes * lib.lane_conf(lane).weight))
  return min(share, want, 1000, lib.free_slots(lane) or want)
end

local function take_from(lane, is_own, share, lanes)
  if ctx.kinds and not is_own then return lib.pop_of_kinds(lane, share, lanes) end
  return lib.try('ZPOPMIN', lib.lane_key(lane), share)
end

fresh.passed = 0 -- lanes at the head of the round that have nothing for this worker

-- `place` is that of the lane in the round.
local function claim_turn(lane, place, want, worker, lease, reply)
  local is_own = lib.is_own_lane(lane)
  local lanes = call('ZCARD', P .. ':lanes:ready') - ctx.passed
  local serves = not is_own or lib.serves_own_lane(lane)
  local share = serves and share_of(lane, want, lanes)
  if is_own and share then share = lib.hooks.parts.lane_share(lane, share, worker) end
  if not share then ctx.passed = ctx.passed + 1; return end
  local popped = share > 0 and take_from(lane, is_own, share, lanes)
  if share > 0 and not popped then return call('ZREM', P .. ':lanes:ready', lane) end -- that is no lane
  popped = popped or {}
  local count, ids = #popped / 2, {}
  local number, held = count > 0 and lib.next_number(count) - count or 0, ctx.held_back
  for i = 1, count do ids[i] = popped[2 * i - 1] end
  if is_own then
    lib.hooks.parts.lease_lane(lane, ids, number, worker, now + lease, reply)
  elseif count > 0 then
    local entered = lib.try('ZMSCORE', P .. ':state:pending', unpack(ids)) or {}
    local before, conf = #reply, lib.lane_conf(lane)
    for i = 1, count do lease_task(ids[i], popped[2 * i], number + i, entered[i], worker, now + lease, reply) end
    if conf.rate and #reply > before then lib.take_tokens(lib.lane_key(lane) .. SUBKEY.conf, conf, #reply - before) end
    if ctx.held_back > held then
      count = count - (ctx.held_back - held)
      lib.hold_back_next(lane)
    end
  end
  if share == 0 or lib.free_slots(lane) == 0 or call('EXISTS', lib.lane_key(lane)) == 0 then
    call('ZREM', P .. ':lanes:ready', lane)
    ctx.touched[lane] = true
  else
    call('ZADD', P .. ':lanes:ready', place + count / lib.lane_conf(lane).weight, lane)
  end
end

-- The claim of a worker that has patterns of lanes: the same round over the lanes that it serves. The others count as passed.
local function claim_served(want, worker, lease, reply)
  local lanes, turns, before = ctx.calm and {} or lib.served_lanes(), 0, -1
  ctx.nothing_ready = #lanes == 0 and (ctx.calm or call('ZCARD', P .. ':lanes:ready') == 0)
  while #lanes > 0 and #reply + ctx.held_back > before and #reply < want and turns < 500 and ctx.held_back < lib.HOLD_MOST do
    before, ctx.passed = #reply + ctx.held_back, call('ZCARD', P .. ':lanes:ready') - #lanes
    for _, entry in ipairs(lanes) do
      if #reply == want or turns == 500 then break end
      turns = turns + 1
      claim_turn(entry.lane, entry.place, want - #reply, worker, lease, reply)
    end
    for i, entry in ipairs(lanes) do lanes[i] = entry.lane end
    lanes = lib.in_round(lanes)
  end
  ctx.passed = call('ZCARD', P .. ':lanes:ready') - #lanes
end

local function claim_any(want, worker, lease, reply)
  local turns = 0
  while #reply < want and turns < 500 and ctx.held_back < lib.HOLD_MOST do
    turns = turns + 1
    local first = ctx.calm and {} or call('ZRANGE', P .. ':lanes:ready', ctx.passed, ctx.passed, 'WITHSCORES')
    local lane, place = unpack(first)
    if not lane then ctx.nothing_ready = turns == 1; break end
    claim_turn(lane, place, want - #reply, worker, lease, reply)
  end
end

function lib.claim(want, worker, lease, reply)
  if ctx.patterns then claim_served(want, worker, lease, reply) else claim_any(want, worker, lease, reply) end
  local left = lib.put_back()
  ctx.nothing_ready = ctx.nothing_ready and left == 0
  if (left > 0 or ctx.kinds) and #reply < want then ctx.passed = call('ZCARD', P .. ':lanes:ready') end -- nothing else is left
  lib.settle_up()
  return reply
end
