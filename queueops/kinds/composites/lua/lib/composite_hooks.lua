-- What composites do at the hooks of the kernel. A template (`ex`) is run as a task before it has children (`cc`).
--@needs child_end composites lanes parent store_helpers transitions

-- Entries of the agenda: each goes on with what would take too long in one call.
function lib.hooks.due_entry.activate(id) lib.family.go_on(id) end
function lib.hooks.due_entry.again(id) lib.family.go_on_iterating(id) end
function lib.hooks.due_entry.cancel(id) lib.family.cancel_children(id) end
function lib.hooks.due_entry.resume(id) lib.family.resume_children(id) end
function lib.hooks.due_entry.planting(id) lib.family.guard(id) end

local function begin(id, record)
  if not record[F.children] then return false end
  lib.family.begin(id, record)
  return true
end
lib.hooks.claim.chain.promote = begin
lib.hooks.claim.group.promote = begin

local function expand(id, row)
  if not row[F.unexpanded] then return nil end
  local record = lib.read_record(id)
  if not record then return false end -- the agenda finds out, and puts it into quarantine
  lib.family.settle_expansion(id, record)
  return true
end
lib.hooks.settle.chain.succeed = expand
lib.hooks.settle.group.succeed = expand

function lib.hooks.settle.iterator.succeed(id)
  local record = lib.read_record(id)
  if not record then return false end
  lib.family.settle_iterator(id, record)
  return true
end

function lib.hooks.settle.iterator.fails_at_release(record) return record[F.failed_by] end

function lib.hooks.tree.stop(id) lib.safe_call('HDEL', lib.task_key(id), F.again) end

function lib.hooks.settle.iterator.end_instead(id, record) return lib.family.fails_with_task(id, record) end

local function end_parts(id)
  lib.flush(); lib.flush_lanes() -- one may have just moved
  lib.family.cancel_children(id)
end
lib.hooks.ending.chain.end_parts = end_parts
lib.hooks.ending.group.end_parts = end_parts
lib.hooks.ending.iterator.end_parts = end_parts

function lib.hooks.tree.settle()
  if ctx.ended_children[1] or next(ctx.ended_leaves) then lib.family.settle() end
end

function lib.hooks.tree.weigh(id) lib.family.weigh(id) end

function lib.hooks.tree.keep(id, record, over) return lib.family.keep(id, record, over) end

local function purge(id, record) return record[F.keep_tasks] and record[F.children] and lib.family.expire_parts(id, record[F.uid]) end
lib.hooks.erase.chain.purge = purge
lib.hooks.erase.group.purge = purge

local function cancel_open(id)
  if lib.safe_call('EXISTS', lib.family.open_of(id)) == 1 then lib.schedule('~cancel:' .. id, now) end
end
lib.hooks.erase.chain.from_trash = cancel_open
lib.hooks.erase.group.from_trash = cancel_open
lib.hooks.erase.iterator.from_trash = cancel_open

local function resume(id, record, everything)
  if not record[F.children] then return nil end
  return lib.family.resume(id, record, (everything or record[F.state] == 'succeeded') and 'all' or 'failed')
end
lib.hooks.retry.chain.resume = resume
lib.hooks.retry.group.resume = resume

-- The tasks of an iterator know it as it is.
function lib.hooks.retry.iterator.go_on(id, _, _, everything)
  local coming = lib.family.refresh_iterator(id, everything)
  if everything then return nil end
  return nil, (coming > 0 and lib.text(coming) .. ' of its tasks come again, then ' or '') .. 'it goes on from where it was'
end

function lib.hooks.retry.iterator.reset(id) call('HDEL', lib.task_key(id), F.total) end

local function cancel_parts(id) lib.family.cancel_children(id) end
lib.hooks.ending.chain.cancel_parts = cancel_parts
lib.hooks.ending.group.cancel_parts = cancel_parts
lib.hooks.ending.iterator.cancel_parts = cancel_parts

local function is_laid_out(record) return record[F.children] or record[F.unexpanded] and record[F.begun] end
lib.hooks.retry.chain.is_laid_out = is_laid_out
lib.hooks.retry.group.is_laid_out = is_laid_out
function lib.hooks.retry.iterator.is_laid_out(record) return record[F.begun] end
