-- Starts of workers in the history of a pool: the newest ones of a range of time with their times, at most so many; and the
-- last one before the range.
function lib.starts_between(since_ms, until_ms, most)
  local key = P .. ':marks:starts'
  return call('ZREVRANGEBYSCORE', key, until_ms, since_ms, 'WITHSCORES', 'LIMIT', 0, most),
    call('ZREVRANGEBYSCORE', key, '(' .. since_ms, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
end
