-- Claim on settle: if no lane has a ready task, a settling worker with free slots gets new ready tasks directly. The
-- result is the same as by the lane, at half the cost. Only the claiming script sets `room`, and `offer_to_idle`; else it is 0.
--@needs end_effects expiry lanes minute_counts numbers records rules served_kinds served_lanes store_helpers transitions

fresh.nothing_ready = false -- whether a claim found no ready lane, and has changed nothing
fresh.at_once = function() return { room = 0, leases = {} } end

-- Counts two moves, to `pending` and from it. The state indexes get only the first and the last state.
local function pass_pending(id, record, leased)
  lib.move(id, record[F.state], 'pending', record[F.name], record[F.kind], record[F.lane])
  lib.move(id, 'pending', leased, record[F.name], record[F.kind], record[F.lane])
  local came, went = ctx.entering.pending, ctx.leaving.pending
  came[#came], came[#came - 1], went[#went] = nil, nil, nil
end

-- Adds to the fields of a lease what its kind has for the worker. No field of a record has a name like that. A text with a
-- zero byte would cut a wake-up token: the worker asks for it instead.
function lib.add_brief(id, kind, fields)
  local brief = (lib.hooks.claim[kind] or NONE).brief
  local text = brief and brief(id, fields)
  if text and not string.find(text, '\0', 1, true) then
    fields[#fields + 1] = '#brief'
    fields[#fields + 1] = text
  end
end

-- Whether no lane is ready, and the name is not paused. One command tells: it counts the paused names twice.
local function nothing_before(name)
  local paused = P .. ':names:paused'
  local seen = call('EXISTS', P .. ':lanes:ready', paused, paused)
  return seen == 0 or seen == 2 and lib.try('HEXISTS', paused, name) == 0
end

-- Whether this task, with its fields as a list, may be leased without waiting in its lane.
local function is_open(record, fields)
  if record[F.limit_key] or ctx.at_once.fits and not ctx.at_once.fits(fields) then return false end
  local lane = record[F.lane] or 'default'
  local conf = lib.lane_conf(lane)
  if ctx.patterns and not (lib.serves(lane) and lib.serves_kind(record[F.kind])) then return false end
  return not (conf.paused or conf.limit or conf.rate) and nothing_before(record[F.name])
end

-- Writes what the worker holds. `h` marks a lease that is handed over.
local function write_lease(id, number, leased, created, more, ...)
  local key = lib.task_key(id)
  call('HSET', key, 's', leased, 'f', number, 'w', ctx.at_once.worker, 'b', NOW, 'c', created, ...)
  if more then call('HSET', key, 'm', more) end
  if ctx.at_once.lease_ms then call('HSET', key, 'h', number) end
end

local function leased_state(record)
  return record[F.kind] and CLAIMED_AS[record[F.phase] and record[F.kind] .. ' ' .. record[F.phase] or record[F.kind]] or 'locked'
end

-- Gives the lease, whose record is written, to the worker: `fields` has it as a list.
local function give(id, record, leased, number, fields)
  local lane = record[F.lane] or 'default'
  if record[F.kind] then lib.add_brief(id, record[F.kind], fields) end
  ctx.at_once.room = ctx.at_once.room - 1
  ctx.at_once.leases[#ctx.at_once.leases + 1] = { id, number, 0, fields }
  pass_pending(id, record, leased)
  lib.schedule(id, now + (ctx.at_once.lease_ms or ctx.RULES.lease))
  lib.take_slot(lane, id)
  local conf = lib.lane_conf(lane)
  if not conf.is_listed then conf.is_listed = lib.try('ZADD', P .. ':lanes', NOW, lane) end
end

-- Leases a task whose turn has come. Returns whether it did.
function lib.take_at_once(id, record)
  local fields, more = {}, nil
  for field, value in pairs(record) do
    fields[#fields + 1] = field
    fields[#fields + 1] = value
    if lib.IS_MORE[field] then more = lib.more_with(field, more) end
  end
  if not is_open(record, fields) then return false end
  local number, leased = lib.next_number(), leased_state(record)
  if record[F.expires] then lib.begin_again(id, record) end
  write_lease(id, number, leased, record[F.created] or NOW, more)
  give(id, record, leased, number, fields)
  return true
end

-- Creates a task, given its fields as a list and as a table, and leases it. Returns its uid, which is also its fence; nil if
-- it must wait in its lane.
function lib.create_at_once(id, fields, values)
  if not is_open(values, fields) then return nil end
  local number, more = lib.next_number(), nil
  for field in pairs(values) do
    if lib.IS_MORE[field] then more = lib.more_with(field, more) end
  end
  local record, leased = setmetatable({ s = '' }, { __index = values }), leased_state(values)
  write_lease(id, number, leased, NOW, more, 'u', number, unpack(fields))
  lib.index_record(id, values[F.name], values[F.tags], number, values[F.kind])
  local given = { 'u', lib.text(number), unpack(fields) }
  give(id, record, leased, number, given)
  return number
end

-- Withdraws the lease of a task whose parent ends in the same call: no worker knows the lease yet. Returns the lease or nil.
function lib.unlease(id)
  for i, lease in ipairs(ctx.at_once.leases) do
    local its_id = unpack(lease)
    if its_id == id then return table.remove(ctx.at_once.leases, i) end
  end
end
