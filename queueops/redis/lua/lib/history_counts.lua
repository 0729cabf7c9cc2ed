-- History counts: once a minute, what error groups and workers have counted since the last look, for the history. The keys of
-- both have running totals, so a failure or an end costs nothing more. They stand among the counters of the minute before:
-- `@e|<fingerprint>`: failures. `@w|<worker>`: ended, failed, used ms, able ms (of all slots), busy slots, bytes of memory.
--@needs minute_counts store_helpers

local MOST_ERRORS, MOST_WORKERS = 200, 200
local LATE_MS = 15000
local KEPT = '172800'

-- After a longer pause of the watchdog it is not known in which minute something was counted.
local LONGEST_MS = 180000

local function text_of(number) return lib.text(max(0, number)) end

-- How often an error has occurred since the last look, given the time of that; nil if it is not known.
local function new_errors(key, since)
  local _, count, first, noted = lib.values_of(key, 'count', 'first', 'noted')
  count, first, noted = lib.number_of(count), lib.number_of(first), lib.number_of(noted)
  if not count then return nil end
  lib.try('HSET', key, 'noted', lib.text(count))
  if not since then return nil end
  if not noted and (first or 0) >= since then noted = 0 end
  return now - since <= LONGEST_MS and noted and count - noted or 1
end

local function note_errors(fields, since)
  local from = since and lib.text(since) or '-inf'
  for _, fingerprint in ipairs(lib.try('ZREVRANGEBYSCORE', P .. ':errors', '+inf', from, 'LIMIT', 0, MOST_ERRORS) or {}) do
    local count = new_errors(P .. ':error:' .. fingerprint, since)
    if count and count > 0 then
      fields[#fields + 1] = '@e|' .. fingerprint
      fields[#fields + 1] = lib.text(count)
    end
  end
end

local function numbers_in(value)
  local found = {}
  for number in string.gmatch(value or '', '%-?%d+') do found[#found + 1] = lib.number_of(number) or 0 end
  return found
end

-- What a worker has done since its last look: ended, failed, used ms, able ms. Zeros if that is not known.
local function work_of(key, values)
  local beat, done, failed, used = values.beat, values.done, values.failed, values.used_ms
  local at = now - beat <= LATE_MS and beat or now -- an idle worker beats once in a while
  local since, done_before, failed_before, used_before = unpack(numbers_in(values.noted))
  if not used_before and now - values.started <= LONGEST_MS then
    since, done_before, failed_before, used_before = values.started, 0, 0, 0
  end
  call('HSET', key, 'noted', lib.text(at) .. ' ' .. text_of(done) .. ' ' .. text_of(failed) .. ' ' .. text_of(used))
  if not used_before or at - since > LONGEST_MS then return 0, 0, 0, 0 end
  return done - done_before, failed - failed_before, used - used_before, (at - since) * values.slots
end

-- A worker of several pools stands in the history of its first one.
local function is_here(pools)
  local first = string.match(pools or '', '^[^,]*')
  return first ~= '' and string.sub(P, -#first - 2) == ':' .. first .. '}'
end

local NUMBERS = { 'beat', 'done', 'failed', 'used_ms', 'started', 'slots', 'busy', 'rss' }

local function note_worker(fields, worker)
  local key = P .. ':worker:' .. worker
  local found = lib.named_fields(key, 'pools', 'noted', unpack(NUMBERS)) or {}
  if not (found.beat and is_here(found.pools)) then return end
  local values = { noted = found.noted }
  for _, name in ipairs(NUMBERS) do values[name] = lib.number_of(found[name]) or 0 end
  local row = { work_of(key, values) }
  row[#row + 1] = values.busy
  row[#row + 1] = values.rss
  for i = 1, #row do row[i] = text_of(row[i]) end
  fields[#fields + 1] = '@w|' .. worker
  fields[#fields + 1] = table.concat(row, ' ')
end

local function note_workers(fields)
  local seen = lib.text(now - LATE_MS)
  for _, worker in ipairs(lib.try('ZREVRANGEBYSCORE', P .. ':workers', '+inf', seen, 'LIMIT', 0, MOST_WORKERS) or {}) do
    note_worker(fields, worker)
  end
end

-- Writes them in the first call of a minute: the minute before is rolled up after it.
function lib.note_counts()
  local since, fields = lib.number_of(lib.try('HGET', P .. ':clock', 'noted')), {}
  note_errors(fields, since)
  note_workers(fields)
  local key = P .. ':metrics:' .. lib.text(floor(now / 60000) - 1)
  if #fields > 0 and lib.call_sliced('HSET', key, fields) then call('EXPIRE', key, KEPT) end
  lib.try('HSET', P .. ':clock', 'noted', NOW)
end
