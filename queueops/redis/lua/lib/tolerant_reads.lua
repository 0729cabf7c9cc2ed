-- Tolerant reads, for functions that answer a page: a key of a wrong type counts as empty, and the reply names it.
fresh.wrong_types, fresh.seen_wrong = TABLE, TABLE
local SHOULD_BE = { Z = 'zset', H = 'hash', S = 'set', L = 'list', G = 'string' }

local function nothing(command)
  if string.find(command, 'CARD$') or string.find(command, 'COUNT$') or string.find(command, 'LEN$') then return 0 end
  if command == 'GET' or command == 'HGET' or command == 'ZSCORE' or string.find(command, 'RANK$') then return false end
  return {}
end

local function tolerant_call(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then return redis.call(command, key, ...) end
  if not ctx.seen_wrong[key] then
    ctx.seen_wrong[key] = true
    local is, should_be = redis.call('TYPE', key).ok, SHOULD_BE[string.sub(command, 1, 1)]
    ctx.wrong_types[#ctx.wrong_types + 1] = key .. ' is a ' .. is .. ', not a ' .. should_be
  end
  return nothing(command)
end

-- From here on, each call of this function of the library is tolerant.
function lib.tolerate() call = tolerant_call end

-- The reply, after the list of the keys of a wrong type.
function lib.told(reply) return { ctx.wrong_types, reply } end
