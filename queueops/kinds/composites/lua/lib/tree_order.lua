-- Order and position of parts in a tree. A position is the order of a part. For an open task of an iterator, it is `g`
-- and the generation (oldest first). For an ended task, it is `e` and the rank (latest first). Open tasks come before
-- ended ones.
--@needs store_helpers

lib.MOST_ENDED = 100 -- of what an iterator's tasks have come to, so many are shown
local WIDEST = 1000 -- no window of an iterator is wider

-- Reads a key. A key of the wrong type counts as empty.
function lib.ask(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then return nil end
  return reply
end

function lib.is_over(at) return string.sub(at, 1, 1) == 'e' end

local RANKS = { g = 1, e = 2 }

function lib.is_before(at, position)
  if position == '' then return false end
  local rank, from = RANKS[string.sub(at, 1, 1)] or 3, RANKS[string.sub(position, 1, 1)] or 3
  if rank ~= from then return rank < from end
  local number, first = tonumber(string.match(at, '%d+$')), tonumber(string.match(position, '%d+$'))
  if rank == 2 then return number > first end
  return number < first
end

-- The open tasks of an iterator, oldest first.
local function each_begun(branch, position, visit)
  local begun = {}
  for _, ref in ipairs(lib.ask('SRANDMEMBER', lib.task_key(branch.id) .. SUBKEY.open, WIDEST) or {}) do
    local _, uid = lib.values_of(lib.task_key(ref), F.uid)
    begun[#begun + 1] = { number = uid and lib.number_of(uid) or 0, ref = ref }
  end
  table.sort(begun, function(a, b) return a.number < b.number or (a.number == b.number and a.ref < b.ref) end)
  for _, each in ipairs(begun) do
    local at = 'g' .. lib.text(each.number)
    if not lib.is_before(at, position) and visit(each.ref, '', at) == false then return false end
  end
end

-- The ended tasks of an iterator, latest first.
local function each_ended(branch, position, visit)
  local refs = branch.ended and lib.ask('LRANGE', lib.task_key(branch.id) .. branch.ended, -lib.MOST_ENDED, -1) or {}
  for i = #refs, 1, -1 do
    local at, ref = 'e' .. i, branch.marks and string.sub(refs[i], 2) or refs[i]
    if not lib.is_before(at, position) and visit(ref, '', at) == false then return false end
  end
end

-- Calls visit(ref, order, position) for each until it answers false.
function lib.each_part(branch, position, visit)
  if branch.kind == 'iterator' then
    local rank = RANKS[string.sub(position, 1, 1)] or (position == '' and 1) or 3
    if rank == 1 and each_begun(branch, position, visit) == false then return end
    if rank < 3 and each_ended(branch, position, visit) == false then return end
    if rank < 3 then position = '' end
  end
  local first = position == '' and '-inf' or position
  while true do
    local found = lib.ask('ZRANGEBYSCORE', branch.ordered, first, '+inf', 'WITHSCORES', 'LIMIT', 0, 200) or {}
    for i = 1, #found, 2 do
      if visit(found[i], found[i + 1], found[i + 1]) == false then return end
    end
    if #found < 400 then return end
    first = '(' .. found[#found]
  end
end
