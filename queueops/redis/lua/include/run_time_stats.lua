-- Run time of succeeded chunks: the longest run since the task's map is stored, with the number of its chunk.
local longest = {} -- by task: the longest run of those that ended well in this call, and its number

local function note_run(task, number, begun)
  local ms, before = now - (number_of(begun) or now), longest[task]
  if not before or ms > before[1] then longest[task] = { ms, number } end
end

-- Fields that a task's record gets when some of its chunks have ended.
local function progress_of(task, total, open, known)
  local fields, run = { 'pr', max(0, (number_of(total) or 0) - open) }, longest[task]
  if run and run[1] > (number_of(known) or -1) then
    for _, part in ipairs({ 'xm', run[1], 'xn', run[2] }) do fields[#fields + 1] = part end
  end
  return fields
end
