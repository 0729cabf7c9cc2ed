#!lua flags=no-writes
-- file_queue: files in the deletion queue, those first that are due first.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 and 2 time and name of the last file of the page before ('' = first page), 3 rows, 4 '1' for those alone whose
--       deletion has failed
-- Reply: '1' if more files follow; number of all files; number of files that did not fit; then for each its time, name, note.
-- Transitions: none.
--@needs tolerant_reads

lib.tolerate()

local PAGE, MOST_SEEN = 200, 20000
local time, last, most, failed = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local rows, more = {}, ''

local function is_before(path, score) return score == time and path <= last end

local function walk()
  local seen = 0
  while seen < MOST_SEEN do
    local found = call('ZRANGEBYSCORE', P .. ':files', time == '' and '-inf' or time, '+inf', 'WITHSCORES', 'LIMIT', seen, PAGE)
    for i = 1, #found, 2 do
      local note = call('HGET', P .. ':files:notes', found[i]) or ''
      local fits = not failed or not string.find(note, '"error":""', 1, true)
      if fits and not is_before(found[i], found[i + 1]) then
        if #rows == most then more = '1'; return end
        rows[#rows + 1] = { found[i + 1], found[i], note }
      end
    end
    if #found < PAGE * 2 then return end
    seen = seen + PAGE
  end
end

walk()
return lib.told({ more, call('ZCARD', P .. ':files'), call('HGET', P .. ':files:notes', '') or '0', rows })
