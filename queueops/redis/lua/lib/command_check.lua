-- Consistency check of the commands of the outbox.
--@needs fieldcheck outbox transitions

function lib.hooks.check_entry.command(cid)
  local command, dead = lib.read_command(cid), lib.safe_call('ZSCORE', ctx.COMMANDS_DEAD, cid)
  if command == nil or dead then return end
  if not command then
    if lib.wrong('~command:' .. cid, 'it is not a command') then lib.set_aside(cid) end
  elseif not (lib.safe_call('ZSCORE', ctx.COMMANDS, cid) or lib.safe_call('ZSCORE', ctx.COMMANDS_LOCKED, cid))
    and lib.wrong('~command:' .. cid, 'it is in no index of the outbox') then
    lib.safe_call('ZADD', ctx.COMMANDS, NOW, cid)
    ctx.outbox.touched = true
  end
end
