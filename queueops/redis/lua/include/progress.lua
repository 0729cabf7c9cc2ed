-- Progress of composites: the sum of their leaves. The weight of a leaf is its own total, or 1. A running leaf with a
-- total counts in part, an ended leaf in full. Fields of a leaf: `pw` its weight, if it differs from the pushed weight.
-- `pc` is the amount that counts while it runs. `pl` is the pushed weight, kept if the parent is in another pool, which
-- gets the difference.
local HUNDREDTH = 0.01 -- smaller steps of a leaf do not travel to its parent
local COUNTS_PARTS = { iterator = true, mapreduce = true } -- kinds whose total is found out while they run: 1 is planted for them

-- An amount as it is stored; 0 for a value that is not a number.
local function amount(value)
  local number = tonumber(value or nil)
  return number and number >= -1e18 and number <= 1e18 and number or 0
end

local function rounded(number) return floor(number * 1000 + 0.5) / 1000 end

-- A number as text: at most three decimals, without zeros at the end.
local function shown(number)
  if number == floor(number) then return string.format('%.0f', number) end
  return (string.gsub(string.gsub(string.format('%.3f', number), '0+$', ''), '%.$', ''))
end

local function own_weight(total)
  local number = rounded(amount(total))
  return number > 0 and number or 1
end

function family.weight_of(leaf)
  if leaf.pw then return amount(leaf.pw) end
  return COUNTS_PARTS[leaf.k] and 1 or own_weight(leaf.to)
end

-- By how much a part has grown above its pushed weight.
function family.growth_of(part)
  if part.cc then return part.pl and amount(part.to) - amount(part.pl) or 0 end
  local weight = family.weight_of(part)
  return weight - (COUNTS_PARTS[part.k] and 1 or part.pl and amount(part.pl) or weight)
end

-- Collects for a root the progress of its leaves, and the growth of their totals, until this call ends.
function family.count(root, done, total)
  if not root then return end
  local row = ended_leaves[root]
  if not row then row = { 0, 0 }; ended_leaves[root] = row end
  row[1] = row[1] + done
  row[2] = row[2] + (total or 0)
end

-- Counts a running leaf at `done` of `weight`; its earlier weight was `before`. A small step does not count yet.
function family.count_part(id, leaf, done, weight, before)
  local part, counted = rounded(max(0, min(done, weight))), amount(leaf.pc)
  local step = part > counted and part - counted or counted - part
  if weight == before and (step == 0 or (step < weight * HUNDREDTH and part < weight)) then return end
  local fields = { 'pc', shown(part) }
  if weight ~= before then
    fields[3], fields[4] = 'pw', shown(weight)
    leaf.pw = fields[4]
    if leaf.pp and not leaf.pl and not COUNTS_PARTS[leaf.k] then
      fields[5], fields[6] = 'pl', shown(before)
      leaf.pl = fields[6]
    end
  end
  safe_call('HSET', task_key(id), unpack(fields))
  if not leaf.pp then return family.count(leaf.tp or leaf.ro, part - counted, weight - before) end
  send_latest('progress', leaf.pp, leaf.pi, id, leaf.pu, leaf.po, 'pr', fields[2], 'gr', shown(family.growth_of(leaf)))
end

-- Whether the progress of a leaf counts. It does not below an iterator, which counts its tasks, or after its parent's end.
function family.counts(leaf) return leaf.pi and not (leaf.it or leaf.uc) end

-- Updates weight and progress of an iterator or a map-reduce task, after one of its tasks or chunks began or ended.
function family.weigh(id)
  local names = { 's', 'pi', 'it', 'uc', 'to', 'pr', 'k', 'pc', 'pw', 'pp', 'tp', 'ro', 'pu', 'po' }
  local row, leaf = fields_of(task_key(id), unpack(names)), {}
  for i, name in ipairs(names) do leaf[name] = row and row[i] or nil end
  if family.counts(leaf) and not TERMINAL[leaf.s] then
    family.count_part(id, leaf, amount(leaf.pr), own_weight(leaf.to), family.weight_of(leaf))
  end
end

-- Removes the progress of a leaf that runs again. `counted`: its end has been counted.
function family.uncount(child, mode, counted)
  if child.cc or child.pp then return end
  local weight = family.weight_of(child)
  local shrinks = mode == 'all' and child.k == 'iterator' -- its total is forgotten
  family.count(child.tp or child.ro, -(counted and weight or amount(child.pc)), shrinks and 1 - weight or 0)
end
