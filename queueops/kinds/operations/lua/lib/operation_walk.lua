-- Walk of a bulk action along its indexes, newest first. It meets the tasks that matched when it began, and match still.
--@needs list_page list_row operator_action store_helpers transitions

local SLICE_S = 0.001 -- a call begins no further task after so much time
local LOOK_S = 0.003 -- a preview looks at no further task after so much time
local RUNNING = { idle = true, aggregating = true }
local STATE = '^state:'

-- The rank at which a part begins. Tasks that came into a state after the question are not even looked at.
local function begin_of(walk, key, index)
  if walk.member ~= '' then return lib.rank_behind(key, walk.score, walk.member) end
  if string.find(index, STATE) then return call('ZCOUNT', key, '(' .. lib.text(walk.asked), '+inf') end
  return 0
end

local function record_of(id, verb)
  if verb ~= 'restore' then return lib.read_record(id) end
  local row = lib.fields_of(P .. ':trash:' .. id, 's', 'ot')
  return row and row[1] and { s = row[1], ot = row[2] or nil } or nil
end

local function matches(walk, record)
  for i = 1, #walk.wanted, 2 do
    if not (record and lib.fits(walk.wanted[i], record[walk.wanted[i]], walk.wanted[i + 1])) then return false end
  end
  return not (record and record.k == 'bulk_action')
end

local function is_later(walk, index, id, score, record)
  local entered = tonumber(score)
  if index ~= 'trashed' and not string.find(index, STATE) then
    entered = record and lib.number_of(call('ZSCORE', P .. ':state:' .. record.s, id))
  end
  return entered and entered > walk.asked
end

-- What an undo needs to know of a task, as it was before the action.
local function was(record, verb)
  if verb == 'move' then return record.l or 'default' end
  if verb == 'priority' then return record.p or '0' end
  return record.s ~= 'pending' and record.d or ''
end

local KEEPS = { move = true, priority = true, postpone = true, run_now = true }

-- Marks a changed task for an undo. The cancel of a task that had begun, or that counts in its parent, is not undone: its
-- token gets a tail.
local function mark(id, record, action)
  if KEEPS[action.verb] then
    call('HSET', lib.task_key(id), 'ow', was(record, action.verb))
  elseif action.verb == 'cancel' and (LEASED[record.s] or RUNNING[record.s] or record.pi) then
    call('HSET', lib.task_key(id), 'ot', action.token .. '.begun')
  end
end

-- The action on one task of an undo that needs the earlier value: a postpone of a task that was ready makes it ready.
local function back(record, action)
  if not KEEPS[action.verb] then return action end
  local one = {}
  for name, value in pairs(action) do one[name] = value end
  one.value = record.ow or ''
  if action.verb == 'postpone' and one.value == '' then one.verb = 'run_now' end
  return one
end

local function visit(walk, id, record, action, tally)
  local one = walk.takes_back and record and back(record, action) or action
  local word, state, detail = lib.act_on(id, one, action.verb ~= 'restore' and record or nil)
  if word == 'REPEAT' and (detail or '') == '' then return end -- counted before: the action itself brought it here
  tally.seen = tally.seen + 1
  if word == 'OK' then
    tally.changed = tally.changed + 1
    if state == 'cancelled' and record and walk.tells[record.k or 'task'] then tally.cancelled[#tally.cancelled + 1] = id end
    if record and not walk.takes_back then mark(id, record, action) end
  else
    tally.left = tally.left + 1
    tally.why = tally.why or detail ~= '' and detail or word
  end
end

-- Acts on the tasks behind the walk's place, and moves the place. Returns how many tasks were looked at, seen (they
-- match), changed and left as they are, and why the first of these was left. After the last task that it may change, the
-- walk goes on until it meets another one that matches (`cut`), so that the operation says whether it left any.
function lib.walk_on(walk, action)
  local tally, finish = { looked = 0, seen = 0, changed = 0, left = 0, cancelled = {} }, os.clock() + SLICE_S
  local index = walk.indexes[walk.at]
  if not index then return tally end
  local key = P .. ':' .. index
  local rank = begin_of(walk, key, index)
  local rows = call('ZREVRANGE', key, rank, rank + walk.part - 1, 'WITHSCORES')
  for i = 1, #rows, 2 do
    local id, score = rows[i], rows[i + 1]
    local record = record_of(id, action.verb)
    if matches(walk, record) and not is_later(walk, index, id, score, record) then
      if tally.seen < walk.left then
        visit(walk, id, record, action, tally)
      elseif record and record.ot ~= action.token then
        tally.cut = true
        break
      end
    end
    walk.score, walk.member, tally.looked = score, id, tally.looked + 1
    if os.clock() > finish then break end
  end
  if tally.looked * 2 == #rows and #rows < 2 * walk.part then walk.at, walk.score, walk.member = walk.at + 1, '', '' end
  return tally
