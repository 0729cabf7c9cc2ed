-- Walk of a bulk action along its indexes, newest first. It meets the tasks that matched when it began, and match still.
--@needs filter_conditions list_page operator_action store_helpers transitions

local SLICE = 30 -- tasks that a call acts on: about a millisecond of the server
local STATE = '^state:'

lib.walks = {}

-- The rank at which a part begins. Tasks that came into a state after the question are not even looked at.
function lib.walks.begin_of(walk, key, index)
  if walk.member ~= '' then return lib.rank_behind(key, walk.score, walk.member) end
  if string.find(index, STATE) then return call('ZCOUNT', key, '(' .. lib.text(walk.asked), '+inf') end
  return 0
end

function lib.walks.record_of(id, verb)
  if verb ~= 'restore' then return lib.read_record(id) end
  local row = lib.named_fields(P .. ':trash:' .. id, 's', 'ot')
  return row and row[F.state] and { s = row[F.state], ot = row[F.operation] or nil } or nil
end

local function fits(id, record, field, wanted)
  if field == '?' then return (lib.meets_text(id, wanted, record)) end
  return lib.fits(field, record[field], wanted)
end

local function matches(walk, id, record)
  for i = 1, #walk.wanted, 2 do
    if not (record and fits(id, record, walk.wanted[i], walk.wanted[i + 1])) then return false end
  end
  return not (record and record[F.kind] == 'bulk_action')
end

local function is_later(walk, index, id, score, record)
  local entered = tonumber(score)
  if index ~= 'trashed' and not string.find(index, STATE) then
    entered = record and lib.number_of(call('ZSCORE', P .. ':state:' .. record[F.state], id))
  end
  return entered and entered > walk.asked
end

-- Whether the walk means a task: it matches, and did so at the time of the question.
function lib.walks.means(walk, index, id, score, record)
  return matches(walk, id, record) and not is_later(walk, index, id, score, record)
end

-- What an undo needs to know of a task, as it was before the action.
local function was(record, verb)
  if verb == 'move' then return record[F.lane] or 'default' end
  if verb == 'priority' then return record[F.priority] or '0' end
  return record[F.state] ~= 'pending' and record[F.due] or ''
end

local KEEPS = { move = true, priority = true, postpone = true, run_now = true }

-- Whether a task, or a part of it, may be running. Of the parked ones, only a task in `waiting` has not begun.
local function is_under_way(state) return LEASED[state] or CLASS[state] == 'parked' and state ~= 'waiting' end

-- Marks a changed task for an undo. The cancel of a task that had begun, or that counts in its parent, is not undone: its
-- token gets a tail.
local function mark(id, record, action)
  if KEEPS[action.verb] then
    call('HSET', lib.task_key(id), F.value_before, was(record, action.verb))
  elseif action.verb == 'cancel' and (is_under_way(record[F.state]) or record[F.parent_id]) then
    call('HSET', lib.task_key(id), F.operation, action.token .. '.begun')
  end
end

-- The action on one task of an undo that needs the earlier value: a postpone of a task that was ready makes it ready.
local function back(record, action)
  if not KEEPS[action.verb] then return action end
  local one = {}
  for name, value in pairs(action) do one[name] = value end
  one.value = record[F.value_before] or ''
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
    if state == 'cancelled' and record and walk.tells[record[F.kind] or 'task'] then tally.cancelled[#tally.cancelled + 1] = id end
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
  local tally = { looked = 0, seen = 0, changed = 0, left = 0, cancelled = {} }
  local index = walk.indexes[walk.at]
  if not index then return tally end
  local key = P .. ':' .. index
  local rank = lib.walks.begin_of(walk, key, index)
  local rows = call('ZREVRANGE', key, rank, rank + walk.part - 1, 'WITHSCORES')
  for i = 1, #rows, 2 do
    local id, score = rows[i], rows[i + 1]
    local record = lib.walks.record_of(id, action.verb)
    if lib.walks.means(walk, index, id, score, record) then
      if tally.seen < walk.left then
        visit(walk, id, record, action, tally)
      elseif record and record[F.operation] ~= action.token then
        tally.cut = true
        break
      end
    end
    walk.score, walk.member, tally.looked = score, id, tally.looked + 1
    if tally.seen >= SLICE then break end
  end
  if tally.looked * 2 == #rows and #rows < 2 * walk.part then walk.at, walk.score, walk.member = walk.at + 1, '', '' end
  return tally
end

-- Writes the place and the counts into the record of the operation. The rate is that of the last second or more.
function lib.note_walk(key, walk, tally, seen)
  local row = lib.named_fields(key, 'jw', 'jx')
  local since, before = lib.number_of(row[F.rate_since]), lib.number_of(row[F.rate_seen]) or 0
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
