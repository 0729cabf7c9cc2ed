-- The parts of chains, groups and iterators, as they are shown: within a budget of parts that are looked at in one call.
-- A position is the order of a part or, of an iterator, `g` and the generation of a task that it has begun: those come
-- first, the oldest before the others.
local to_look, to_count = 500, 500 -- parts in one call of a script: that are looked through, that are counted by state
local COUNTED = 200 -- a branch of so many is counted
local WIDEST = 1000 -- no window of an iterator is wider
local AROUND = 3 -- a long chain is shown from so many before the one whose turn it is

-- What is under one of these names and is something else is nothing.
local function ask(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then return nil end
  return reply
end

-- A task that may have parts; nil when it has none.
local function branch_of(id)
  local key = task_key(id)
  local row = fields_of(key, 'k', 'u', 'cc')
  if not row or not (row[3] or row[1] == 'iterator') then return nil end
  local branch = { id = id, kind = row[1], uid = row[2], size = number_of(row[3]), open = ask('SCARD', key .. '#open') or 0 }
  branch.ordered = key .. (branch.kind == 'iterator' and '#planted' or '#children')
  branch.listed = branch.size or branch.open + (ask('ZCARD', branch.ordered) or 0)
  return branch
end

-- Another task may have its id by now: a part is what knows this parent, in its present generation. One of another pool
-- is known by its name alone.
local function part_of(branch, ref, order)
  local at = string.find(ref, '#', 1, true)
  if at then return { id = string.sub(ref, 1, at - 1), pool = string.sub(ref, at + 1), order = order } end
  local row = fields_of(task_key(ref), 's', 'k', 'pi', 'pu', 'nf')
  if not row then return { id = ref, order = order, kind = 'task' } end -- it can't be read: an index tells its state
  if row[3] ~= branch.id or row[4] ~= branch.uid then return { id = ref, order = order, gone = true } end
  return { id = ref, order = order, state = row[1], kind = row[2] or 'task', failing = row[5] }
end

local function is_shown(part, show)
  if show == '' or part.pool then return true end
  if part.gone then return false end
  if show == 'open' then return not (part.state and TERMINAL[part.state]) end
  return part.failing or part.state == 'failed' or part.state == 'cancelled' or part.state == 'quarantined'
end

local function is_before(at, position)
  if position == '' then return false end
  local begun, from_begun = string.sub(at, 1, 1) == 'g', string.sub(position, 1, 1) == 'g'
  if begun ~= from_begun then return begun end
  return tonumber(string.match(at, '%d+$')) < tonumber(string.match(position, '%d+$'))
end

-- Calls visit(ref, order, position) for each until it answers false.
local function each_part(branch, position, visit)
  if branch.kind == 'iterator' and (position == '' or string.sub(position, 1, 1) == 'g') then
    local begun = {}
    for _, ref in ipairs(ask('SRANDMEMBER', task_key(branch.id) .. '#open', WIDEST) or {}) do
      local row = fields_of(task_key(ref), 'u')
      begun[#begun + 1] = { row and number_of(row[1]) or 0, ref }
    end
    table.sort(begun, function(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end)
    for _, each in ipairs(begun) do
      local at = 'g' .. text(each[1])
      if not is_before(at, position) and visit(each[2], '', at) == false then return end
    end
    position = ''
  end
  local first = position == '' and '-inf' or position
  while true do
    local found = ask('ZRANGEBYSCORE', branch.ordered, first, '+inf', 'WITHSCORES', 'LIMIT', 0, 200) or {}
    for i = 1, #found, 2 do
      if visit(found[i], found[i + 1], found[i + 1]) == false then return end
    end
    if #found < 400 then return end
    first = '(' .. found[#found]
  end
end

-- Of a chain: the order of the first that has not succeeded. All before it have.
local function turn_of(branch)
  local low, high = 0, branch.size
  while low < high do
    local middle = floor((low + high) / 2)
    local ref = (ask('ZRANGE', branch.ordered, middle, middle) or {})[1]
    local row = ref and fields_of(task_key(ref), 's')
    if row and row[1] == 'succeeded' then low = middle + 1 else high = middle end
  end
  return low
end

local function start_of_page(branch, wanted)
  if branch.kind ~= 'chain' or branch.size <= wanted then return '' end
  return text(max(0, min(turn_of(branch) - AROUND, branch.size - wanted)))
end

-- Fills branch.rows with at most `wanted` parts that are shown; branch.next is where those behind them begin.
local function fill(branch, position, wanted, show)
  if position == '' and show == '' then position = start_of_page(branch, wanted) end
  branch.rows, branch.next, branch.first, branch.counts = {}, '', position, {}
  local counts = branch.listed <= min(COUNTED, to_count)
  if counts then to_count = to_count - branch.listed end
  each_part(branch, counts and '' or position, function(ref, order, at)
    if not counts then
      if wanted == 0 or to_look == 0 then branch.next = at; return false end
      to_look = to_look - 1
    end
    local part = part_of(branch, ref, order)
    if counts then
      local state = part.state or 'gone'
      branch.counts[state] = (branch.counts[state] or 0) + 1
    end
    if is_before(at, position) or not is_shown(part, show) then return true end
    if #branch.rows < wanted then
      branch.rows[#branch.rows + 1] = part
    elseif branch.next == '' then
      branch.next = at
      return counts
    end
  end)
end
