-- The members of a JSON object as text. Keys and values stay the same bytes, because Lua would turn [] into {} and round
-- large numbers. Stored data was encoded before: it is well-formed. A C call skips each long text and each long list of
-- numbers, because a megabyte must not take long.
--@needs transitions

local function string_end(data, from)
  local at = from
  while true do
    at = string.find(data, '"', at + 1, true)
    if not at then return #data + 1 end
    local before = at - 1
    while string.byte(data, before) == 92 do before = before - 1 end
    if (at - before) % 2 == 1 then return at + 1 end
  end
end

-- End of a list or an object that contains no string; nil for any other value.
local function plain_end(data, from, pattern)
  local text_at = string.find(data, '"', from, true) or #data + 1
  local length = string.match(string.sub(data, from, text_at - 1), pattern)
  return length and from + length - 1
end

local function nested_end(data, from)
  local plain = plain_end(data, from, string.byte(data, from) == 91 and '^%b[]()' or '^%b{}()')
  if plain then return plain end
  local depth, at = 0, from
  repeat
    at = string.find(data, '["%[%]{}]', at)
    if not at then return #data + 1 end
    local char = string.byte(data, at)
    if char == 34 then
      at = string_end(data, at)
    else
      depth = depth + ((char == 91 or char == 123) and 1 or -1)
      at = at + 1
    end
  until depth == 0
  return at
end

local function value_end(data, from)
  local first = string.byte(data, from)
  if first == 34 then return string_end(data, from) end
  if first == 91 or first == 123 then return nested_end(data, from) end
  return string.find(data, '[,}%s]', from) or #data + 1
end

-- A list of members, each with `key` and `value`; nil if it is not an object.
local function members_of(data)
  local at, found = string.match(data, '^%s*{%s*()'), {}
  while at and string.byte(data, at) == 34 do
    local behind = string_end(data, at)
    local from = string.match(data, '^%s*:%s*()', behind)
    if not from then return nil end
    local to = value_end(data, from)
    found[#found + 1] = { key = string.sub(data, at, behind - 1), value = string.sub(data, from, to - 1) }
    at = string.match(data, '^%s*,%s*()', to) or string.match(data, '^%s*()}', to)
  end
  return at and string.byte(data, at) == 125 and found or nil
end

-- The object with these members: they replace its own of the same keys, or follow them. Nil if it is not an object.
local function with_members(data, wanted)
  local found, places = members_of(data), {}
  if not found then return nil end
  for i, member in ipairs(found) do places[member.key] = i end
  for _, member in ipairs(wanted) do found[places[member.key] or #found + 1] = member end
  for i, member in ipairs(found) do found[i] = member.key .. ':' .. member.value end
  return '{' .. table.concat(found, ',') .. '}'
end

-- Reads a change. For `set` the value has the limit of the data in bytes, a colon, and the fields.
function lib.read_edit(verb, value)
  if verb ~= 'set' then return { data = value } end
  local limit, fields = string.match(value, '^(%d+):(.*)$')
  return { limit = tonumber(limit), fields = members_of(fields or '') or {} }
end

-- The changed data; nil if the change cannot be applied.
function lib.edited(edit, data)
  if edit.data then return edit.data end
  local found = with_members(data, edit.fields)
  return found and #found <= edit.limit and found or nil
end

function lib.note_edit(ref, was, who)
  lib.log_line(ref, { k = 'edit', who = who, size = #was, was = #was <= 4096 and was or nil })
end
