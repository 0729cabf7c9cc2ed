-- Children that go on without their run, and that could not begin.
--@needs conflicts lanes run_ends transitions

lib.run_refused = {}

-- Whether a child goes on when its run ends.
function lib.run_refused.goes_on(plan)
  return plan.fields[#plan.fields] == 'abandon' and plan.fields[#plan.fields - 1] == 'vj'
end

-- The instance of one is in use, and no code gets the error: it is cancelled for this reason, and an operator may retry it.
function lib.run_refused.keep(spec, why)
  spec.values.vd = '1'
  spec.fields[#spec.fields + 1] = 'vd'; spec.fields[#spec.fields + 1] = '1'
  lib.place(spec)
  lib.flush(); lib.flush_lanes()
  lib.end_run_now(spec.id, lib.read_record(spec.id), why)
end

function lib.run_refused.log(id, child, why)
  lib.log_line(id, { k = 'log', text = 'its child ' .. child .. ' was not begun: ' .. why })
end
