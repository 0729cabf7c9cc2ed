-- Unknown names: which task names a worker has met and does not know. It leaves them to workers that may know them.
local UNABLE_MS, UNABLE_MOST, ALIVE_MS, LEFT_MOST = 60000, 1000, 65000, 200
local names_unable, knowers = {}, {}

local function unable_key(worker) return P .. ':unable:' .. worker end

-- Whether the worker has said, within a minute, that it does not know the name.
local function is_unable(worker, name)
  local names = names_unable[worker]
  if not names then
    names = {}
    for _, each in ipairs(safe_call('SMEMBERS', unable_key(worker))) do names[each] = true end
    names_unable[worker] = names
  end
  return names[name]
end

-- Whether that is written down now.
local function note_unable(worker, name)
  local key = unable_key(worker)
  if safe_call('SCARD', key) >= UNABLE_MOST then return false end
  safe_call('SADD', key, name); safe_call('PEXPIRE', key, UNABLE_MS)
  names_unable[worker], knowers[name] = nil, nil
  return true
end

-- A live worker that claims and has not reported that it does not know the name. An idle worker is woken, once in a call.
local function find_knower(name)
  if knowers[name] ~= nil then return knowers[name] end
  knowers[name] = false
  for _, worker in ipairs(safe_call('ZREVRANGEBYSCORE', P .. ':workers', '+inf', now - ALIVE_MS, 'LIMIT', 0, 100)) do
    if not is_unable(worker, name) and safe_call('HGET', P .. ':worker:' .. worker, 'state') == 'live' then
      knowers[name] = worker
      if try('ZREM', P .. ':idle', worker) == 1 then
        safe_call('LPUSH', P .. ':wake:' .. worker, 'work'); safe_call('EXPIRE', P .. ':wake:' .. worker, 60)
        break
      end
    end
  end
  return knowers[name]
end

local left_alone = {}

-- Whether the worker that took this task from its lane leaves it to another worker that may know its name.
local function leaves_alone(worker, name, lane, score, id)
  if #left_alone >= LEFT_MOST or not is_unable(worker, name) or not find_knower(name) then return false end
  left_alone[#left_alone + 1] = { lane, score, id }
  return true
end

-- What was left alone stands again where it was; in how many lanes of the round.
local function put_back()
  local lanes, count = {}, 0
  for _, entry in ipairs(left_alone) do
    try('ZADD', lane_key(entry[1]), entry[2], entry[3])
    lanes[entry[1]], touched[entry[1]] = true, true
  end
  for lane in pairs(lanes) do
    if refresh_lane(lane) then count = count + 1 end
  end
  return count
end
