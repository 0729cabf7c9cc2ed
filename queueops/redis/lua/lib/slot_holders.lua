-- Slot holders: the tasks that run in a lane when it gets a limit.
--@needs lanes store_helpers transitions

fresh.running = false -- the running tasks by lane, once they are read

-- The running tasks by lane, read once in a call. A part of a task holds no slot of its task's lane.
local function running_tasks()
  if ctx.running then return ctx.running end
  ctx.running = {}
  for state in pairs(LEASED) do
    for _, id in ipairs(lib.safe_call('ZRANGE', P .. ':state:' .. state, 0, 9999)) do
      local lane = not lib.is_foreign(id) and lib.lane_of_record(id)
      if lane then lib.append(ctx.running, lane, id) end
    end
  end
  return ctx.running
end

-- A new limit of a lane counts its running tasks: they are few, because workers hold them. One may have ended in this call.
function lib.list_slot_holders(lane)
  for _, id in ipairs(running_tasks()[lane] or {}) do
    local _, state = lib.values_of(lib.task_key(id), F.state)
    if LEASED[state] then call('SADD', lib.lane_key(lane) .. SUBKEY.active, id) end
  end
end
