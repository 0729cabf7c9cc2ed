-- The consistency check of keys with a limit: a task has what it needs of its key, and nothing is left of others.
--@needs fieldcheck lanes limits minute_counts store_helpers turn_order

local MOST_WAITING, MOST_HELD = 100, 500
local PARTS = { SUBKEY.turn, SUBKEY.active, SUBKEY.waiting }

-- What a task in this state has of its key; nil = nothing. `placed`: it is in its lane, or held for its paused name.
local function wanted(state, placed)
  if LEASED[state] then return SUBKEY.active end
  if state == 'pending' then return placed and SUBKEY.turn or SUBKEY.waiting end
end

local function has(key, part, id)
  local asks = part == SUBKEY.waiting and 'ZSCORE' or 'SISMEMBER'
  local reply = lib.try(asks, key .. part, id)
  return reply and reply ~= 0 or false
end

-- Checks what a task has of its key, and returns whether it is where it should be.
function lib.check_key(id, record, placed)
  if not record[F.limit_key] then return placed end
  local scope = lib.scope_of(record)
  local key, want = lib.key_of_limit(scope), wanted(record[F.state], placed)
  for _, part in ipairs(PARTS) do
    local is_there = has(key, part, id)
    if is_there and part ~= want and lib.wrong(id, 'it is ' .. record[F.state] .. ', and in ' .. part .. ' of its key') then
      lib.try(part == SUBKEY.waiting and 'ZREM' or 'SREM', key .. part, id)
      lib.touch_key(scope)
    elseif part == want and part == SUBKEY.waiting then
      placed = is_there
    elseif part == want and not is_there and lib.wrong(id, 'it is ' .. record[F.state] .. ', and not in ' .. part .. ' of its key') then
      lib.try('SADD', key .. part, id)
    end
  end
  return placed
end

-- A member of what a key has whose task is lost, or has another key.
local function check_member(scope, part, id)
  local row = not lib.is_foreign(id) and lib.named_fields(TASK .. id, F.state, F.name, F.limit_key) or {}
  local is_own = row[F.name] and row[F.limit_key] and lib.scope_of(row) == scope and wanted(row[F.state], part == SUBKEY.turn)
  if lib.is_foreign(id) then is_own = lib.hooks.parts.check_turn(id, scope, part) end
  if is_own or not lib.wrong('~limit:' .. scope, id .. ' is in ' .. part .. ' of this key, and there is no such task') then return end
  lib.try(part == SUBKEY.waiting and 'ZREM' or 'SREM', lib.key_of_limit(scope) .. part, id)
  lib.touch_key(scope)
end

-- Checks that a lane has a turn of its key, or waits for one, if and only if it has something to begin. Returns whether it has one.
function lib.check_turn_of_lane(lane, turn, wants)
  local key, text = lib.key_of_limit(lib.scope_of(turn)), nil
  local begins, waits = has(key, SUBKEY.turn, lane), has(key, SUBKEY.waiting, lane)
  if wants and not begins and not waits then text = 'it has something to begin, and does not wait for its key' end
  if not wants and (begins or waits) then text = 'it has a turn of its key, or waits for one, and nothing to begin' end
  if begins and waits then text = 'it has a turn of its key, and waits for one' end
  if text and lib.wrong('~lane:' .. lane, text) then
    if begins and waits then lib.try('ZREM', key .. SUBKEY.waiting, lane) end
    ctx.touched[lane] = true
  end
  return wants and begins
end

-- Checks that a part of a task is in `#active` of its key if and only if it runs.
function lib.check_turn_of_part(ref, turn, runs)
  local key = lib.key_of_limit(lib.scope_of(turn))
  local text = (runs and 'it runs, and is not in ' or 'it does not run, and is in ') .. SUBKEY.active .. ' of its key'
  if has(key, SUBKEY.active, ref) == runs or not lib.wrong(ref, text) then return end
  lib.try(runs and 'SADD' or 'SREM', key .. SUBKEY.active, ref)
  lib.touch_key(lib.scope_of(turn))
end

-- Each check sees other members of a large set.
function lib.hooks.check_entry.limit(scope)
  local key = lib.key_of_limit(scope)
  local waiting = lib.try('ZRANGE', key .. SUBKEY.waiting, 0, MOST_WAITING - 1) or {}
  for _, part in ipairs({ SUBKEY.turn, SUBKEY.active }) do
    for _, id in ipairs(lib.try('SRANDMEMBER', key .. part, MOST_HELD) or {}) do check_member(scope, part, id) end
  end
  for _, id in ipairs(waiting) do check_member(scope, SUBKEY.waiting, id) end
  local waits, first = false, {}
  if waiting[1] then waits, first = lib.first_of_key(waiting[1]) end
  if not waits or lib.try('ZSCORE', P .. ':agenda', '~limit:' .. scope) then return end
  local word, bucket = lib.turns_of(scope, first)
  if (word == 'free' or bucket) and lib.wrong('~limit:' .. scope, 'tasks wait for a turn of this key, and get none') then
    lib.touch_key(scope)
  end
end
