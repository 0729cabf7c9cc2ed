#!lua flags=no-writes
-- children: one page of the parts of a composite, in their order; of an iterator those that run, then those it has planted.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id, 2 rows, 3 order of the part behind which the page begins ('' at the beginning)
-- Reply: parts that have not ended; the order behind which the next page begins ('' at the end); for each row: id, order
--        ('' of an iterator's), '1' where it is gone (its record is none of this parent's), time of its state, length of
--        its arguments, its fields, the start of its arguments and of its error.
-- Transitions: none.
--@include clock
--@include core
--@include rows

local id, most, after = ARGV[1], tonumber(ARGV[2]), ARGV[3]
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

local function by_id(a, b) return a < b end

if is_iterator and after == '' then
  local open = ask('SRANDMEMBER', key .. '#open', most) or {}
  table.sort(open, by_id)
  for _, ref in ipairs(open) do add(ref, '') end
end

local ordered = key .. (is_iterator and '#planted' or '#children')
local from = after == '' and '-inf' or '(' .. after
local found, last = ask('ZRANGEBYSCORE', ordered, from, '+inf', 'WITHSCORES', 'LIMIT', 0, most + 1) or {}, ''
for i = 1, min(#found, 2 * most), 2 do
  add(found[i], is_iterator and '' or found[i + 1])
  last = found[i + 1]
end
return { ask('SCARD', key .. '#open') or 0, #found > 2 * most and last or '', rows }
