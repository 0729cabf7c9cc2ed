-- The pool's counter: generations, fences and the order of lanes. It never goes back. If it holds no number, or a number
-- that was used before, it restarts above all stored numbers.
--@needs store_helpers

local NUMBERS_SKIPPED, NUMBERS_LOOKED_AT = 1073741824, 100 -- 2^30: more than can be in use and not among those looked at
fresh.least_number = 0 -- the counter at the last tick of a watchdog, where the script knows it

-- The highest number in the fields of some records, and in the scores of an index of generations.
local function highest_in(key, prefix, ...)
  local highest = 0
  local members = redis.pcall('ZREVRANGE', key, 0, NUMBERS_LOOKED_AT - 1)
  for _, member in ipairs(members.err and {} or members) do
    for _, value in pairs(lib.fields_of(prefix .. member, ...) or {}) do highest = max(highest, lib.number_of(value) or 0) end
  end
  return highest < BAND and highest or 0
end

-- The highest number in use. It is in the record that entered its state last, or in one near it.
local function highest_number()
  local _, noted = lib.values_of(P .. ':clock', 'seq')
  local highest = max(ctx.least_number, lib.number_of(noted) or 0)
  for state in string.gmatch(STATES, '%a+') do
    highest = max(highest, highest_in(P .. ':state:' .. state, TASK, 'u', 'f', 'uo'))
  end
  for _, index in ipairs({ ':commands', ':commands_locked', ':commands:dead' }) do
    highest = max(highest, highest_in(P .. index, P .. ':command:', 'vn'))
  end
  return highest
end

function lib.mend_numbers(count)
  local number = highest_number() + NUMBERS_SKIPPED + count
  call('SET', P .. ':seq', lib.text(number))
  redis.pcall('HSET', P .. ':clock', 'mended', P .. ':seq')
  return number
end

-- Takes `count` new numbers and returns the last one.
function lib.next_number(count)
  local number = redis.pcall('INCRBY', P .. ':seq', count or '1')
  if type(number) == 'number' and number < BAND and number - (count or 1) >= ctx.least_number then return number end
  return lib.mend_numbers(count or 1)
end
