#!lua flags=allow-oom
-- count_jobs: adds what a process has counted to the counters of jobs. A batch that comes again adds nothing.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 the process, 2 number of its batch, 3 ms for which that number is kept; then pairs: counter, number.
-- Reply: 1 if it was added, 0 if it had been before.
-- Transitions: none.
--@needs store_helpers transitions

local last = P .. ':counted:' .. ARGV[1]
if (lib.number_of(lib.safe_call('GET', last)) or 0) >= tonumber(ARGV[2]) then return 0 end
call('HLEN', P .. ':job_counts')
call('SET', last, ARGV[2], 'PX', ARGV[3])
for i = 4, #ARGV, 2 do lib.safe_call('HINCRBY', P .. ':job_counts', ARGV[i], ARGV[i + 1]) end
return 1
