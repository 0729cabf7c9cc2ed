-- Figures of the outbox: `given_up` has the number of commands that failed too often, `given_up_error` the error of the last
-- one. `stopped` has those that have waited for a minute, though they were due or have failed: how many, since when, and an
-- error. The index of taken commands is read, too: a broken one is found before a script needs it.
--@needs outbox store_helpers transitions

local STOPPED_MS = 60000

-- Of the first or last command of an index: its time in it, its error, and when it was written.
local function one_of(index, range)
  local found = call(range, index, 0, 0, 'WITHSCORES')
  local row = found[1] and lib.named_fields(ctx.COMMAND .. found[1], 'le', 't') or {}
  return lib.number_of(found[2]), lib.shortened(row.le or '', 500), lib.number_of(row[F.timeout])
end

-- The last one has been deferred for longest; the first one is the most overdue.
local function stopped()
  local at, error, written = one_of(ctx.COMMANDS, 'ZREVRANGE')
  if at and at > now and now - (written or now) > STOPPED_MS then
    return { count = call('ZCOUNT', ctx.COMMANDS, '(' .. lib.text(now), '+inf'), since = written, error = error }
  end
  at, error = one_of(ctx.COMMANDS, 'ZRANGE')
  if at and now - at > STOPPED_MS then
    return { count = call('ZCOUNT', ctx.COMMANDS, '-inf', lib.text(now - STOPPED_MS)), since = at, error = error }
  end
end

function lib.command_figures(figures)
  call('ZCARD', ctx.COMMANDS_LOCKED)
  figures.given_up, figures.stopped = call('ZCARD', ctx.COMMANDS_DEAD), stopped()
  if figures.given_up ~= 0 then
    local _, error = one_of(ctx.COMMANDS_DEAD, 'ZREVRANGE')
    figures.given_up_error = error
  end
end
