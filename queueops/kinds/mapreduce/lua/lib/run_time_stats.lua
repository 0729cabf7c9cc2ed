-- Run time of succeeded chunks: the longest run since the task's map is stored, with the number of its chunk.
--@needs store_helpers

fresh.longest = TABLE -- by task: the longest run of those that ended well in this call, and its number

function lib.note_run(task, number, begun)
  local ms, before = now - (lib.number_of(begun) or now), ctx.longest[task]
  if not before or ms > before[1] then ctx.longest[task] = { ms, number } end
end

-- Fields that a task's record gets when some of its chunks have ended.
function lib.progress_of(task, total, open, known)
  local fields, run = { 'pr', max(0, (lib.number_of(total) or 0) - open) }, ctx.longest[task]
  if run and run[1] > (lib.number_of(known) or -1) then
    for _, part in ipairs({ 'xm', run[1], 'xn', run[2] }) do fields[#fields + 1] = part end
  end
  return fields
end
