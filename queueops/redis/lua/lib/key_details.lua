-- What the page of a task tells of its key.
--@needs limits rate_limit

-- By `put(name, value)`; `member` is what waits for a turn: the task, or the lane of what belongs to it.
function lib.key_details(member, record, put)
  if not record[F.limit_key] then return end
  local scope = lib.scope_of(record)
  local key = lib.key_of_limit(scope)
  put('key_running', call('SCARD', key .. SUBKEY.active))
  put('key_ready', call('SCARD', key .. SUBKEY.turn))
  put('key_waiting', call('ZCARD', key .. SUBKEY.waiting))
  put('key_rank', call('ZRANK', key .. SUBKEY.waiting, member))
  local holders = call('SRANDMEMBER', key .. SUBKEY.active, 5)
  put('key_holders', holders[1] and holders or call('SRANDMEMBER', key .. SUBKEY.turn, 5))
  local _, bucket = lib.turns_of(scope, record)
  if bucket then put('key_token_at', lib.tokens_at(bucket, 1)) end
end
