-- Search for parts whose record was lost, by a fault or by hand. Their parent gets no report of their end. Each round
-- checks a few tasks that wait for others, and a few of their children.
--@needs agenda cancel child_end iterator outbox parent phases store_helpers transitions

local LOOKED_AT, SETTLED = 10, 10000 -- tasks in one round; ms after which a task has come to where it is
local FAR_EVERY = 30000 -- ms between two rounds in which those in other pools are asked about
fresh.asks_far = false

-- The next few members of a state, by rank. Ranks shift when tasks leave the state; a task skipped so is met in a later turn.
local function next_few(state)
  local key, field = P .. ':state:' .. state, 'looked_' .. state
  local size = lib.safe_call('ZCARD', key)
  if size == 0 then return {} end
  local first = (lib.number_of(lib.safe_call('HGET', P .. ':clock', field)) or 0) % size
  lib.safe_call('HSET', P .. ':clock', field, first + LOOKED_AT)
  local found, old = lib.safe_call('ZRANGE', key, first, first + LOOKED_AT - 1, 'WITHSCORES'), {}
  for i = 1, #found, 2 do
    if tonumber(found[i + 1]) < now - SETTLED then old[#old + 1] = found[i] end
  end
  return old
end

-- Asks about one child of each parent. In a chain that is the current part, in others a different child each time.
local function ask_after_one(refs, id, record)
  local ref = refs[1 + now % #refs]
  if record[F.kind] == 'chain' then ref = lib.family.first_open(id) or ref end
  local far_id, pool = lib.far(ref)
  if pool then lib.send_latest('look', pool, far_id, id, record[F.uid], record[F.round]) end
end

local function look_at_child(ref, id, record)
  local row = lib.named_fields(lib.task_key(ref), F.parent_id, F.parent_uid)
  if row and row[F.parent_id] == id and row[F.parent_uid] == record[F.uid] then return end
  local lost = { ref = ref, parent = id, uid = record[F.uid], state = 'failed', re = '', y = 'its record is lost' }
  ctx.ended_children[#ctx.ended_children + 1] = lost
  lib.act('lost part')
end

local function lost_children(id, record)
  local count = lib.safe_call('ZCARD', record[F.children] and lib.family.children_of(id) or lib.planted_of(id))
  if lib.family.lost_list(id) then return lib.family.lost_list(id) end
  if record[F.children] and count ~= lib.number_of(record[F.children]) then return 'the list of its children is lost' end
end

local function look_at_idle(id, most)
  local record = lib.read_record(id)
  if not record then return lib.put_aside(id) end
  if record[F.state] ~= 'idle' or record[F.resumes] then return end
  if record[F.joins] then return lib.family.join(id, record) end
  local refs = lib.safe_call('SRANDMEMBER', lib.family.open_of(id), most)
  local away = {}
  for _, ref in ipairs(refs) do
    if lib.far(ref) then away[#away + 1] = ref else look_at_child(ref, id, record) end
  end
  if ctx.asks_far and #away > 0 then ask_after_one(away, id, record) end
  local lost = lost_children(id, record) or (#refs == 0 and record[F.children] and 'the list of its open children is lost')
  if lost then
    lib.act('lost part')
    lib.family.fail(id, record, lost)
  end
end

-- Cancels a waiting part whose parent is gone or has another generation: its turn would never come.
local function look_at_waiting(id)
  local record = lib.read_record(id)
  if not record then return lib.put_aside(id) end
  if record[F.state] ~= 'waiting' or not record[F.parent_id] or lib.safe_call('ZSCORE', P .. ':agenda', '~planting:' .. id) then return end
  if record[F.parent_pool] then return ctx.asks_far and lib.family.ask(id, record) end
  local row = lib.named_fields(lib.task_key(record[F.parent_id]), F.uid)
  if row and row[F.uid] == record[F.parent_uid] then return end
  lib.act('lost parent')
  lib.cancel(id, record, 'the record of ' .. record[F.parent_id] .. ' is lost, which it is part of')
end

function lib.hooks.check.composites.tick()
  ctx.asks_far = now - (lib.number_of(lib.safe_call('HGET', P .. ':clock', 'asked_far')) or 0) > FAR_EVERY
  if ctx.asks_far then lib.safe_call('HSET', P .. ':clock', 'asked_far', now) end
  local idle = next_few('idle')
  for _, id in ipairs(idle) do look_at_idle(id, floor(200 / #idle)) end
  for _, id in ipairs(next_few('waiting')) do look_at_waiting(id) end
  lib.settle_up()
end
