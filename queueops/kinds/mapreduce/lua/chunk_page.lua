#!lua flags=no-writes
-- chunk_page: one page of a task's chunks, or of named chunks, within a budget.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 state ('' = all by number, '#' = those named), 3 '1' = the latest first, 4 rows, 5 budget, 6 and 7
--       cursor: score and number ('' at the beginning), 8 fingerprint that the error must have ('' = any), 9.. numbers
-- Reply: size of the walked set, '1' at its end, score and number of the last chunk seen; then for each row: number,
--        score, length of its data and of its result, its fields (the order of FIELDS), its data (if short), its error
--        cut.
-- Transitions: none.
--@needs store_helpers tolerant_reads value_starts

lib.tolerate()

local task, state, latest, wanted, budget = ARGV[1], ARGV[2], ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5])
local score, number, wanted_kind = ARGV[6], ARGV[7], ARGV[8]
local SETS = TASK .. task .. '#chunks:'
local FIELDS = { 's', 'at', 'cr', 'b', 'e', 'd', 'c', 'w', 'ef', 'y', 'dr' }
local SHORT, CUT = 2000, 1000

local function row_of(chunk, its_score)
  local key = TASK .. task .. '#' .. chunk
  local values = lib.fields_of(key, unpack(FIELDS))
  if not values then return { chunk, its_score, 0, 0, {}, '', '' } end
  for i = 1, #FIELDS do values[i] = values[i] or '' end
  local size = call('HSTRLEN', key, 'a')
  return { chunk, its_score, size, call('HSTRLEN', key, 're'), values, size <= SHORT and call('HGET', key, 'a') or '',
    lib.start_of(call('HGET', key, 'er') or '', CUT) }
end

local function matches(chunk)
  if wanted_kind == '' then return true end
  local _, kind = lib.values_of(TASK .. task .. '#' .. chunk, F.fingerprint)
  return kind == wanted_kind
end

-- Whether a member comes after the cursor. Members of equal score are in the order of their bytes.
local function behind(member)
  for i = 1, min(#member, #number) do
    local a, b = string.byte(member, i), string.byte(number, i)
    if a ~= b then return (a > b) ~= latest end
  end
  return #member ~= #number and (#member > #number) ~= latest
end

local function from_rank(key, rank, count)
  return call(latest and 'ZREVRANGE' or 'ZRANGE', key, rank, rank + count - 1, 'WITHSCORES')
end

-- The rank of the first member after the cursor.
local function rank_behind(key)
  if number == '' then return 0 end
  local low = latest and call('ZCOUNT', key, '(' .. score, '+inf') or call('ZCOUNT', key, '-inf', '(' .. score)
  local high = low + call('ZCOUNT', key, score, score)
  while low < high do
    local middle = floor((low + high) / 2)
    if behind(from_rank(key, middle, 1)[1]) then high = middle else low = middle + 1 end
  end
  return low
end

local rows, seen, ended, size = {}, 0, false, 0

local function walk(key)
  size = call('ZCARD', key)
  local rank, block = rank_behind(key), {}
  while #rows < wanted and seen < budget do
    if seen % 100 == 0 then block = from_rank(key, rank + seen, 100) end
    local place = 2 * (seen % 100)
    if not block[place + 1] then ended = true; return end
    seen, number, score = seen + 1, block[place + 1], block[place + 2]
    if matches(number) then rows[#rows + 1] = row_of(number, score) end
  end
end

local function walk_all()
  for _, one in ipairs({ 'pending', 'active', 'errored', 'done', 'failed' }) do size = size + call('ZCARD', SETS .. one) end
  local next_ = number == '' and 0 or tonumber(number) + 1
  while #rows < wanted and seen < budget do
    if next_ >= size then ended = true; return end
    seen, number, score, next_ = seen + 1, lib.text(next_), lib.text(next_), next_ + 1
    if matches(number) then rows[#rows + 1] = row_of(number, score) end
  end
end

if state == '#' then
  for i = 9, #ARGV do rows[#rows + 1] = row_of(ARGV[i], '') end
elseif state == '' then
  walk_all()
else
  walk(SETS .. state)
end
return lib.told({ size, ended and '1' or '', score, number, rows })
