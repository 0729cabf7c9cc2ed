-- Consistency check of calls that wait to begin, in `#later`.
--@needs fieldcheck run_calls runs transitions

lib.run_later_check = {}

local AT_ONCE = 500

-- A page of the plans. One that cannot be read has no end.
function lib.run_later_check.plans(first, id)
  local rows = lib.safe_call('ZRANGE', lib.run_calls.later_of(id), first, first + AT_ONCE - 1, 'WITHSCORES')
  for i = 1, #rows, 2 do
    local number = lib.text(tonumber(rows[i + 1]) or 0)
    if not lib.run_calls.plan_of(rows[i]) and lib.wrong(id, 'its call ' .. number .. ', which waits to begin, cannot be read') then
      lib.run_calls.drop(id, number)
      lib.runs.deliver(id, lib.runs.lost_event(number, 'its plan was lost'))
    end
  end
  if #rows == 2 * AT_ONCE then lib.check_later('~run:later:' .. lib.text(first + AT_ONCE) .. ':' .. id) end
end

function lib.run_later_check.check(id)
  if lib.safe_call('EXISTS', lib.run_calls.later_of(id)) == 0 then return end
  local is_due = lib.safe_call('ZSCORE', P .. ':agenda', '~calls:' .. id)
  if not is_due and lib.wrong(id, 'calls of it wait to begin, and are not on the agenda') then lib.schedule('~calls:' .. id, now) end
  lib.run_later_check.plans(0, id)
end
