#!lua flags=no-writes
-- run_counts: the numbers of blocked, suspended and continued runs.
-- KEYS: 1 the pool's prefix
-- ARGV: none
-- Reply: as of `page`; those numbers.
-- Transitions: none.
--@needs tolerant_reads

lib.tolerate()
return lib.told({ call('ZCARD', P .. ':blocked'), call('ZCARD', P .. ':suspended'), call('ZCARD', P .. ':continued') })
