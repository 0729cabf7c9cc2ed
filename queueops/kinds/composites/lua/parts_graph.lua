#!lua flags=no-writes
-- parts_graph: the parts of a composite and their parts, as nodes of a graph. Of many parts with one name, and of many
--        parts of a chain in one state, the later ones are only counted.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 parts that are read at most, 3 parts of one key that are nodes of their own
-- Reply: composites, parts and tallies. A composite: id, kind, number of its parts ('' = not known), of these read. A
--        part: number of its composite, key, id, pool ('' = this one), kind, name, state ('' = gone), begun, ended, number
--        of its own composite ('' = it has none). A tally: number of its composite, key, name ('' =
--        several), begun, ended ('' = some go on), state, count, ...
-- Transitions: none.
--@needs store_helpers tolerant_reads tree_order tree_page

lib.tolerate()

local room, EACH = tonumber(ARGV[2]), tonumber(ARGV[3])
local LONG, KEYS_EACH, COMPOSITES = 40, 24, 200 -- parts of a chain that is not folded, keys of a composite, composites
local FIELDS = { F.kind, F.name, F.state, F.begun, F.ended, F.parent_id, F.parent_uid, F.children }
local composites, parts, tallies = {}, {}, {}

local function read(branch, ref, at)
  local mark = string.find(ref, '#', 1, true)
  if mark then return { id = string.sub(ref, 1, mark - 1), pool = string.sub(ref, mark + 1), kind = '', name = '', state = '' } end
  local row = lib.named_fields(lib.task_key(ref), unpack(FIELDS)) or {}
  local is_own = row[F.parent_id] == branch.id and (row[F.parent_uid] == branch.uid or lib.is_over(at))
  return { id = ref, pool = '', kind = row[F.kind] or 'task', name = row[F.name] or '', state = is_own and row[F.state] or '',
    begun = row[F.begun], ended = row[F.ended], has_parts = is_own and (row[F.children] or row[F.kind] == 'iterator') }
end

-- The key of a part in its composite: its name, or in a long chain the number of its run of parts in one state.
local function key_of(branch, part)
  if branch.kind ~= 'chain' then return part.name end
  if branch.listed <= LONG or part.state ~= branch.last_state or part.has_parts then branch.runs = branch.runs + 1 end
  branch.last_state = not part.has_parts and part.state
  return lib.text(branch.runs)
end

local function count(branch, key, part)
  local tally = branch.tallies[key]
  if not tally then
    tally = { number = branch.number, key = key, label = part.name, first = part.begun or '', last = '', states = {} }
    branch.tallies[key], tallies[#tallies + 1] = tally, tally
  end
  tally.states[part.state] = (tally.states[part.state] or 0) + 1
  if tally.label ~= part.name then tally.label = '' end
  local begun, ended = lib.number_of(part.begun), lib.number_of(part.ended)
  if begun and begun < (lib.number_of(tally.first) or begun + 1) then tally.first = part.begun end
  if ended and ended > (lib.number_of(tally.last) or 0) then tally.last = part.ended end
  tally.goes_on = tally.goes_on or not TERMINAL[part.state]
end

local function add(branch, part)
  local key = key_of(branch, part)
  local seen = branch.seen[key] or 0
  local most = branch.kind == 'chain' and LONG or KEYS_EACH
  if seen == 0 and branch.keys >= most and not part.has_parts then return count(branch, '', part) end
  branch.seen[key], branch.keys = seen + 1, branch.keys + (seen == 0 and 1 or 0)
  if seen >= EACH then return count(branch, key, part) end
  local below = part.has_parts and #composites < COMPOSITES and lib.branch_of(part.id, '') or nil
  if below then composites[#composites + 1] = below; below.number = #composites end
  parts[#parts + 1] = { branch.number, key, part.id, part.pool, part.kind, part.name, part.state, part.begun or '', part.ended or '',
    below and below.number or '' }
end

local function grow(branch)
  branch.seen, branch.keys, branch.runs, branch.tallies, branch.read = {}, 0, 0, {}, 0
  if room <= 0 then return end
  lib.each_part(branch, '', function(ref, _, at)
    if room <= 0 then return false end
    room, branch.read = room - 1, branch.read + 1
    add(branch, read(branch, ref, at))
  end)
end

composites[1] = lib.branch_of(ARGV[1], '')
if composites[1] then composites[1].number = 1 end
local at = 1
while composites[at] do
  grow(composites[at])
  at = at + 1
end

for i, branch in ipairs(composites) do composites[i] = { branch.id, branch.kind, branch.size or '', branch.read } end
for i, tally in ipairs(tallies) do
  local row = { tally.number, tally.key, tally.label, tally.first, tally.goes_on and '' or tally.last }
  for state, number in pairs(tally.states) do row[#row + 1] = state; row[#row + 1] = number end
  tallies[i] = row
end
return lib.told({ composites, parts, tallies })
