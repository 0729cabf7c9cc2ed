-- The consistency check of keys with a limit: a task has what it needs of its key, and nothing is left of others.
--@needs fieldcheck limits minute_counts store_helpers

local MOST_WAITING = 100
local PARTS = { SUBKEY.turn, SUBKEY.active, SUBKEY.waiting }

-- What a task in this state has of its key; nil = nothing. `placed`: it is in its lane, or held for its paused name.
local function wanted(state, placed)
  if LEASED[state] then return SUBKEY.active end
  if state == 'pending' then return placed and SUBKEY.turn or SUBKEY.waiting end
end

local function has(key, part, id)
  local asks = part == SUBKEY.waiting and 'ZSCORE' or 'SISMEMBER'
  local reply = lib.try(asks, key .. part, id)
  return reply and reply ~= 0
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
  local row = lib.named_fields(TASK .. id, F.state, F.name, F.limit_key) or {}
  local is_own = row[F.name] and row[F.limit_key] and lib.scope_of(row) == scope and wanted(row[F.state], part == SUBKEY.turn)
  if is_own or not lib.wrong('~limit:' .. scope, id .. ' is in ' .. part .. ' of this key, and there is no such task') then return end
  lib.try(part == SUBKEY.waiting and 'ZREM' or 'SREM', lib.key_of_limit(scope) .. part, id)
  lib.touch_key(scope)
end

function lib.hooks.check_entry.limit(scope)
  local key = lib.key_of_limit(scope)
  local waiting = lib.try('ZRANGE', key .. SUBKEY.waiting, 0, MOST_WAITING - 1) or {}
  for _, part in ipairs({ SUBKEY.turn, SUBKEY.active }) do
    for _, id in ipairs(lib.try('SMEMBERS', key .. part) or {}) do check_member(scope, part, id) end
  end
  for _, id in ipairs(waiting) do check_member(scope, SUBKEY.waiting, id) end
  local first = waiting[1] and lib.named_fields(TASK .. waiting[1], F.state, F.key_limit, F.key_rate)
  if not first or first[F.state] ~= 'pending' or lib.try('ZSCORE', P .. ':agenda', '~limit:' .. scope) then return end
  local word, bucket = lib.turns_of(scope, first)
  if (word == 'free' or bucket) and lib.wrong('~limit:' .. scope, 'tasks wait for a turn of this key, and get none') then
    lib.touch_key(scope)
  end
end
