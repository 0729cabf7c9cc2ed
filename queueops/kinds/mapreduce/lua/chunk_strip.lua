#!lua flags=no-writes
-- chunk_strip: the states of a task's chunks by number, as columns of a picture. However many chunks there are, it reads
-- `most` members of each set, and one chunk of each column.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 number of the first chunk, 3 chunks in one column, 4 columns, 5 most members read of one set
-- Reply: columns of one chunk: state and attempts of each ('' = there is no such chunk). Wider columns: the number of
--        pending chunks of each. Then for active, errored and failed: the size of the set, and its numbers (none if there
--        are too many). Then, if a set had too many: the state of one chunk of each column. A chunk in no set is done.
-- Transitions: none.
--@needs store_helpers tolerant_reads

lib.tolerate()

local task, first, width, columns, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local SETS = TASK .. task .. '#chunks:'

local function one_by_one()
  local reply = {}
  for number = first, first + columns - 1 do
    local row = lib.named_fields(TASK .. task .. '#' .. lib.text(number), F.state, F.attempt) or {}
    reply[#reply + 1] = row[F.state] or ''; reply[#reply + 1] = tonumber(row[F.attempt] or 0) or 0
  end
  return reply
end

local too_many = false

local function members(key)
  local size = call('ZCARD', key)
  if size <= most then return { size, call('ZRANGE', key, 0, -1) } end
  too_many = true
  return { size, {} }
end

-- The state of the chunk in the middle of each column.
local function samples()
  local found, place = {}, string.format('%s%s#%%.0f', TASK, task)
  for column = 0, columns - 1 do
    local state = redis.pcall('HGET', string.format(place, first + column * width + floor(width / 2)), 's')
    found[#found + 1] = type(state) == 'string' and state or ''
  end
  return found
end

-- The number of pending chunks in each column. Mostly they are neighbours, so a range is halved until its chunks are
-- alike.
local pending = {}
local function count_pending(from, to)
  local low, high = first + from * width, first + (to + 1) * width
  local count = call('ZCOUNT', SETS .. 'pending', low, string.format('(%.0f', high))
  if from == to then pending[from + 1] = count; return end
  if count > 0 and count < high - low then
    local middle = floor((from + to) / 2)
    count_pending(from, middle)
    return count_pending(middle + 1, to)
  end
  for column = from, to do pending[column + 1] = count == 0 and 0 or width end
end

if width == 1 then return lib.told(one_by_one()) end
count_pending(0, columns - 1)
local reply = { pending, members(SETS .. 'active'), members(SETS .. 'errored'), members(SETS .. 'failed') }
reply[5] = too_many and samples() or {}
return lib.told(reply)
