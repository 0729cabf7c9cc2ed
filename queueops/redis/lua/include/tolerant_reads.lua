-- Tolerant reads of a question: a key of a wrong type counts as empty, and the answer names it. This include comes first,
-- because later includes call through it.
local wrong, wrong_keys = {}, {}
local SHOULD_BE = { Z = 'zset', H = 'hash', S = 'set', L = 'list', G = 'string' }

local function nothing(command)
  if string.find(command, 'CARD$') or string.find(command, 'COUNT$') or string.find(command, 'LEN$') then return 0 end
  if command == 'GET' or command == 'HGET' or command == 'ZSCORE' or string.find(command, 'RANK$') then return false end
  return {}
end

local function call(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then return redis.call(command, key, ...) end
  if not wrong_keys[key] then
    wrong_keys[key] = true
    wrong[#wrong + 1] = key .. ' is a ' .. redis.call('TYPE', key).ok .. ', not a ' .. SHOULD_BE[string.sub(command, 1, 1)]
  end
  return nothing(command)
end

-- The answer: the keys of a wrong type, and the reply.
local function told(reply) return { wrong, reply } end
