#!lua flags=allow-oom
-- next_file: the outcome of a deletion is noted, and the next file that is due is given to the caller for a while.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 ms for which the caller has the next one (0 = it takes none), 2 the file before ('' = none), 3 until when the caller
--       had that one, 4 gone, left (it is no file of its job) or failed, 5 ms until the next attempt, 6 the error
-- Reply: nothing if no file is due; else its name, the id of its job, why, failed attempts, and until when the caller has it.
-- Transitions: none.
--@needs files store_helpers transitions

local MOST_SEEN = 200
local queue = P .. ':files'

local function mark_deleted(note)
  for _, key in ipairs({ lib.task_key(note.id), P .. ':trash:' .. note.id }) do
    if note.id ~= '' and lib.safe_call('HGET', key, 's') then lib.safe_call('HSET', key, 'fx', NOW) end
  end
end

-- An entry that has changed since belongs to another run of the job.
local function settle(path, till, outcome, delay, error)
  if path == '' or lib.safe_call('ZSCORE', queue, path) ~= till then return end
  local note = lib.files.note_of(path)
  if outcome ~= 'failed' then
    if outcome == 'gone' then mark_deleted(note) end
    return lib.files.forget(path)
  end
  note.tries, note.error = (lib.number_of(note.tries) or 0) + 1, error
  lib.safe_call('ZADD', queue, lib.text(now + tonumber(delay)), path)
  lib.safe_call('HSET', P .. ':files:notes', path, cjson.encode(note))
  lib.safe_call('HSET', P .. ':files:notes', lib.files.FAILED, path)
end

local function take()
  for _ = 1, MOST_SEEN do
    local path = lib.safe_call('ZRANGEBYSCORE', queue, '-inf', NOW, 'LIMIT', 0, 1)[1]
    if not path then return {} end
    local note = lib.files.note_of(path)
    if note.why == 'ended' and lib.files.has_job(note.id) then -- a new job has the id, and the file may be its own
      lib.files.forget(path)
    else
      local till = lib.text(now + tonumber(ARGV[1]))
      lib.safe_call('ZADD', queue, till, path)
      return { path, note.id, note.why, lib.text(lib.number_of(note.tries) or 0), till }
    end
  end
  return {}
end

settle(ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
local reply = ARGV[1] == '0' and {} or take()
local first = lib.safe_call('ZRANGE', queue, 0, 0, 'WITHSCORES')
if first[2] then lib.files.wake_at(max(now, lib.number_of(first[2]) or now)) end
lib.flush()
return reply
