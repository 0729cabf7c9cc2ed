-- Claim on settle: if no lane has a ready task, a settling worker with free slots gets new ready tasks directly. The
-- result is the same as by the lane, at half the cost. Only the claiming script sets `room`; elsewhere it is 0.
--@needs attempts end_effects lanes numbers rules served_lanes store_helpers transitions

fresh.nothing_ready = false -- whether a claim found no ready lane, and has changed nothing
fresh.at_once = function() return { room = 0, leases = {} } end

-- Counts two moves, to `pending` and from it. The state indexes get only the first and the last state.
local function pass_pending(id, record, leased)
  lib.move(id, record.s, 'pending', record.n, record.k, record.l)
  lib.move(id, 'pending', leased, record.n, record.k, record.l)
  local came, went = ctx.entering.pending, ctx.leaving.pending
  came[#came], came[#came - 1], went[#went] = nil, nil, nil
end

-- Leases a task whose turn has come. Returns whether it did.
function lib.take_at_once(id, record)
  local lane = record.l or 'default'
  local conf = lib.lane_conf(lane)
  if ctx.patterns and not lib.serves(lane) then return false end
  if conf.paused or conf.limit or conf.rate or call('EXISTS', P .. ':lanes:ready', P .. ':names:paused') > 0 then return false end
  local number, fields, more = lib.next_number(), {}, nil
  local leased = record.k and CLAIMED_AS[record.ph and record.k .. ' ' .. record.ph or record.k] or 'locked'
  for field, value in pairs(record) do
    fields[#fields + 1] = field
    fields[#fields + 1] = value
    if lib.IS_MORE[field] then more = lib.more_with(field, more) end
  end
  ctx.at_once.room = ctx.at_once.room - 1
  ctx.at_once.leases[#ctx.at_once.leases + 1] = { id, number, 0, fields }
  call('HSET', lib.task_key(id), 's', leased, 'f', number, 'w', ctx.at_once.worker, 'b', NOW, 'c', record.c or NOW)
  if more then call('HSET', lib.task_key(id), 'm', more) end
  pass_pending(id, record, leased)
  lib.schedule(id, now + ctx.RULES.lease)
  lib.take_slot(lane, id)
  if not conf.is_listed then conf.is_listed = lib.try('ZADD', P .. ':lanes', NOW, lane) end
  return true
end

-- Withdraws the lease of a task whose parent ends in the same call: no worker knows the lease yet. Returns the lease or nil.
function lib.unlease(id)
  for i, lease in ipairs(ctx.at_once.leases) do
    if lease[1] == id then return table.remove(ctx.at_once.leases, i) end
  end
end
