-- Progress of composites: the sum of their leaves. The weight of a leaf is its own total, or 1. A running leaf with a
-- total counts in part, an ended leaf in full. Fields of a leaf: `pw` its weight, if it differs from the pushed weight.
-- `pc` is the amount that counts while it runs. `pl` is the pushed weight, kept if the parent is in another pool, which
-- gets the difference.
--@needs child_end outbox parent store_helpers transitions

local HUNDREDTH = 0.01 -- smaller steps of a leaf do not travel to its parent
local COUNTS_PARTS = { iterator = true, mapreduce = true } -- kinds whose total is found out while they run: 1 is planted for them

function lib.own_weight(total)
  local number = lib.rounded(lib.amount(total))
  return number > 0 and number or 1
end

function lib.family.weight_of(leaf)
  if leaf[F.weight] then return lib.amount(leaf[F.weight]) end
  return COUNTS_PARTS[leaf[F.kind]] and 1 or lib.own_weight(leaf[F.total])
end

-- By how much a part has grown above its pushed weight.
function lib.family.growth_of(part)
  if part.cc then return part.pl and lib.amount(part.to) - lib.amount(part.pl) or 0 end
  local weight = lib.family.weight_of(part)
  return weight - (COUNTS_PARTS[part.k] and 1 or part.pl and lib.amount(part.pl) or weight)
end

-- Collects for a root the progress of its leaves, and the growth of their totals, until this call ends.
function lib.family.count(root, done, total)
  if not root then return end
  local steps = ctx.ended_leaves[root]
  if not steps then steps = { done = 0, total = 0 }; ctx.ended_leaves[root] = steps end
  steps.done = steps.done + done
  steps.total = steps.total + (total or 0)
end

-- Counts a running leaf at `done` of `weight`; its earlier weight was `before`. A small step does not count yet.
function lib.family.count_part(id, leaf, done, weight, before)
  local part, counted = lib.rounded(max(0, min(done, weight))), lib.amount(leaf[F.counted])
  local step = part > counted and part - counted or counted - part
  if weight == before and (step == 0 or (step < weight * HUNDREDTH and part < weight)) then return end
  local fields = { 'pc', lib.shown(part) }
  if weight ~= before then
    fields[3], fields[4] = 'pw', lib.shown(weight)
    leaf[F.weight] = fields[4]
    if leaf[F.parent_pool] and not leaf[F.planted_weight] and not COUNTS_PARTS[leaf[F.kind]] then
      fields[5], fields[6] = 'pl', lib.shown(before)
      leaf[F.planted_weight] = fields[6]
    end
  end
  lib.safe_call('HSET', lib.task_key(id), unpack(fields))
  if not leaf[F.parent_pool] then return lib.family.count(leaf[F.top] or leaf[F.root], part - counted, weight - before) end
  lib.send_latest('progress', leaf[F.parent_pool], leaf[F.parent_id], id, leaf[F.parent_uid], leaf[F.parent_round], 'pr', fields[2], 'gr',
    lib.shown(lib.family.growth_of(leaf)))
end

-- Whether the progress of a leaf counts. It does not below an iterator, which counts its tasks, or after its parent's end.
function lib.family.counts(leaf) return leaf[F.parent_id] and not (leaf[F.of_iterator] or leaf[F.uncounted]) end

-- Updates weight and progress of an iterator or a map-reduce task, after one of its tasks or chunks began or ended.
function lib.family.weigh(id)
  local names = { 's', 'pi', 'it', 'uc', 'to', 'pr', 'k', 'pc', 'pw', 'pp', 'tp', 'ro', 'pu', 'po' }
  local row, leaf = lib.fields_of(lib.task_key(id), unpack(names)), {}
  for i, name in ipairs(names) do leaf[name] = row and row[i] or nil end
  if lib.family.counts(leaf) and not TERMINAL[leaf[F.state]] then
    lib.family.count_part(id, leaf, lib.amount(leaf[F.progress]), lib.own_weight(leaf[F.total]), lib.family.weight_of(leaf))
  end
end

-- Removes the progress of a leaf that runs again. `counted`: its end has been counted.
function lib.family.uncount(child, mode, counted)
  if child[F.children] or child[F.parent_pool] then return end
  local weight = lib.family.weight_of(child)
  local shrinks = mode == 'all' and child[F.kind] == 'iterator' -- its total is forgotten
  lib.family.count(child[F.top] or child[F.root], -(counted and weight or lib.amount(child[F.counted])), shrinks and 1 - weight or 0)
end
