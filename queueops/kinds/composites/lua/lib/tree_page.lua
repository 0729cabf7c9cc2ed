-- The shown parts of chains, groups and iterators, within a budget of parts that one call reads.
--@needs store_helpers tree_order

fresh.to_look, fresh.to_count = 500, 500 -- parts in one call of a script: that are looked through, that are counted by state
local COUNTED = 200 -- a branch of so many is counted
local AROUND = 3 -- a long chain is shown from so many before the one whose turn it is

-- The number of ended tasks of an iterator, by state. All are counted; only the latest are known by id.
local function count_ended(branch, show)
  local found = lib.named_fields(lib.task_key(branch.id), F.progress, F.tasks_failed, F.tasks_cancelled, F.tasks_stopped) or {}
  local function number(field) return lib.number_of(found[field]) or 0 end
  branch.ended = show == 'failed' and SUBKEY.failures or show == '' and SUBKEY.latest
  branch.marks = show == 'failed' -- a letter stands before each of them
  branch.over = { succeeded = number('pr') - number('tf') - number('tc'), failed = number('tf'),
    cancelled = number('tc') + number('tx') }
end

-- A task that may have parts; nil when it has none.
function lib.branch_of(id, show)
  local key = lib.task_key(id)
  local row = lib.named_fields(key, 'k', 'u', 'cc')
  if not row or not (row[F.children] or row[F.kind] == 'iterator') then return nil end
  local branch = { id = id, kind = row[F.kind], uid = row[F.uid], size = lib.number_of(row[F.children]),
    open = lib.ask('SCARD', key .. SUBKEY.open) or 0 }
  branch.ordered = key .. (branch.kind == 'iterator' and SUBKEY.planted or SUBKEY.children)
  branch.listed = branch.size or branch.open + (lib.ask('ZCARD', branch.ordered) or 0)
  branch.shown = branch.listed
  if branch.kind == 'iterator' then
    count_ended(branch, show)
    branch.shown = branch.listed + min(lib.MOST_ENDED, branch.ended and lib.ask('LLEN', key .. branch.ended) or 0)
  end
  return branch
end

-- Another task may have its id by now: a part is what knows this parent, in its present generation. One of another pool
-- is known by its name alone.
local function part_of(branch, ref, order, at)
  local mark = string.find(ref, '#', 1, true)
  if mark then return { id = string.sub(ref, 1, mark - 1), pool = string.sub(ref, mark + 1), order = order } end
  local row = lib.named_fields(lib.task_key(ref), F.state, F.kind, F.parent_id, F.parent_uid, F.children_failed)
  if not row then return { id = ref, order = order, kind = 'task' } end -- it can't be read: an index tells its state
  -- what ended knows it as it was then
  local is_own = row[F.parent_id] == branch.id and (row[F.parent_uid] == branch.uid or lib.is_over(at))
  if not is_own then return { id = ref, order = order, gone = true, cleared = lib.is_over(at) } end
  return { id = ref, order = order, state = row[F.state], kind = row[F.kind] or 'task', failing = row[F.children_failed] }
end

local function is_shown(part, show)
  if part.cleared then return false end
  if show == '' or part.pool then return true end
  if part.gone then return false end
  if show == 'open' then return not (part.state and TERMINAL[part.state]) end
  return part.failing or part.state == 'failed' or part.state == 'cancelled' or part.state == 'quarantined'
end

-- Of a chain: the order of the first that has not succeeded. All before it have.
local function turn_of(branch)
  local low, high = 0, branch.size
  while low < high do
    local middle = floor((low + high) / 2)
    local ref = (lib.ask('ZRANGE', branch.ordered, middle, middle) or {})[1]
    local row = ref and lib.named_fields(lib.task_key(ref), F.state)
    if row and row[F.state] == 'succeeded' then low = middle + 1 else high = middle end
  end
  return low
end

local function start_of_page(branch, wanted)
  if branch.kind ~= 'chain' or branch.size <= wanted then return '' end
  return lib.text(max(0, min(turn_of(branch) - AROUND, branch.size - wanted)))
end

local function count_part(branch, state) branch.counts[state] = (branch.counts[state] or 0) + 1 end

-- Fills branch.rows with at most `wanted` parts that are shown; branch.next is where those behind them begin.
function lib.fill(branch, position, wanted, show)
  if position == '' and show == '' then position = start_of_page(branch, wanted) end
  branch.rows, branch.next, branch.first, branch.counts = {}, '', position, {}
  for state, count in pairs(branch.over or {}) do branch.counts[state] = count > 0 and count or nil end
  local counts = branch.listed <= min(COUNTED, ctx.to_count)
  if counts then ctx.to_count = ctx.to_count - branch.listed end
  lib.each_part(branch, counts and '' or position, function(ref, order, at)
    if not counts then
      if wanted == 0 or ctx.to_look == 0 then branch.next = at; return false end
      ctx.to_look = ctx.to_look - 1
    end
    local part = part_of(branch, ref, order, at)
    if counts and not lib.is_over(at) then count_part(branch, part.state or (part.pool and 'elsewhere' or 'gone')) end
    if lib.is_before(at, position) or not is_shown(part, show) then return true end
    if #branch.rows < wanted then
      branch.rows[#branch.rows + 1] = part
    elseif branch.next == '' then
      branch.next = at
      return counts
    end
  end)
end
