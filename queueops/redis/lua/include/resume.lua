-- Composites that are run again: what failed and what follows from it, or all. A nested one follows when its turn comes.
local function make_resumes()
  local ENDS = { 're', 'er', 'ef', 'y', 'e', 'x', 'd', 'at', 'cr', 'uk', 'rd', 'rw', 'cn', 'pv', 'nf', 'ac', 'uc' }

  -- A child waits for its turn again. A composite stays the generation that its own children know.
  local function reset(id, child, mode)
    family.shift(id, child, 'waiting')
    unschedule(id)
    forget_error(id, child)
    call('HDEL', task_key(id), unpack(ENDS))
    call('HSET', task_key(id), 's', 'waiting')
    if child.cc then return call('HSET', task_key(id), 'rs', mode) end
    if child.uc ~= '1' then family.count(child.ro, -1) end
    if child.k == 'iterator' then family.refresh_iterator(id, mode == 'all') end
    if child.ph or child.mr then back_to_map(id, child) end
    call('HSET', task_key(id), 'u', next_number(), 'uo', child.uo or child.u or 0)
  end

  -- One that succeeded when its parent was over already has not been counted, nor has its result been collected.
  local function count_in(ref, id, child, record)
    if child.uc ~= '1' then return end
    call('HDEL', task_key(ref), 'uc')
    family.count(child.ro, 1)
    if record.k == 'group' then family.collect_success(id, record.of, ref, child.re or '') end
  end

  -- What still runs, or waits to, is taken up as it is; what succeeded stays.
  local function take_up_child(ref, id, record)
    local child, mode = read_record(ref), record.rs
    family.room = family.room - 1
    if child and (child.pi ~= id or child.pu ~= record.u) then child = nil end -- another task has its id now
    if child and child.s == 'succeeded' and mode ~= 'all' then return count_in(ref, id, child, record) end
    call('SADD', family.open_of(id), ref)
    if not child then return end
    if LEASED[child.s] then call('HDEL', task_key(ref), 'x', 'uc') end
    if not TERMINAL[child.s] then return end
    local size = call('HSTRLEN', task_key(id) .. '#results', ref)
    if size > 0 then
      call('HDEL', task_key(id) .. '#results', ref)
      call('HINCRBY', task_key(id), 'sz', -size - 1)
    end
    reset(ref, child, mode)
  end

  local function first_open(id)
    local first, before = 0, nil
    while true do
      local refs = call('ZRANGE', family.children_of(id), first, first + 499)
      if #refs == 0 then return nil, before end
      local open = call('SMISMEMBER', family.open_of(id), unpack(refs))
      for i, ref in ipairs(refs) do
        if open[i] == 1 then return ref, before end
        before = ref
      end
      first = first + 500
    end
  end

  -- All children are where they should be: go on from there.
  local function proceed(id, record)
    if record.k == 'group' then
      if call('EXISTS', family.open_of(id)) == 0 then return family.end_group(id, record) end
      return family.open(id, record)
    end
    local ref, before = first_open(id)
    local previous = record.pv
    if before then previous = call('HGET', task_key(before), 're') or '' end
    if not ref then return family.finish(id, record, 'succeeded', 're', previous or '') end
    family.activate(ref, id, record, previous)
  end

  function family.resume_children(id)
    local record = read_record(id)
    if not (record and record.s == 'idle' and record.rs) then return end
    local first = number_of(record.rk) or 0
    local refs = call('ZRANGE', family.children_of(id), first, first + 499)
    for i, ref in ipairs(refs) do
      if family.room <= 0 then
        call('HSET', task_key(id), 'rk', first + i - 1)
        return schedule('~resume:' .. id, now)
      end
      take_up_child(ref, id, record)
    end
    if #refs == 500 then
      call('HSET', task_key(id), 'rk', first + 500)
      return schedule('~resume:' .. id, now)
    end
    if call('EXISTS', family.open_of(id)) == 0 and record.rs ~= 'all' then
      call('HSET', task_key(id), 'rs', 'all', 'rk', 0, 'sz', 0) -- nothing had failed but the whole: all of it comes again
      call('DEL', task_key(id) .. '#results')
      return family.resume_children(id)
    end
    call('HDEL', task_key(id), 'rs', 'rk')
    record.rs = nil
    proceed(id, record)
  end

  -- An ended composite goes on: a retry.
  function family.resume(id, record, mode)
    family.shift(id, record, 'idle')
    unschedule(id)
    forget_error(id, record)
    call('HDEL', task_key(id), 're', 'er', 'ef', 'y', 'e', 'x', 'nf', 'ac', 'rk')
    call('HSET', task_key(id), 's', 'idle', 'b', NOW, 'rs', mode)
    if mode == 'all' then
      call('DEL', task_key(id) .. '#results')
      call('HSET', task_key(id), 'sz', 0)
    end
    family.resume_children(id)
    return 'idle', mode == 'all' and 'all of it comes again' or 'what failed comes again, and what follows from it'
  end
end
