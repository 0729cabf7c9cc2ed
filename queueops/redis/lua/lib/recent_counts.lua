-- Recent counts: what tells of names beyond their counters of two minutes, those of a few seconds, of errors, and of some hours.
--@needs store_helpers

local MARK_MS, MARKS_KEPT_S = 10000, '60'

-- Keeps what each name has counted in this minute so far, once in ten seconds.
local function keep_mark(key, minute)
  if call('EXISTS', key) == 1 then return end
  local fields = { '@', lib.text(now) }
  for field, count in pairs(minute) do
    local word = string.match(field, '^%a+')
    if word == 'ok' or word == 'err' or word == 'in' or word == 'loud' or word == 'lost' then
      fields[#fields + 1] = field; fields[#fields + 1] = lib.text(count)
    end
  end
  if lib.call_sliced('HSET', key, fields) then call('EXPIRE', key, MARKS_KEPT_S) end
end

-- `mark`: what names had counted in their minute 10 to 20 s ago, with that time as `@`.
function lib.mark_counts(figures, writes)
  local slot, mark = floor(now / MARK_MS), {}
  if writes then keep_mark(P .. ':recent:' .. lib.text(slot), figures.minute) end
  local reply = call('HGETALL', P .. ':recent:' .. lib.text(slot - 1))
  for i = 1, #reply, 2 do mark[reply[i]] = lib.number_of(reply[i + 1]) end
  if mark['@'] then figures.mark = mark end
end

-- `errors`: those of the last two minutes, the latest first, but muted ones: of each name that had one, the title, and how
-- often it occurred. `heard`: these numbers, by fingerprint and name.
local ERROR_MS, MOST_LOOKED, MOST_ERRORS, MOST_ROWS = 120000, 200, 20, 200
function lib.error_counts(figures, heard)
  local latest = call('ZREVRANGEBYSCORE', P .. ':errors', '+inf', lib.text(now - ERROR_MS), 'LIMIT', 0, MOST_LOOKED)
  local rows, errors = {}, 0
  for _, fingerprint in ipairs(latest) do
    local name, title, muted = unpack(call('HMGET', P .. ':error:' .. fingerprint, 'name', 'title', 'muted'))
    if (lib.number_of(muted) or 0) <= now then
      errors = errors + 1
      for each, times in pairs(heard[fingerprint] or { [name or ''] = 1 }) do
        rows[#rows + 1] = { name = each, title = title or '', times = times }
        if #rows == MOST_ROWS then break end
      end
    end
    if errors == MOST_ERRORS or #rows == MOST_ROWS then break end
  end
  figures.errors = rows
end

-- `usual`: of the names that run or were pushed most recently, from some earlier minutes: the mean run time in ms of the
-- fastest (-1: none), and the most that were pushed in one.
local AGO, MOST_RECENT, MOST_NAMES = { 2, 3, 5, 10, 20, 40, 60, 120 }, 50, 100
function lib.usual_counts(figures)
  local names, seen = call('ZREVRANGE', P .. ':names', 0, MOST_RECENT - 1), {}
  for _, name in ipairs(names) do seen[name] = true end
  for _, minute in ipairs({ figures.minute, figures.before }) do
    for field in pairs(minute) do
      local name = string.match(field, '^ms|(.*)$')
      if name and not seen[name] and #names < MOST_NAMES then names[#names + 1], seen[name] = name, true end
    end
  end
  local fields, usual = {}, {}
  for _, name in ipairs(names) do
    for _, word in ipairs({ 'ok|', 'err|', 'ms|', 'in|' }) do fields[#fields + 1] = word .. name end
  end
  for _, ago in ipairs(#names > 0 and AGO or {}) do
    local reply = call('HMGET', P .. ':metrics:' .. lib.text(floor(now / 60000) - ago), unpack(fields))
    for i, name in ipairs(names) do
      local ended = (lib.number_of(reply[4 * i - 3]) or 0) + (lib.number_of(reply[4 * i - 2]) or 0)
      local ms, came, was = lib.number_of(reply[4 * i - 1]), lib.number_of(reply[4 * i]) or 0, usual[name] or { -1, 0 }
      local mean = ms and ended > 0 and floor(ms / ended) or -1
      if was[1] >= 0 and (mean < 0 or was[1] < mean) then mean = was[1] end
      usual[name] = (mean >= 0 or came > 0 or usual[name]) and { mean, max(was[2], came) } or nil
    end
  end
  figures.usual = usual
end
