-- What composites do at the hooks of the kernel. A template (`ex`) is run as a task before it has children (`cc`).
--@needs lanes parent transitions

-- Entries of the agenda: each goes on with what would take too long in one call.
function lib.hooks.due_entry.activate(id) lib.family.go_on(id) end
function lib.hooks.due_entry.again(id) lib.family.go_on_iterating(id) end
function lib.hooks.due_entry.cancel(id) lib.family.cancel_children(id) end
function lib.hooks.due_entry.resume(id) lib.family.resume_children(id) end
function lib.hooks.due_entry.planting(id) lib.family.guard(id) end

local function begin(id, record)
  if not record.cc then return false end
  lib.family.begin(id, record)
  return true
end
lib.hooks.promote.chain = begin
lib.hooks.promote.group = begin

local function expand(id, row)
  if not row.ex then return nil end
  local record = lib.read_record(id)
  if not record then return false end -- the agenda finds out, and puts it into quarantine
  lib.family.settle_expansion(id, record)
  return true
end
lib.hooks.succeed.chain = expand
lib.hooks.succeed.group = expand

function lib.hooks.succeed.iterator(id)
  local record = lib.read_record(id)
  if not record then return false end
  lib.family.settle_iterator(id, record)
  return true
end

function lib.hooks.end_instead.iterator(id, record) return lib.family.fails_with_task(id, record) end

local function end_parts(id)
  lib.flush(); lib.flush_lanes() -- one may have just moved
  lib.family.cancel_children(id)
end
lib.hooks.end_parts.chain = end_parts
lib.hooks.end_parts.group = end_parts
lib.hooks.end_parts.iterator = end_parts

function lib.hooks.keep_part(id, record, over) return lib.family.keep(id, record, over) end

local function purge(id, record) return record.kt and record.cc and lib.family.expire_parts(id, record.u) end
lib.hooks.purge.chain = purge
lib.hooks.purge.group = purge

local function cancel_open(id)
  if lib.safe_call('EXISTS', lib.family.open_of(id)) == 1 then lib.schedule('~cancel:' .. id, now) end
end
lib.hooks.from_trash.chain = cancel_open
lib.hooks.from_trash.group = cancel_open
lib.hooks.from_trash.iterator = cancel_open
