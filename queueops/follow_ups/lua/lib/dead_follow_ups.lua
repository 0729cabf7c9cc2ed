-- Dead follow-ups: the index of tasks with follow-ups that could not be pushed, its figure, and its round in a tick.
--@needs attempts store_helpers

local MOST, LOOKED_AT, SHOWN_MS = 10000, 20, 86400000
fresh.DEAD_FOLLOW_UPS = function() return P .. ':follow_ups:dead' end

-- How many a task has, and its name and state. None for a record that is gone.
function lib.dead_follow_ups_of(id)
  local _, name, state, dead = lib.values_of(lib.task_key(id), 'n', 's', 'fd')
  return lib.number_of(dead) or 0, name or '', state or ''
end

function lib.list_dead_follow_up(id) lib.try('ZADD', ctx.DEAD_FOLLOW_UPS, NOW, id) end

-- Those of the last day: the alarm ends by itself.
function lib.hooks.figures.follow_ups(figures)
  local count = call('ZCOUNT', ctx.DEAD_FOLLOW_UPS, now - SHOWN_MS, '+inf')
  if count > 0 then figures.dead_follow_ups = count end
end

-- Looks at some of the index. A task leaves it once it is gone, is retried, or all its follow-ups have been delivered.
function lib.hooks.tick.follow_ups()
  for _, id in ipairs(lib.try('ZRANDMEMBER', ctx.DEAD_FOLLOW_UPS, LOOKED_AT) or {}) do
    if lib.dead_follow_ups_of(id) < 1 then lib.try('ZREM', ctx.DEAD_FOLLOW_UPS, id) end
  end
  lib.try('ZREMRANGEBYRANK', ctx.DEAD_FOLLOW_UPS, 0, -MOST - 1)
end
