-- One page of a task list, newest first, walking the smallest index that the filter allows within a budget.
--@needs list_row

local function keys_of(suffix)
  local finished = suffix == 'state:finished'
  if suffix ~= '*' and not finished then return { P .. ':' .. suffix } end
  local keys = {}
  for state, class in pairs(CLASS) do
    if not finished or class == 'terminal' then keys[#keys + 1] = P .. ':state:' .. state end
  end
  return keys
end

local function size_of(suffix)
  local size = 0
  for _, key in ipairs(keys_of(suffix)) do size = size + call('ZCARD', key) end
  return size
end

local function choose(args)
  local best, least = args[3], nil
  if best ~= '' then return best, size_of(best) end
  for i = 7, 6 + tonumber(args[6]) do
    local size = size_of(args[i])
    if not least or size <= least then best, least = args[i], size end
  end
  return best, least
end

local function conditions(args, index)
  local fields, values = {}, {}
  for i = 7 + tonumber(args[6]), #args, 3 do
    if args[i + 2] ~= index then fields[#fields + 1] = args[i]; values[#values + 1] = args[i + 1] end
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
function lib.rank_behind(key, cursor_score, cursor_id)
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

-- The arguments and the reply are those of `page.lua`. Also returns the set of the ids of its rows.
function lib.list_page(args)
  local wanted, budget, cursor_score, cursor_id = tonumber(args[1]), tonumber(args[2]), args[4], args[5]
  local index, size = choose(args)
  local fields, values = conditions(args, index)
  local sources, rows, shown, seen = {}, {}, {}, 0
  for _, key in ipairs(keys_of(index)) do
    local source = { key = key, rank = lib.rank_behind(key, cursor_score, cursor_id), rows = {}, at = 1 }
    if fill(source) then sources[#sources + 1] = source end
  end
  local ended, cost = false, 0
  while #rows < wanted and cost < budget do
    local id, score = next_of(sources)
    if not id then ended = true; break end
    seen, cursor_id, cursor_score = seen + 1, id, score
    local found, bytes = lib.matches(id, fields, values)
    cost = cost + 1 + floor(bytes / 1024) -- long arguments are searched in more calls, so that none blocks the store
    if found then rows[#rows + 1], shown[id] = lib.row_of(id, score), true end
  end
  return { index, size, ended and '1' or '', seen, cursor_score, cursor_id, rows }, shown
end
