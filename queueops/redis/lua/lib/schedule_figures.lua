-- Figures of schedules. `schedules`: how many have a next run. `paused_schedules` has those that do not fire while they are
-- paused: the id, and the first run that is missed (`due`), which is the time of the tick that the pause came before.
-- `broken_schedules` has those that stopped, because no watchdog can read their definition: the id, and the reason.
-- `skipping_schedules`, of those that are due next: whose ticks are skipped because a run goes on: the id, the task, how many
-- ticks, and the tick of that run.
-- `late_schedules`: how many have been due for a while and were not fired, the first of them, and when it was due.
--@needs schedules store_helpers transitions

local MOST_PAUSED, LATE_MS, MOST_NEXT = 50, 15000, 50

function lib.schedule_figures(figures)
  local rows, broken = {}, {}
  for _, id in ipairs(call('ZRANGEBYSCORE', ctx.SCHEDULES, '+inf', '+inf', 'LIMIT', 0, MOST_PAUSED)) do
    local row = lib.named_fields(lib.schedule_key(id), 'pa', 'pd', 'og', 'br')
    local due = row and row.pa and not row[F.follows_uid] and lib.number_of(row.pd)
    if due and due < 1e15 then rows[#rows + 1] = { id = id, due = due } end
    if row and row.br then broken[#broken + 1] = { id = id, reason = lib.shortened(row.br, 500) } end
  end
  figures.schedules = call('ZCOUNT', ctx.SCHEDULES, '-inf', '(+inf')
  figures.paused_schedules = rows
  if broken[1] then figures.broken_schedules = broken end
  local skipping = {}
  for _, id in ipairs(call('ZRANGEBYSCORE', ctx.SCHEDULES, '-inf', '(+inf', 'LIMIT', 0, MOST_NEXT)) do
    local _, mark, times, fired = lib.values_of(lib.schedule_key(id), 'lm', 'ln', 'lf')
    local task, count, since = string.match(mark or '', '^SKIPPED (.+)$'), lib.number_of(times), lib.number_of(fired)
    if task and count and since then skipping[#skipping + 1] = { id = id, task = task, count = count, since = since } end
  end
  if skipping[1] then figures.skipping_schedules = skipping end
  local first = call('ZRANGE', ctx.SCHEDULES, 0, 0, 'WITHSCORES')
  local due = lib.number_of(first[2])
  if due and now - due > LATE_MS then
    figures.late_schedules = { count = call('ZCOUNT', ctx.SCHEDULES, '-inf', lib.text(now - LATE_MS)), id = first[1], due = due }
  end
end
