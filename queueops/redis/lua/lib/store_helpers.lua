-- Reads and writes of the store: with invalid values, in slices, or collected.
--@needs minute_counts

-- Whether a reader follows the live events; asked for at the first event.
fresh.listened = function() return call('EXISTS', P .. ':tail') == 1 end
function lib.is_listened() return ctx.listened end

-- Publishes without raising. If the ACL forbids the channel, listeners miss the message, and the script continues.
function lib.publish(channel, message) redis.pcall('PUBLISH', channel, message) end

-- A number read from a record. Nil if the value is not a number, or is too large for a time or a count.
function lib.number_of(value)
  local number = tonumber(value or nil)
  if number and number > -1e15 and number < 1e15 then return number end
end

-- An amount as it is stored; 0 for a value that is not a number.
function lib.amount(value)
  local number = tonumber(value or nil)
  return number and number >= -1e18 and number <= 1e18 and number or 0
end

function lib.rounded(number) return floor(number * 1000 + 0.5) / 1000 end

-- A number as text: at most three decimals, without zeros at the end.
function lib.shown(number)
  if number == floor(number) then return string.format('%.0f', number) end
  return (string.gsub(string.gsub(string.format('%.3f', number), '0+$', ''), '%.$', ''))
end

function lib.task_key(id) return TASK .. id end

-- Whether a member of an index is not a task, but belongs to one.
function lib.is_foreign(member) return string.find(member, '#', 1, true) ~= nil end

-- Calls a command in slices, below the limit of Lua's `unpack`. Returns whether all calls succeeded.
function lib.call_sliced(command, key, list)
  for i = 1, #list, 1000 do
    if not lib.try(command, key, unpack(list, i, min(i + 999, #list))) then return false end
  end
  return true
end

-- Fields of a hash in the order of their names; nil for a key of a wrong type. For fields whose names are in a list.
function lib.fields_of(key, ...)
  local reply = redis.pcall('HMGET', key, ...)
  if reply.err then return nil end
  return reply
end

-- Whether the key is a hash or missing, and the values of fields: each gets its name where it is read. What is missing is
-- false, as in the reply of the server; of a key of a wrong type all are nil. For the paths that run for each task.
function lib.values_of(key, ...)
  local reply = redis.pcall('HMGET', key, ...)
  if reply.err then return false end
  return true, unpack(reply)
end

-- The same as a table with these names.
function lib.named_fields(key, ...)
  local reply = redis.pcall('HMGET', key, ...)
  if reply.err then return nil end
  local found = {}
  for i, name in ipairs({ ... }) do found[name] = reply[i] end
  return found
end

-- The sum of a field over the last hour.
function lib.counted_last_hour(field)
  local count, minute = 0, floor(now / 60000)
  for ago = 0, 59 do
    local key = P .. ':metrics:' .. string.format('%.0f', minute - ago)
    count = count + (lib.number_of(call('HGET', key, field)) or 0)
  end
  return count
end

-- Publishes an event of a task, with the task's name and root.
function lib.tell_event(id, event)
  if event.done == '' then event.done = nil end -- unchanged: it is what is stored
  if event.total == '' then event.total = nil end
  local _, name, root, done, total = lib.values_of(lib.task_key(id), F.name, F.root, F.progress, F.total)
  local task = string.match(id, '^([^#]*)#')
  if task then _, root = lib.values_of(lib.task_key(task), F.root) end
  event.t, event.id, event.name = now, id, event.name or name or nil
  event.root = root or task -- a chunk has that of its task
  event.done, event.total = event.done or done or nil, event.total or total or nil
  lib.publish(P .. ':events', cjson.encode(event))
end

function lib.append(map, key, value)
  local list = map[key]
  if not list then list = {}; map[key] = list end
  list[#list + 1] = value
end

function lib.append_scored(map, key, score, member)
  local list = map[key]
  if not list then list = {}; map[key] = list end
  local size = #list
  list[size + 1] = score
  list[size + 2] = member
end

function lib.add(map, key, field, delta)
  local row = map[key]
  if not row then row = {}; map[key] = row end
  row[field] = (row[field] or 0) + delta
end
