-- Walk over runs for a list: newest first, within a budget of candidates. The indexes of names, kinds and tags are in the
-- order of creation: there the walk begins at the latest creation that is asked for, and ends behind the earliest.
--@needs list_page list_row run_marks store_helpers

lib.run_walk = {}

local FIRST_INDEX = 11
local PAGE = 100
local MARKS = lib.run_marks.FIELDS

local function is_by_creation(index) return not MARKS[index] and string.sub(index, 1, 6) ~= 'state:' end

-- A run that was never claimed has been pending since its creation.
local function created(id, stored) return tonumber(stored or call('ZSCORE', P .. ':state:pending', id) or nil) end

local function created_of(id)
  local _, stored = lib.values_of(lib.task_key(id), F.created)
  return created(id, stored)
end

-- The index to walk: the smallest one, and for an upper limit of the creation one in its order.
local function choose(args)
  local best, least = args[3], nil
  if best ~= '' then return best, call('ZCARD', P .. ':' .. best) end
  for i = FIRST_INDEX, FIRST_INDEX - 1 + tonumber(args[10]) do
    local size = call('ZCARD', P .. ':' .. args[i])
    local fits = args[7] == '' or is_by_creation(args[i])
    if fits and (not least or size < least) then best, least = args[i], size end
  end
  return best, least
end

local function conditions(args, index)
  local found = { fields = {}, values = {}, since = tonumber(args[6]), till = tonumber(args[7]), status = args[8] }
  for i = FIRST_INDEX + tonumber(args[10]), #args, 3 do
    if args[i] == 's' and args[i + 1] == 'succeeded' then found.has_succeeded = true end
    if MARKS[args[i + 2]] then
      found.mark = index ~= args[i + 2] and args[i] -- its field has the time since, and any is right
    elseif args[i + 2] ~= index then
      found.fields[#found.fields + 1] = args[i]; found.values[#found.values + 1] = args[i + 1]
    end
  end
  found.is_start = string.sub(args[9], -1) == '*'
  found.instance = found.is_start and string.sub(args[9], 1, -2) or args[9]
  found.has_own = found.mark or found.has_succeeded or found.since or found.till or found.status ~= '' or args[9] ~= ''
  return found
end

local function fits_instance(wanted, instance)
  if wanted.is_start then return string.sub(instance, 1, #wanted.instance) == wanted.instance end
  return wanted.instance == '' or wanted.instance == instance
end

local function fits(id, wanted)
  if not lib.matches(id, wanted.fields, wanted.values) then return false end
  if not wanted.has_own then return true end
  local row = lib.named_fields(lib.task_key(id), F.created, F.custom_status, F.instance, F.continued_at, wanted.mark or F.blocked_since)
  if not row or wanted.mark and not row[wanted.mark] or wanted.has_succeeded and row[F.continued_at] then return false end
  if not fits_instance(wanted, row[F.instance] or id) then return false end
  if wanted.status ~= '' and not string.find(string.lower(row[F.custom_status] or ''), wanted.status, 1, true) then return false end
  local at = (wanted.since or wanted.till) and created(id, row[F.created])
  return not at or at >= (wanted.since or at) and at <= (wanted.till or at)
end

-- The rank, newest first, of the first run that was not created after `till`. One whose time is not known counts as such.
local function rank_at(key, till)
  local low, high = 0, call('ZCARD', key)
  while low < high do
    local middle = floor((low + high) / 2)
    local id = call('ZREVRANGE', key, middle, middle)[1]
    local at = created_of(id)
    if at and at > till then low = middle + 1 else high = middle end
  end
  return low
end

-- Whether no later candidate can have been created since the earliest creation that is asked for.
local function is_behind(index, id, score, wanted)
  if not wanted.since then return false end
  if not is_by_creation(index) then return tonumber(score) < wanted.since end -- it was created before it came here
  local at = created_of(id)
  return at and at < wanted.since
end

function lib.run_walk.page(args)
  local most, budget, last_score, last_id = tonumber(args[1]), tonumber(args[2]), args[4], args[5]
  local index, size = choose(args)
  local key, wanted = P .. ':' .. index, conditions(args, index)
  local rank = last_id == '' and wanted.till and rank_at(key, wanted.till) or lib.rank_behind(key, last_score, last_id)
  local rows, seen, ended = {}, 0, false
  while not ended and #rows < most and seen < budget do
    local found = call('ZREVRANGE', key, rank, rank + PAGE - 1, 'WITHSCORES')
    for i = 1, #found, 2 do
      if #rows == most or seen == budget then break end
      if is_behind(index, found[i], found[i + 1], wanted) then ended = true; break end
      seen, last_id, last_score = seen + 1, found[i], found[i + 1]
      if fits(last_id, wanted) then rows[#rows + 1] = lib.row_of(last_id, last_score) end
    end
    rank = rank + PAGE
    ended = ended or #found < 2 * PAGE and #rows < most and seen < budget
  end
  return { index, size, ended and '1' or '', seen, last_score, last_id, rows }
end
