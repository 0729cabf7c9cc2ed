-- Unknown names: which task names a worker has met and does not know. It leaves them to workers that may know them.
--@needs lanes minute_counts transitions

local UNABLE_MS, UNABLE_MOST, ALIVE_MS, LEFT_MOST = 60000, 1000, 65000, 200
fresh.names_unable, fresh.knowers = TABLE, TABLE

local function unable_key(worker) return P .. ':unable:' .. worker end

-- Whether the worker has said, within a minute, that it does not know the name.
local function is_unable(worker, name)
  local names = ctx.names_unable[worker]
  if not names then
    names = {}
    for _, each in ipairs(lib.safe_call('SMEMBERS', unable_key(worker))) do names[each] = true end
    ctx.names_unable[worker] = names
  end
  return names[name]
end

-- Whether that is written down now.
function lib.note_unable(worker, name)
  local key = unable_key(worker)
  if lib.safe_call('SCARD', key) >= UNABLE_MOST then return false end
  lib.safe_call('SADD', key, name); lib.safe_call('PEXPIRE', key, UNABLE_MS)
  call('SET', P .. ':unable', '1', 'PX', UNABLE_MS + 1000) -- one key tells that no worker has such a name
  ctx.names_unable[worker], ctx.knowers[name] = nil, nil
  return true
end

-- A live worker of all lanes and kinds that claims and has not reported that it does not know the name. An idle worker is
-- woken, once in a call.
function lib.find_knower(name)
  if ctx.knowers[name] ~= nil then return ctx.knowers[name] end
  ctx.knowers[name] = false
  for _, worker in ipairs(lib.safe_call('ZREVRANGEBYSCORE', P .. ':workers', '+inf', now - ALIVE_MS, 'LIMIT', 0, 100)) do
    local told = is_unable(worker, name) and {} or lib.safe_call('HMGET', P .. ':worker:' .. worker, 'state', 'lanes', 'kinds')
    local state, lanes, kinds = unpack(told)
    if state == 'live' and (lanes or '') == '' and (kinds or '') == '' then
      ctx.knowers[name] = worker
      if lib.try('ZREM', P .. ':idle', worker) == 1 then
        lib.safe_call('LPUSH', P .. ':wake:' .. worker, 'work'); lib.safe_call('EXPIRE', P .. ':wake:' .. worker, 60)
        break
      end
    end
  end
  return ctx.knowers[name]
end

fresh.left_alone = TABLE

-- Whether the worker that took this task from its lane leaves it to another worker that may know its name.
function lib.leaves_alone(worker, name, lane, score, id)
  if #ctx.left_alone >= LEFT_MOST or not is_unable(worker, name) or not lib.find_knower(name) then return false end
  ctx.left_alone[#ctx.left_alone + 1] = { lane = lane, score = score, id = id }
  return true
end

-- What was left alone stands again where it was; in how many lanes of the round.
function lib.put_back()
  local lanes, count = {}, 0
  for _, entry in ipairs(ctx.left_alone) do
    lib.try('ZADD', lib.lane_key(entry.lane), entry.score, entry.id)
    lanes[entry.lane], ctx.touched[entry.lane] = true, true
  end
  for lane in pairs(lanes) do
    if lib.refresh_lane(lane) then count = count + 1 end
  end
  return count
end
