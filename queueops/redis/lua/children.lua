#!lua flags=no-writes
-- children: one page of the parts of a composite, in their order; of an iterator those that run, the oldest first, then
-- those it has planted.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 rows, 3 the place behind which the page begins ('' at the beginning): the order of a part, or 'g' and the
--       generation of one that runs
-- Reply: parts that have not ended; the place behind which the next page begins ('' at the end); for each row: id, order
--        ('' of an iterator's), '1' where it is gone (its record is none of this parent's), time of its state, length of
--        its arguments, its fields, the start of its arguments and of its error.
-- Transitions: none.
--@include clock
--@include core
--@include rows

local id, most, after = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local MOST_OPEN = 1000 -- of those that run so many are looked at; a window is smaller
local key = task_key(id)
local own = fields_of(key, 'k', 'u') or {}
local is_iterator = own[1] == 'iterator'
local rows = {}

-- Another task may have its id by now: a part is what knows this parent, in its present generation.
local function is_gone(ref)
  local row = fields_of(task_key(ref), 'pi', 'pu')
  if not row then return false end -- it can't be read: its place in an index tells of it
  return row[1] ~= id or row[2] ~= own[2]
end

local function add(ref, order)
  if is_gone(ref) then
    rows[#rows + 1] = { ref, order, '1', 0, 0, {}, '', '' }
  else
    local row = row_of(ref, order)
    rows[#rows + 1] = { ref, order, row[5][1] and '' or '1', row[3], row[4], row[5], row[6], row[7] }
  end
end

-- What is under one of these names and is something else is nothing.
local function ask(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then return nil end
  return reply
end

local function by_generation(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end

-- Those that run, from a generation on; the place of the last one when there are more.
local function add_open(from)
  local found = {}
  for _, ref in ipairs(ask('SRANDMEMBER', key .. '#open', MOST_OPEN) or {}) do
    local row = fields_of(task_key(ref), 'u')
    local generation = row and number_of(row[1]) or 0
    if generation > from then found[#found + 1] = { generation, ref } end
  end
  table.sort(found, by_generation)
  for i = 1, min(#found, most) do add(found[i][2], '') end
  return #found > most and 'g' .. text(found[most][1])
end

local further = false
if is_iterator and (after == '' or string.sub(after, 1, 1) == 'g') then
  further = add_open(after == '' and -1 or tonumber(string.sub(after, 2)) or -1)
  after = ''
end
if not further then
  local ordered = key .. (is_iterator and '#planted' or '#children')
  local from = after == '' and '-inf' or '(' .. after
  local room = max(1, most - #rows)
  local found = ask('ZRANGEBYSCORE', ordered, from, '+inf', 'WITHSCORES', 'LIMIT', 0, room + 1) or {}
  for i = 1, min(#found, 2 * room), 2 do
    add(found[i], is_iterator and '' or found[i + 1])
    further = #found > 2 * room and found[i + 1]
  end
end
return { ask('SCARD', key .. '#open') or 0, further or '', rows }
