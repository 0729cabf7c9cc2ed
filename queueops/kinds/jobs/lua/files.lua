#!lua flags=allow-oom
-- files: puts files into the deletion queue, or takes them out of it.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 `queue` or `keep`, then for each file: name, id of its job, why, ms from now (of `keep` the name alone)
-- Reply: the number of files that were put in, or that were there.
-- Transitions: none.
--@needs files transitions

local count = 0
if ARGV[1] == 'queue' then
  for i = 2, #ARGV, 4 do
    lib.files.queue(ARGV[i], ARGV[i + 1], ARGV[i + 2], now + tonumber(ARGV[i + 3]))
    count = count + 1
  end
else
  for i = 2, #ARGV do if lib.files.forget(ARGV[i]) then count = count + 1 end end
end
lib.flush()
return count
