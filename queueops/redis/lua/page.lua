#!lua flags=no-writes
-- page: one page of a task list, newest first, walking the smallest index that the filter allows within a budget.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 rows, 2 budget of candidates, 3..5 cursor: index, score, id ('' at the beginning), 6 number of indexes
--       to choose from; their key suffixes ('*' = every state); then triples: field, value, suffix of the index that
--       implies it ('' = none).
-- Reply: suffix of the walked index, its size, '1' at its end, candidates seen, score and id of the last one; then for
--        each row: id, score, time of its state, length of its arguments, its fields.
-- Transitions: none.
--@needs list_row tolerant_reads

lib.tolerate()

local wanted, budget, cursor_score, cursor_id = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[4], ARGV[5]
local choices = tonumber(ARGV[6])

local function keys_of(suffix)
  if suffix ~= '*' then return { P .. ':' .. suffix } end
  local keys = {}
  for state in pairs(CLASS) do keys[#keys + 1] = P .. ':state:' .. state end
  return keys
end

local function size_of(suffix)
  local size = 0
  for _, key in ipairs(keys_of(suffix)) do size = size + call('ZCARD', key) end
  return size
end

local function choose()
  local best, least = ARGV[3], nil
  if best ~= '' then return best, size_of(best) end
  for i = 7, 6 + choices do
    local size = size_of(ARGV[i])
    if not least or size <= least then best, least = ARGV[i], size end
  end
  return best, least
end

local function conditions(index)
  local fields, values = {}, {}
  for i = 7 + choices, #ARGV, 3 do
    if ARGV[i + 2] ~= index then fields[#fields + 1] = ARGV[i]; values[#values + 1] = ARGV[i + 1] end
  end
  return fields, values
end

-- Redis orders equal scores by bytes; Lua's own `<` would follow the locale.
local function not_after(id, other)
  for i = 1, min(#id, #other) do
    local a, b = string.byte(id, i), string.byte(other, i)
    if a ~= b then return a > b end
  end
  return #id >= #other
end

-- The rank, newest first, of the first member after the cursor.
local function rank_behind(key)
  if cursor_id == '' then return 0 end
  local low = call('ZCOUNT', key, '(' .. cursor_score, '+inf')
  local high = low + call('ZCOUNT', key, cursor_score, cursor_score)
  while low < high do
    local middle = floor((low + high) / 2)
    if not_after(call('ZREVRANGE', key, middle, middle)[1], cursor_id) then low = middle + 1 else high = middle end
  end
  return low
end

local function fill(source)
  if source.at <= #source.rows then return true end
  if source.rank < 0 then return false end
  source.rows = call('ZREVRANGE', source.key, source.rank, source.rank + 99, 'WITHSCORES')
  source.at, source.rank = 1, #source.rows == 200 and source.rank + 100 or -1
  return #source.rows > 0
end

local function next_of(sources)
  local best, id, score
  for _, source in ipairs(sources) do
    if fill(source) then
      local its_id, its_score = source.rows[source.at], source.rows[source.at + 1]
      local newer = not best or tonumber(its_score) > tonumber(score)
      if newer or (its_score == score and not_after(its_id, id)) then best, id, score = source, its_id, its_score end
    end
  end
  if best then best.at = best.at + 2 end
  return id, score
end

local index, size = choose()
local fields, values = conditions(index)
local sources, rows, seen = {}, {}, 0
for _, key in ipairs(keys_of(index)) do
  local source = { key = key, rank = rank_behind(key), rows = {}, at = 1 }
  if fill(source) then sources[#sources + 1] = source end
end

local ended = false
while #rows < wanted and seen < budget do
  local id, score = next_of(sources)
  if not id then ended = true; break end
  seen, cursor_id, cursor_score = seen + 1, id, score
  if lib.matches(id, fields, values) then rows[#rows + 1] = lib.row_of(id, score) end
end
return lib.told({ index, size, ended and '1' or '', seen, cursor_score, cursor_id, rows })
