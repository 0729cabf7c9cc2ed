-- Served kinds: a worker that was given kinds of records takes tasks of these alone. It looks at the beginning of each lane,
-- and leaves the tasks of other kinds there, in their places. Workers without kinds never come here.
--@needs lanes minute_counts store_helpers transitions

local LOOKS, LEAST = 2000, 50 -- tasks at which one call looks in all of its lanes, and at least in each
fresh.kinds = false -- of the worker whose call this is; false: it serves all kinds

-- `text` has the kinds of the worker, each after ` ~`; one that it leaves has a `!` before it. Returns whether there are any.
function lib.serve_kinds(text)
  for sign, kind in string.gmatch(text, ' ~(!?)([%w_]+)') do
    ctx.kinds = ctx.kinds or { only = {}, without = {}, chooses = false }
    if sign == '!' then ctx.kinds.without[kind] = true else ctx.kinds.only[kind], ctx.kinds.chooses = true, true end
  end
  return ctx.kinds ~= false
end

function lib.serves_kind(kind)
  local kinds = ctx.kinds
  kind = kind or 'task'
  return not kinds or not kinds.without[kind] and (not kinds.chooses or kinds.only[kind] == true)
end

local function kind_of(id) return lib.safe_call('HGET', lib.task_key(id), F.kind) or nil end

-- Whether the worker serves the lane of one task, which has what belongs to that task.
function lib.serves_own_lane(lane) return not ctx.kinds or lib.serves_kind(kind_of(string.sub(lane, 2))) end

-- Takes the first tasks of its kinds from a lane that is one of `lanes`: ids with scores, as ZPOPMIN gives them.
function lib.pop_of_kinds(lane, most, lanes)
  local key, found, ids = lib.lane_key(lane), {}, {}
  local page = lib.try('ZRANGE', key, 0, max(LEAST, floor(LOOKS / max(1, lanes))) - 1, 'WITHSCORES')
  for i = 1, page and #page or 0, 2 do
    if #ids == most then break end
    if lib.serves_kind(kind_of(page[i])) then
      ids[#ids + 1] = page[i]
      found[#found + 1] = page[i]; found[#found + 1] = page[i + 1]
    end
  end
  if ids[1] then call('ZREM', key, unpack(ids)) end
  return page and found
end
