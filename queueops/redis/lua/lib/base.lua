-- Base of the library. `lib` holds the functions and constants that modules share; it never changes once it is loaded.
-- `ctx` holds what belongs to one call, as do the variables after it: `enter` makes them anew.
local lib = {}
local ctx, call, P, TASK, ARGV, TIME, now, NOW
local latest, latest_text -- the last number that lib.text converted
local floor, min, max -- a server has no `math` while it loads a library
local BAND = 17592186044416 -- 2^44: width of one priority's band of scores in a lane

-- Initial values of `ctx`, given at the first access: TABLE means a new table, a function is called, others stand as is.
local fresh, TABLE = {}, {}
local INITIAL = {}
function INITIAL.__index(values, name)
  local value = fresh[name]
  if value == TABLE then value = {} elseif type(value) == 'function' then value = value() end
  values[name] = value
  return value
end

-- Text of an integer. Redis converts a number to text in each call, so a script converts a repeated one itself, once.
-- The text has two parts, because a Lua integer has 32 bits on some servers. The last text is kept, because times recur.
function lib.text(number)
  if number == latest then return latest_text end
  local whole = floor(number + 0.5)
  latest = number
  latest_text = whole < 1e9 and string.format('%d', whole) or string.format('%d%09d', floor(whole / 1e9), whole % 1e9)
  return latest_text
end

-- Hooks: what the kernel leaves to kinds, an object for each moment of life. Their modules fill it at load:
-- `function lib.hooks.<moment>.<kind>.<word>(...)`. The kind is that of a record, its field `k`, or the name of a kind.
-- A task without a kind asks none of them: (lib.hooks.<moment>[record.k] or NONE).<word>
lib.hooks = {}
local NONE = {}

lib.hooks.claim = of_kinds()
--  .brief: a text for the worker that leases one, `brief` of its lease, given id and fields; nil: it has none
--  .promote: makes a due task ready; returns whether it did, else it is done as for every task
--  .open_lane: gives the lane of a follow-up of this kind its settings before it enters, given its fields
lib.hooks.settle = of_kinds()
--  .succeed: settles a success, given its value; nil: as for every task; false: its record cannot be read
--  .end_instead: ends a task that a worker gives back, and returns whether it did
--  .fail_instead: does something else than fail a task after its lease, given the fields; returns whether it did
--  .unknown_instead: does something with a task whose name no worker knows, given the reason; returns whether it did
--  .fails_at_release: whether it fails when an operator takes its lease back
lib.hooks.ending = of_kinds()
--  .end_parts: ends what a task consists of, after its own end
--  .cancel_parts: cancels what a task consists of, after the task itself
--  .note: notes the end of a task, given its state
lib.hooks.retry = of_kinds()
--  .refuse_verb: why an operator may not do this, given verb and value; nil if that is permitted
--  .resume: retries it, given whether all of it comes again; returns state and detail, or nil: as every task
--  .go_on: goes on with an ended one that is retried; as `resume`, or with a detail alone: as the same generation
--  .start_over: its next run begins from nothing: it has other arguments, or all of it comes again
--  .forget_run: removes what its last run has left in its record
--  .reset: prepares the record of an ended one for its next generation
--  .is_laid_out: whether what it consists of exists, or has existed
lib.hooks.erase = of_kinds()
--  .purge: deletes what a task consists of, in steps; returns whether something is left
--  .abandon: leaves to the agenda what belongs to a deleted record; without a record: what is there of any
--  .to_trash: a record has been moved to the trash
--  .from_trash: a record has come back from the trash
--  .purge_trash: as `purge`, of a task in the trash
lib.hooks.check = of_kinds()
--  .record: its consistency check; returns whether it has a lane of its own
--  .lane: the consistency check of a lane
--  .pool: the consistency check of what it keeps of a pool
--  .tick: its round in a watchdog's tick
lib.hooks.show = of_kinds()
--  .figures: adds its figures to those of the pool
--  .details: adds to the details of a task by `put(name, value)`

-- By word: what stands behind `~` in an entry `~<word>:<rest>`, given the rest.
lib.hooks.due_entry = {} -- acts on the due entry of the agenda
lib.hooks.check_entry = {} -- the consistency check of the entry

-- By verb of a message to another pool.
lib.hooks.effect = {} -- its effect on its target here; returns a word and a detail
lib.hooks.reply = {} -- what that answer changes for the sender
lib.hooks.dead_message = {} -- the message is given up, for a reason, until an operator acts on it

-- A task that is part of another one has the field `pi`.
lib.hooks.tree = {}
--  .end_stand_ins: ends the parts that wait for the end of a task, given its id and their list
--  .note_end: notes its end for the other, given id, that task, and state
--  .settle: goes on with the others
--  .refuse: why an ended part may not be retried alone; nil if it may
--  .weigh: counts anew the total and the progress of a part
--  .stop: a running part is asked to stop by an operator
--  .keep: keeps an ended part as long as the other needs it; returns whether it does

-- Foreign members: an index of tasks may hold `<task>#<rest>`, of which one kind knows what it is. A lane `#<task>` holds
-- what belongs to one task. `#active` of other lanes is a set, that of these a sorted set.
lib.hooks.parts = {}
--  .act: acts on one that is due; given the time to which leases are spared
--  .claim: leases one that was taken from a lane, given its place there last
--  .settle: settles its lease, as `lib.settle`
--  .release: takes its lease back
--  .end_of: why the worker that runs one should end it, and whether by force; nil if it need not
--  .task_of: the id of the task that it belongs to
--  .check: its consistency check
--  .flush: writes their collected moves
--  .settle_moves: writes their collected moves, and goes on with their tasks
--  .lane_key: the key of the ready members of a lane
--  .lane_active: the key of its running members
--  .lane_conf: its settings
--  .waits_for_turn: whether a lane has a member to begin, or one member waits elsewhere; and the fields of its key
--  .check_turn: whether a lane or a member may be in this part of a key, given the key with its name, and the part
--  .lane_share: how many members this worker may take (0: the lane is closed; nil: this worker takes none)
--  .lease_lane: leases members that were taken from it

-- Begins a call: nothing is left of the call before, even if that failed in the middle.
local function enter(keys, arguments)
  call, floor, min, max = redis.call, math.floor, math.min, math.max
  ctx, latest, latest_text = setmetatable({}, INITIAL), 0, '0'
  P, ARGV = keys[1], arguments
  TASK = P .. ':task:'
  TIME = call('TIME')
  now = TIME[1] * 1000 + floor(TIME[2] / 1000)
  NOW = lib.text(now)
end
