#!lua flags=no-writes
-- run_of: the run that a run went on as, by continue-as-new or a reset; or the newest run of an instance.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 id of the run ('' = the newest of the instance), 2 instance
-- Reply: the id of that run; '' if it is gone.
-- Transitions: none.
--@needs runs

local id = lib.runs.meant(ARGV[1], ARGV[2])
return lib.runs.read(id) and id or ''
