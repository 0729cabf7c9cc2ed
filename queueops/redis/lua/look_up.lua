#!lua flags=no-writes
-- look_up: the answer of one pool to a text in the find box: the task of that id, tasks whose id begins with it, and names,
-- lanes, workers and errors by a part of theirs, all within budgets.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id ('' = the text is none), 2 beginning of ids ('' = the text is none), 3 to 5 as 2 to 4 of `find`, 6 part of the
--       others, in lower case, 7 how many of each to look at, the latest first, 8 how many hits of each, 9 how many lanes to
--       look at, 10 the text itself, then hashes of kinds that have ids of records by other ids
-- Reply: rows of the task (one or none), rows of the others, '1' if the budget left candidates out, names, lanes (name, title or '',
--        ...), workers (id, host, process, '1' if it has ended, ...), errors (fingerprint, title, name, ...).
--        For each of the hashes, rows of the record (one or none). Rows are as in `find`. Then tags that tasks have.
-- Transitions: none.
--@needs id_prefix list_row tolerant_reads

lib.tolerate()

local id, start, part, looks, most = ARGV[1], ARGV[2], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])

local function has_part(text) return string.find(string.lower(text), part, 1, true) ~= nil end

local function members(index) return call('ZREVRANGE', P .. ':' .. index, 0, looks - 1) end

local function among(texts)
  local found = {}
  for _, each in ipairs(texts) do
    if #found < most and has_part(each) then found[#found + 1] = each end
  end
  return found
end

local rows, left = {}, false
if start ~= '' then rows, left = lib.rows_with_prefix(start, ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])) end

-- A worker is found by a part of its id or host, or by the number of its process.
local workers = {}
local function note_worker(room, worker, host, process, ended)
  if #workers < room and (process == part or has_part(worker .. ' ' .. host)) then
    for _, value in ipairs({ worker, host, process, ended }) do workers[#workers + 1] = value end
  end
end

local names, seen = among(members('names')), {}
for _, name in ipairs(names) do seen[name] = true end
for _, worker in ipairs(members('workers')) do
  local host, its_names, process = unpack(call('HMGET', P .. ':worker:' .. worker, 'host', 'names', 'pid'))
  note_worker(4 * most, worker, host or '', process or '', '')
  for name in string.gmatch(its_names or '', '[^,]+') do -- a worker knows names that were never pushed
    if #names < most and not seen[name] and has_part(name) then
      seen[name] = true
      names[#names + 1] = name
    end
  end
end

-- A worker that has ended is found by the mark of its start, whose text `inspect/marks.py` writes.
local MARK = '^Worker (.-) process (%d+) of pool '
for _, data in ipairs(members('marks:starts')) do
  local readable, mark = pcall(cjson.decode, data)
  if readable and type(mark) == 'table' and type(mark[2]) == 'string' and type(mark[3]) == 'string' then
    local host, process = string.match(mark[3], MARK)
    local before = #workers
    note_worker(8 * most, mark[2], host or '', process or '', '1')
    if #workers > before and call('ZSCORE', P .. ':workers', mark[2]) then
      for _ = 1, 4 do table.remove(workers) end
    end
  end
end

local errors = {}
for _, fingerprint in ipairs(members('errors')) do
  local title, name = unpack(call('HMGET', P .. ':error:' .. fingerprint, 'title', 'name'))
  title = title or ''
  if #errors < 3 * most and (has_part(string.match(title, '^[^:]*')) or fingerprint == part) then
    for _, value in ipairs({ fingerprint, title, name or '' }) do errors[#errors + 1] = value end
  end
end

-- A lane is found by its name, or by what it stands for: a title, where its name has a digest behind a `:=`.
local PAGE = 1000
local function lanes_with_part(looks)
  local found, seen = {}, 0
  while seen < looks and #found < 2 * most do
    local page = call('ZREVRANGE', P .. ':lanes', seen, seen + PAGE - 1)
    for _, lane in ipairs(page) do
      local title = string.find(lane, ':=', 1, true) and call('HGET', P .. ':lane:' .. lane .. SUBKEY.conf, 'title') or ''
      if #found < 2 * most and has_part(lane .. ' ' .. title) then
        found[#found + 1] = lane
        found[#found + 1] = title
      end
    end
    if #page < PAGE then break end
    seen = seen + PAGE
  end
  return found
end

local others = {}
for i = 11, #ARGV do
  local other = call('HGET', P .. ':' .. ARGV[i], ARGV[10])
  others[#others + 1] = other and lib.rows_of_one(other) or {}
end

local tags = call('ZCARD', P .. ':tag:' .. ARGV[10]) > 0 and { ARGV[10] } or {}
for _, tag in ipairs(among(members('tags'))) do
  if tag ~= ARGV[10] and call('ZCARD', P .. ':tag:' .. tag) > 0 then tags[#tags + 1] = tag end
end

return lib.told({ id ~= '' and lib.rows_of_one(id) or {}, rows, left and '1' or '', names, lanes_with_part(tonumber(ARGV[9])),
  workers, errors, others, tags })
