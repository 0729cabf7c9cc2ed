#!lua flags=allow-oom
-- restage: restarts a map-reduce task from one of its stages, for an operator.
-- KEYS: 1 the pool's prefix
-- ARGV: 1 task, 2 stage (map, process, reduce; step: go on with moving chunks), 3 process: states of the chunks to run
--       again, separated by commas, 4 token, 5 rules, 6 who
-- Reply: word (OK REPEAT REFUSED GONE), state of the task now, a detail, how many chunks are left to be moved (`step`),
--        how many of those that were met kept their data.
-- Transitions: retry, reprocess, remap.
--@needs abandon_chunks chunk_bulk_verbs chunk_sets lanes numbers outbox_dispatch phases reopen store_helpers
--@needs transitions wakeup

lib.need_agenda()

local task, stage, states, token, who = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[6]
local parent = lib.read_record(task)
if not parent then return { 'GONE', '', '', 0, 0 } end
if stage == 'step' then
  local left = lib.redo_step(task, 1000)
  lib.settle_up(); lib.deliver(-1); lib.wake(ctx.brought)
  return { 'OK', parent[F.state], '', left, ctx.unfit }
end

local stages = {}

-- A map that has not begun will begin by itself. It has no chunks yet.
local function check_map()
  local state = parent[F.state]
  if state == 'aggregating' or state == 'restart' or TERMINAL[state] then return nil end
  if not lib.RESTING[state] then return 'it is ' .. state .. (parent[F.phase] and ' (reduce)' or ' (map)') end
  return not (parent[F.phase] or parent[F.map_written]) and 'it is ' .. state .. ', and its map has not begun yet' or nil
end

function stages.map()
  local reason = check_map()
  if reason then return reason end
  lib.leave_stage(task, parent)
  if parent[F.state] == 'aggregating' then lib.tell_holders(task) end
  lib.move(task, parent[F.state], 'pending', parent[F.name], parent[F.kind], parent[F.lane])
  lib.turn_lane(task)
  call('HDEL', lib.task_key(task), F.progress, F.total)
  lib.hooks.retry.mapreduce.start_over(task)
  lib.hooks.retry.mapreduce.forget_run(task, parent)
  call('HSET', lib.task_key(task), F.state, 'pending')
  lib.enter_lane(parent[F.lane] or 'default', task, parent[F.priority], lib.next_number())
end

local function check_chunks()
  if not lib.may_reopen(parent) then return 'it is ' .. parent[F.state] .. (parent[F.has_chunks] and '' or ', and has no chunks') end
  if lib.all_chunks(task) ~= lib.number_of(parent[F.chunks]) then
    return 'not all of its chunks are there any more: restart it from its map'
  end
end

function stages.process()
  local reason = check_chunks()
  if reason then return reason end
  lib.reopen(task, parent)
  lib.begin_redo(task, states, 'retry', who)
end

function stages.reduce()
  local reason = check_chunks()
  if reason then return reason end
  if lib.open_chunks(task) > 0 then return lib.open_chunks(task) .. ' of its chunks have not ended' end
  local over = lib.too_many_failed(task, parent[F.on_chunk_failure], parent[F.chunks], parent[F.chunks_dropped])
  if over > 0 then return over .. ' chunks too many have failed: retry or drop them' end
  lib.reduce_again(task, parent)
end

if parent[F.operation] == token then return { 'REPEAT', parent[F.state], '', 0, 0 } end
if parent[F.kind] ~= 'mapreduce' then return { 'REFUSED', parent[F.state], 'it is not a map-reduce task', 0, 0 } end
local refused = lib.hooks.tree.refuse(parent) or stages[stage]()
if not refused then
  call('HSET', lib.task_key(task), F.operation, token)
  local value = stage == 'process' and states or nil
  lib.log_line(task, { k = 'operator', verb = 'restart from ' .. stage, who = who, from = parent[F.state], value = value })
end
lib.settle_up()
lib.deliver(-1)
if not refused then lib.wake(ctx.brought) end
local row = lib.named_fields(lib.task_key(task), F.state, F.chunks_to_redo)
return { refused and 'REFUSED' or 'OK', row[F.state], refused or '', row[F.chunks_to_redo] and 1 or 0, 0 }
