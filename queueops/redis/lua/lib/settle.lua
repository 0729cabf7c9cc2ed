-- The end of a lease, fenced: a stale settlement is refused. The functions of `outcomes` handle all but a success.
--@needs abandon_chunks chunk_sets end_effects lanes outcomes parent store_helpers transitions

-- The map has ended, with `count` chunks. Without chunks the reduce comes at once.
local function settle_map(id, record, count)
  if record.x then return lib.finish(id, record, 'cancelled', 'y', record.x) end
  lib.leave_lease(id, record, 'aggregating'); lib.unschedule(id)
  call('HSET', lib.task_key(id), 's', 'aggregating', 'cn', count, 'to', count, 'pr', 0, 'at', 0, 'cr', 0)
  if record.pi then lib.family.weigh(id) end
  call('HDEL', lib.task_key(id), 'mw'); call('UNLINK', lib.chunk_set(id, 'stages'))
  lib.log_line(id, { k = 'mapped', begun = lib.number_of(record.b), worker = record.w, text = count .. ' chunks' })
  lib.flush(); lib.turn_lane(id)
  ctx.gain['#' .. id] = tonumber(count)
  ctx.gathering[id] = false
end

local function settle_success(id, row, position)
  local record = { s = row[1], n = row[3] or '?' }
  if row[4] then lib.read_more(id, record) end
  if record.s == 'mapping' or record.k == 'iterator' or record.ex then
    local whole = lib.read_record(id)
    if not whole then return false end -- the agenda finds out, and puts it into quarantine
    if record.s == 'mapping' then settle_map(id, whole, ARGV[position + 4])
    elseif record.ex then lib.family.settle_expansion(id, whole)
    else lib.family.settle_iterator(id, whole) end
  else
    if record.to then call('HSET', lib.task_key(id), 'pr', record.to) end -- what has succeeded stands at its total
    lib.finish(id, record, 'succeeded', 're', ARGV[position + 4])
  end
end

local function end_at(position)
  if ARGV[position + 3] == 'success' then return { value = ARGV[position + 4] } end
  return { value = ARGV[position + 4], delay = tonumber(ARGV[position + 5]), fingerprint = ARGV[position + 6],
    title = ARGV[position + 7], counted = ARGV[position + 8] == '1' }
end

-- Settles one lease. Returns OK, REPEAT (the same settlement came before), STALE or GONE. The arguments stand in ARGV
-- behind `position`: id, fence, outcome, value, and for all but a success delay ms, fingerprint, title, counted.
function lib.settle(position)
  local id, outcome = ARGV[position + 1], ARGV[position + 3]
  if lib.is_foreign(id) then return lib.hooks.settle_foreign(id, ARGV[position + 2], outcome, end_at(position)) end
  local row = lib.fields_of(lib.task_key(id), 's', 'f', 'n', 'm')
  if not row or not row[1] then return 'GONE' end
  if row[2] ~= ARGV[position + 2] then return 'STALE' end
  if not LEASED[row[1]] then return 'REPEAT' end
  if outcome == 'success' then
    if settle_success(id, row, position) == false then return 'GONE' end
  else
    local record = lib.read_record(id)
    if not record then return 'GONE' end
    lib.outcomes[outcome](id, record, end_at(position))
  end
  return 'OK'
end
