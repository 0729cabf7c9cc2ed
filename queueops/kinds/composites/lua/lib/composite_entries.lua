-- Entries of the agenda about composites: each goes on with what would take too long in one call.
--@needs parent

function lib.hooks.due_entry.activate(id) lib.family.go_on(id) end
function lib.hooks.due_entry.again(id) lib.family.go_on_iterating(id) end
function lib.hooks.due_entry.cancel(id) lib.family.cancel_children(id) end
function lib.hooks.due_entry.resume(id) lib.family.resume_children(id) end
function lib.hooks.due_entry.planting(id) lib.family.guard(id) end
