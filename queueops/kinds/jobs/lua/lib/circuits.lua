-- Circuit breakers of destinations. A host that fails several times in a row is left alone for a while: its lane is shut.
-- Then one callback is the probe. Its success opens the lane, its failure shuts it for twice as long.
-- Settings of the lane: `fails` (failures in a row), `shut` (time until which it is shut), `wait` (ms of that time).
--@needs lanes store_helpers transitions

lib.circuits = {}

-- Forgets the failures of a host, and opens its lane.
function lib.circuits.close(lane)
  local key = lib.lane_key(lane) .. SUBKEY.conf
  local row = lib.named_fields(key, 'fails', 'shut')
  if not row or not (row.fails or row.shut) then return end
  call('HDEL', key, 'fails', 'shut', 'wait')
  if not row.shut then return end
  -- A lane without a limit counted its running tasks only while it was shut.
  if call('HEXISTS', key, 'limit') == 0 then call('DEL', lib.active_key(lane)) end
  ctx.lane_confs[lane] = nil
  ctx.touched[lane] = true
  ctx.gain[lane] = lib.safe_call('ZCARD', lib.lane_key(lane))
end

local function shut(lane, key, ms)
  call('HSET', key, 'shut', lib.text(now + ms), 'wait', lib.text(ms))
  if call('HEXISTS', key, 'limit') == 0 then
    call('DEL', lib.active_key(lane))
    lib.list_slot_holders(lane)
  end
  ctx.lane_confs[lane] = nil
  ctx.touched[lane] = true
end

-- Notes that a host has failed. `most` failures in a row shut its lane for `first` ms; failed probes for at most `longest`.
function lib.circuits.fail(lane, most, first, longest)
  local key = lib.lane_key(lane) .. SUBKEY.conf
  local shut_till, wait, failed = unpack(call('HMGET', key, 'shut', 'wait', 'fails'))
  local till = lib.number_of(shut_till)
  if till and till > now then return end -- it was sent before the lane was shut
  local fails = (lib.number_of(failed) or 0) + 1
  call('HSET', key, 'fails', lib.text(fails))
  if till then
    shut(lane, key, min(longest, 2 * (lib.number_of(wait) or first)))
  elseif fails >= most then
    shut(lane, key, first)
  end
end

-- A callback was delivered.
function lib.hooks.succeed.callback(_, record)
  local lane = record.l or 'default'
  if not lib.is_own_lane(lane) then lib.circuits.close(lane) end
end
