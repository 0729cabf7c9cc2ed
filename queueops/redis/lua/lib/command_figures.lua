-- Figures of the outbox: `given_up` has the number of commands that failed too often. The other indexes are read, too: a broken
-- one is found before a script needs it.
--@needs outbox

function lib.command_figures(figures)
  for _, index in ipairs({ ctx.COMMANDS, ctx.COMMANDS_LOCKED }) do call('ZCARD', index) end
  figures.given_up = call('ZCARD', ctx.COMMANDS_DEAD)
end
