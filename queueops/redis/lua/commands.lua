#!lua flags=no-writes
-- commands: one page of the outbox, oldest first: commands that are due, taken by a process, or given up.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 which (due, locked, dead), 2 rows, 3 and 4 score and id behind which the page begins ('' at the beginning)
-- Reply: time; how many are due, locked, dead; '1' when there are more; rows: id, score, verb, pool of its target, target,
--        sender, generation, round, tries, time of its creation, last error, bytes of what it carries.
-- Transitions: none.
--@needs store_helpers tolerant_reads

lib.tolerate()

local PLACES = { due = P .. ':commands', locked = P .. ':commands_locked', dead = P .. ':commands:dead' }
local FIELDS = { 'v', 'to', 'i', 'me', 'u', 'rn', 'n', 't', 'le' }
local key, most, rows = PLACES[ARGV[1]], tonumber(ARGV[2]), {}

-- The place after the last row of the previous page. If that row is gone, the place after all rows of its time.
local function next_rows()
  local rank = ARGV[4] ~= '' and call('ZRANK', key, ARGV[4])
  if type(rank) == 'number' then return call('ZRANGE', key, rank + 1, rank + 1 + most, 'WITHSCORES') end
  local from = ARGV[3] == '' and '-inf' or '(' .. ARGV[3]
  return call('ZRANGEBYSCORE', key, from, '+inf', 'WITHSCORES', 'LIMIT', 0, most + 1)
end

local found = next_rows()
for i = 1, min(#found, 2 * most), 2 do
  local name = P .. ':command:' .. found[i]
  local row, size = lib.named_fields(name, unpack(FIELDS)), 0
  row = row or { le = 'its key is a ' .. redis.call('TYPE', name).ok .. ', not a hash' }
  for _, field in ipairs({ 'pv', 're', 'er', 'sp' }) do
    local length = redis.pcall('HSTRLEN', name, field)
    if type(length) == 'number' then size = size + length end
  end
  local line = { found[i], found[i + 1] }
  for _, field in ipairs(FIELDS) do line[#line + 1] = row[field] or '' end
  line[#line + 1] = size
  rows[#rows + 1] = line
end
local due, locked, dead = call('ZCARD', PLACES.due), call('ZCARD', PLACES.locked), call('ZCARD', PLACES.dead)
return lib.told({ now, due, locked, dead, #found > 2 * most and '1' or '', rows })
