-- The end of a lease, fenced: a stale settlement is refused. The functions of `outcomes` handle all but a success.
-- A plain task has a shorter path, with the same result: fast_settle.lua.
--@needs end_effects outcomes store_helpers transitions

local function settle_success(id, record, has_more, position)
  if has_more then lib.read_more(id, record) end
  local succeed = (lib.hooks.settle[record[F.kind]] or NONE).succeed
  local settled = succeed and succeed(id, record, ARGV[position + 4])
  if settled ~= nil then return settled end
  if record[F.total] then call('HSET', lib.task_key(id), F.progress, record[F.total]) end -- what has succeeded stands at its total
  lib.finish(id, record, 'succeeded', 're', ARGV[position + 4])
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
  if lib.is_foreign(id) then return lib.hooks.parts.settle(id, ARGV[position + 2], outcome, end_at(position)) end
  local _, state, fence, name, more = lib.values_of(lib.task_key(id), F.state, F.fence, F.name, F.has_more)
  if not state then return 'GONE' end
  if fence ~= ARGV[position + 2] then return 'STALE' end
  if not LEASED[state] then return 'REPEAT' end
  if outcome == 'success' then
    if settle_success(id, { s = state, n = name or '?' }, more, position) == false then return 'GONE' end
  else
    local record = lib.read_record(id)
    if not record then return 'GONE' end
    lib.outcomes[outcome](id, record, end_at(position))
  end
  return 'OK'
end
