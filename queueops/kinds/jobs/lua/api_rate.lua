#!lua flags=allow-oom
-- api_rate: takes one token of the bucket of a client of the API, whose requests are limited.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 the number of the client's API token, 2 its rate a second
-- Reply: 0 if the request may go on; else the time until the next one may, in ms.
-- Transitions: none.
--@needs rate_limit

local key, bucket = P .. ':api:' .. ARGV[1], {}
lib.fill_bucket(bucket, ARGV[2], call('GET', key))
local waits = lib.tokens_of(bucket) < 1
local tat = waits and bucket.tat or bucket.tat + bucket.period
local wait = waits and max(1, lib.tokens_at(bucket, 1) - now) or 0
-- The key ends when the bucket is full again: a full bucket is the same as none.
call('SET', key, lib.text(math.ceil(tat)), 'PX', lib.text(math.ceil((tat / 1000) - now) + 1000))
return wait
