-- The rate limit of a lane: a token bucket, kept as one number of the lane's settings. `tat` is the time, in
-- microseconds, at which the bucket is full again (the generic cell rate algorithm). Full, it holds the starts of one
-- second, at least one. A start takes a token, and nothing gives a token back. So in any time t at most burst + rate * t
-- tasks start.
--@needs store_helpers

fresh.lanes_await = false -- whether a lane waits on the agenda for its tokens, since this call

-- A lane without tokens returns to the round at most so often a second. It takes all tokens that are there by then.
local RETURNS = 20

-- `conf` becomes a bucket when `rate` is a limit. A time too far in the future (the clock was set back, or the rate was
-- lower) is an empty bucket now. A script that waits for its tokens writes that time, because it would stay so otherwise.
function lib.fill_bucket(conf, rate, tat)
  rate = lib.number_of(rate)
  if not rate or rate <= 0 then return end
  rate = max(1e-6, min(rate, 1e5))
  local time, period = TIME[1] * 1000000 + TIME[2], 1000000 / rate
  conf.rate, conf.period, conf.burst = rate, period, period * max(1, floor(rate))
  conf.latest = time + conf.burst -- the `tat` of an empty bucket
  tat = tonumber(tat or nil) or 0
  conf.ahead = not (tat <= conf.latest)
  conf.tat = conf.ahead and conf.latest or max(time, tat)
end

-- One microsecond is allowed for rounding.
function lib.tokens_of(bucket) return max(0, floor((bucket.latest - bucket.tat + 1) / bucket.period)) end

-- When `count` tokens are there, in ms.
function lib.tokens_at(bucket, count) return math.ceil((bucket.tat + count * bucket.period - bucket.burst) / 1000) end

function lib.take_tokens(key, bucket, count)
  bucket.tat = math.ceil(bucket.tat + count * bucket.period)
  call('HSET', key, 'tat', lib.text(bucket.tat))
end

function lib.await_tokens(lane, key, bucket)
  if bucket.ahead then call('HSET', key, 'tat', lib.text(bucket.tat)) end
  call('ZADD', P .. ':agenda', lib.text(lib.tokens_at(bucket, max(1, floor(bucket.rate / RETURNS)))), '~lane:' .. lane)
  ctx.lanes_await = true
end
