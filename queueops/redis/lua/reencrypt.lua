#!lua flags=allow-oom
-- reencrypt: replaces values of one key, such as encrypted ones by the same under another key. A value that has changed since
-- it was read stays as it is.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 key after the prefix, 2 its type; then for each value: field, index or '' (zset, string), what was read, what replaces it
-- Reply: how many values were replaced.
-- Transitions: none.

local key, put = P .. ':' .. ARGV[1], {}

function put.hash(field, old, new) return call('HGET', key, field) == old and call('HSET', key, field, new) end

function put.list(index, old, new) return call('LINDEX', key, index) == old and call('LSET', key, index, new) end

function put.string(_, old, new) return call('GET', key) == old and call('SET', key, new, 'KEEPTTL') end

-- The new one is added first: a key that is empty for a moment would lose its expiry.
function put.zset(_, old, new)
  local score = call('ZSCORE', key, old)
  return score and call('ZADD', key, score, new) and call('ZREM', key, old)
end

local count = 0
for i = 3, #ARGV, 3 do
  if put[ARGV[2]](ARGV[i], ARGV[i + 1], ARGV[i + 2]) then count = count + 1 end
end
return count
