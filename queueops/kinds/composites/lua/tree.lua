#!lua flags=no-writes
-- tree: the parts of a composite, and their parts, within a budget of rows. Also its own parent tasks.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 position of its first part that is wanted ('' = the usual one), 3 which parts ('' all, failed, open), 4 rows
--       of its own, 5 rows in all, 6.. ids of parts that are to be opened
-- Reply: the tree (a branch, or nothing), then its parent tasks, from near to far: id, pool ('' = this one), name, kind,
--        state. A branch: parts in all ('' of an iterator), parts that have not ended, first, next, counts (state or
--        `elsewhere`, number, ...; none if there are too many; of an iterator its ended tasks), rows. A row: id, pool (''
--        = this one), order ('' in an iterator), '1' if it is gone, time of its state, length of its arguments, its
--        fields, the start of its arguments and of its error, its own branch (or nothing).
-- Transitions: none.
--@needs list_row store_helpers tolerant_reads tree_page

lib.tolerate()

local SHOW, PAGE, room = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local DEEPEST, UNASKED = 8, 3 -- levels that can be opened, and those that are open without being asked for
local LEAST, MOST, SPARE = 4, 20, 2 -- rows of a branch that was not asked for; so few more are not left out
local FAR = 8 -- what it is part of is told so far up
local opened = {}
for i = 6, #ARGV do opened[ARGV[i]] = true end

local function grow(branch, position, wanted)
  lib.fill(branch, position, wanted, SHOW)
  room = room - #branch.rows
end

-- The branches of a level: first the requested ones, then those with a running or failed part.
local function branches_in(level)
  local found = { {}, {}, {} }
  for _, part in ipairs(level) do
    part.branch = not (part.gone or part.pool) and part.kind ~= 'task' and lib.branch_of(part.id, SHOW) or nil
    if part.branch then
      local rank = opened[part.id] and 1 or (part.state == 'succeeded' or part.state == 'waiting') and 3 or 2
      table.insert(found[rank], part.branch)
    end
  end
  local all = {}
  for _, some in ipairs(found) do
    for _, branch in ipairs(some) do all[#all + 1] = branch end
  end
  return all
end

local function grow_level(level, depth)
  local branches, below = branches_in(level), {}
  local share = max(LEAST, min(MOST, floor(room / max(1, #branches))))
  for _, branch in ipairs(branches) do
    local wanted = opened[branch.id] and PAGE or depth <= UNASKED and share or 0
    if wanted > 0 and branch.shown <= wanted + SPARE then wanted = branch.shown end
    wanted = depth <= DEEPEST and min(wanted, room) or 0
    grow(branch, '', wanted >= min(LEAST, branch.shown) and wanted or 0)
    for _, part in ipairs(branch.rows) do below[#below + 1] = part end
  end
  return below
end

local shown -- a branch as it is answered

local function row_shown(branch, part)
  local known = part.pool or part.gone
  local task = known and { fields = {}, entered = 0, length = 0, arguments = '', error = '' } or lib.shown_task(part.id)
  local gone = part.gone or not part.pool and not task.fields.s
  local row = { part.id, part.pool or '', branch.size and part.order or '', gone and '1' or '', lib.shown_values(task) }
  row[#row + 1] = part.branch and shown(part.branch) or {}
  return row
end

function shown(branch)
  local counts, rows = {}, {}
  for state, count in pairs(branch.counts) do counts[#counts + 1] = state; counts[#counts + 1] = count end
  for i, part in ipairs(branch.rows) do rows[i] = row_shown(branch, part) end
  return { branch.size or '', branch.open, branch.first, branch.next, counts, rows }
end

local function line_above(id)
  local line = {}
  for _ = 1, FAR do
    local own = lib.named_fields(lib.task_key(id), F.parent_id, F.parent_uid, F.parent_pool)
    if not (own and own[F.parent_id]) then return line end
    if own[F.parent_pool] then line[#line + 1] = { own[F.parent_id], own[F.parent_pool], '', '', '' }; return line end
    local row = lib.named_fields(lib.task_key(own[F.parent_id]), F.name, F.kind, F.state, F.uid)
    if not row or row[F.uid] ~= own[F.parent_uid] then return line end
    line[#line + 1] = { own[F.parent_id], '', row[F.name] or '', row[F.kind] or 'task', row[F.state] or '' }
    id = own[F.parent_id]
  end
  return line
end

local root, depth = lib.branch_of(ARGV[1], SHOW), 1
if not root then return lib.told({ {}, line_above(ARGV[1]) }) end
grow(root, ARGV[2], min(PAGE, room))
local level = root.rows
while #level > 0 do
  level = grow_level(level, depth)
  depth = depth + 1
end
return lib.told({ shown(root), line_above(ARGV[1]) })