end

local function add(counts, name, number) counts[name] = (counts[name] or 0) + number end

local function as_pairs(counts)
  local found = {}
  for name, number in pairs(counts) do found[#found + 1], found[#found + 2] = name, number end
  return found
end

-- Counts the parents of parts, by the kind of the parent.
local function note_parent(record, parents, parts)
  local kind = parents[record.pi]
  if not kind then
    local row = lib.fields_of(lib.task_key(record.pi), 's', 'k')
    kind = row and row[1] and (row[2] or 'task') or ''
    parents[record.pi] = kind
    parts[kind] = parts[kind] or { 0, 0 }
    parts[kind][2] = parts[kind][2] + 1
  end
  parts[kind][1] = parts[kind][1] + 1
end

-- What the action would meet, in the first tasks of the walk.
function lib.look_on(walk, action)
  local names, parents, parts, refused = {}, {}, {}, {}
  local looked, matched, finish, is_whole = 0, 0, os.clock() + LOOK_S, true
  for _, index in ipairs(walk.indexes) do
    local key = P .. ':' .. index
    local rank = begin_of(walk, key, index)
    local rows = call('ZREVRANGE', key, rank, rank + walk.part - looked, 'WITHSCORES')
    for i = 1, #rows, 2 do
      if looked >= walk.part or os.clock() > finish then
        is_whole = false
        break
      end
      looked = looked + 1
      local record = record_of(rows[i], action.verb)
      if matches(walk, record) and not is_later(walk, index, rows[i], rows[i + 1], record) then
        matched = matched + 1
        add(names, record and record.n or '', 1)
        if record and record.pi then note_parent(record, parents, parts) end
        local reason = lib.refusal_of(record, action)
        if reason then add(refused, string.sub(reason, 1, 300), 1) end
      end
    end
  end
  local triples = {}
  for kind, found in pairs(parts) do
    triples[#triples + 1], triples[#triples + 2], triples[#triples + 3] = kind, found[1], found[2]
  end
  return { looked, matched, is_whole and '1' or '', as_pairs(names), triples, as_pairs(refused) }
end

-- Writes the place and the counts into the record of the operation. The rate is that of the last second or more.
function lib.note_walk(key, walk, tally, seen)
  local row = lib.fields_of(key, 'jw', 'jx')
  local since, before = lib.number_of(row[1]), lib.number_of(row[2]) or 0
  if not since then
    call('HSET', key, 'jw', NOW, 'jx', lib.text(seen - tally.seen))
    call('HSETNX', key, 'jb', NOW)
  elseif now - since >= 1000 then
    call('HSET', key, 'jw', NOW, 'jx', seen, 'jv', lib.text((seen - before) * 1000 / (now - since)))
  end
  call('HSET', key, 'ji', walk.at, 'js', walk.score, 'jm', walk.member, 'jn', seen)
  call('HINCRBY', key, 'jk', tally.changed)
  call('HINCRBY', key, 'jr', tally.left)
  call('HINCRBY', key, 'jl', tally.looked)
  if tally.cut then call('HSET', key, 'jc', '1') end
  if tally.why then call('HSETNX', key, 'jd', string.sub(tally.why, 1, 500)) end
end
