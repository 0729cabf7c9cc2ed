-- Preview of a bulk action: what it would meet, by a look at the first tasks of its walk. It changes nothing.
--@needs operation_walk operator_action store_helpers

local function add(counts, name, number) counts[name] = (counts[name] or 0) + number end

local function as_pairs(counts)
  local found = {}
  for name, number in pairs(counts) do found[#found + 1], found[#found + 2] = name, number end
  return found
end

-- Counts the parents of parts, by the kind of the parent.
local function note_parent(record, parents, parts)
  local kind = parents[record[F.parent_id]]
  if not kind then
    local row = lib.named_fields(lib.task_key(record[F.parent_id]), F.state, F.kind)
    kind = row and row[F.state] and (row[F.kind] or 'task') or ''
    parents[record[F.parent_id]] = kind
    parts[kind] = parts[kind] or { count = 0, parents = 0 }
    parts[kind].parents = parts[kind].parents + 1
  end
  parts[kind].count = parts[kind].count + 1
end

-- What the action would meet, in the first tasks of the walk.
function lib.look_on(walk, action)
  local names, parents, parts, refused = {}, {}, {}, {}
  local looked, matched, is_whole = 0, 0, true
  for _, index in ipairs(walk.indexes) do
    local key = P .. ':' .. index
    local rank = lib.walks.begin_of(walk, key, index)
    local rows = call('ZREVRANGE', key, rank, rank + walk.part - looked, 'WITHSCORES')
    for i = 1, #rows, 2 do
      if looked >= walk.part then
        is_whole = false
        break
      end
      looked = looked + 1
      local record = lib.walks.record_of(rows[i], action.verb)
      if lib.walks.means(walk, index, rows[i], rows[i + 1], record) then
        matched = matched + 1
        add(names, record and record[F.name] or '', 1)
        if record and record[F.parent_id] then note_parent(record, parents, parts) end
        local reason = lib.refusal_of(record, action)
        if reason then add(refused, string.sub(reason, 1, 300), 1) end
      end
    end
  end
  local triples = {}
  for kind, found in pairs(parts) do
    triples[#triples + 1], triples[#triples + 2], triples[#triples + 3] = kind, found.count, found.parents
  end
  return { looked, matched, is_whole and '1' or '', as_pairs(names), triples, as_pairs(refused) }
end
