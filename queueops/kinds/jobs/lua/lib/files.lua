-- Deletion queue of files: names of files in the storage, each with the time at which it is due. A task deletes them.
-- Keys: `files` (name -> time), `files:notes` (name -> JSON of id, why, tries, error). The note of '' counts what did not fit,
-- that of '!' names the file whose deletion failed last.
-- `why`: `ended` (the record of the job is gone), `retention` (FILE_RETENTION), `operator`. A record has `fl`, the file of a run
-- before the last one, and `fx`, the time at which its file was deleted.
--@needs aggregations conflicts fieldcheck minute_counts store_helpers transitions

lib.files = { FAILED = '!' }

local MOST = 200000 -- further files are found as orphans
local AGAIN = 60000 -- ms until the queue is looked at again, while its task runs or cannot be made

function lib.files.wake_at(at)
  local first = lib.number_of(lib.try('ZSCORE', P .. ':agenda', '~files:'))
  if not first or first > at then lib.schedule('~files:', at) end
end

-- Puts a file into the queue, or changes when it is due. One that waits for the end of its job's record keeps that reason.
function lib.files.queue(path, id, why, due)
  local queue, notes = P .. ':files', P .. ':files:notes'
  if not lib.try('ZSCORE', queue, path) and (lib.try('ZCARD', queue) or MOST) >= MOST then return lib.try('HINCRBY', notes, '', 1) end
  lib.try('ZADD', queue, lib.text(due), path)
  lib.try('HSET', notes, path, cjson.encode({ id = id, why = why, tries = 0, error = '' }))
  lib.files.wake_at(due)
end

-- Takes a file out of the queue. Returns whether it was there.
function lib.files.forget(path)
  local notes = P .. ':files:notes'
  lib.try('HDEL', notes, path)
  if lib.try('HGET', notes, lib.files.FAILED) == path then lib.try('HDEL', notes, lib.files.FAILED) end
  return lib.try('ZREM', P .. ':files', path) == 1
end

-- What is noted of a file; empty if that cannot be read.
function lib.files.note_of(path)
  local stored = lib.try('HGET', P .. ':files:notes', path)
  local is_json, note = pcall(cjson.decode, stored or '')
  return is_json and type(note) == 'table' and note or { id = '', why = '', tries = 0, error = '' }
end

-- The file whose deletion failed last, with attempts and error; nil once it is out of the queue.
function lib.files.failing()
  local path = lib.safe_call('HGET', P .. ':files:notes', lib.files.FAILED)
  if not path or not lib.safe_call('ZSCORE', P .. ':files', path) then return nil end
  local note = lib.files.note_of(path)
  local tries = lib.number_of(note.tries) or 0
  return tries > 0 and { path = path, tries = tries, error = lib.shortened(tostring(note.error or ''), 500) } or nil
end

-- Whether a job has a record, also one in the trash.
function lib.files.has_job(id) return call('EXISTS', lib.task_key(id), P .. ':trash:' .. id) > 0 end

-- The name of the file that a download has stored, by its result. The worker checks that it is a name of this job.
local function path_of(name, result)
  if name ~= 'download' or not result or not string.find(result, '"path"', 1, true) then return nil end
  local is_json, found = pcall(cjson.decode, result)
  local path = is_json and type(found) == 'table' and found.path
  return type(path) == 'string' and path ~= '' and path or nil
end

local function queue_files(id, name, result, earlier)
  local path = path_of(name, result)
  if path then lib.files.queue(path, id, 'ended', now) end
  if earlier and earlier ~= '' and earlier ~= path then lib.files.queue(earlier, id, 'ended', now) end
end

-- The record of a job ends: its retention is over, or it was discarded.
function lib.hooks.erase.job.abandon(id, record)
  if not record then return end
  lib.aggregations.unlist(id, record)
  queue_files(id, record[F.name], record[F.result], record[F.file_before])
end

-- The record of a job in the trash ends.
function lib.hooks.erase.job.purge_trash(id)
  local row = lib.named_fields(P .. ':trash:' .. id, 'n', 're', 'fl')
  if row then queue_files(id, row[F.name], row[F.result], row[F.file_before]) end
  return false
end

-- A job that has ended runs again: the file of its last run is that of the next one.
function lib.hooks.retry.job.reset(id, record)
  call('HDEL', lib.task_key(id), F.file_deleted)
  local path = path_of(record[F.name], record[F.result])
  if not path then return end
  call('HSET', lib.task_key(id), F.file_before, path)
  lib.files.forget(path)
end

-- Files are due: their task is made, unless it is there.
function lib.hooks.due_entry.files()
  local first = lib.safe_call('ZRANGE', P .. ':files', 0, 0, 'WITHSCORES')
  local due = lib.number_of(first[2])
  if not due then return end
  if due > now then return lib.schedule('~files:', due) end
  lib.schedule('~files:', now + AGAIN)
  local fields = { 'n', 'delete_files', 'k', 'file_deletion', 'l', 'files', 'r', '3', 'kp', '3600000' }
  local values = {}
  for i = 1, #fields, 2 do values[fields[i]] = fields[i + 1] end
  lib.place({ id = 'delete-files', policy = 'ignore', token = '', fields = fields, values = values })
end

function lib.hooks.check_entry.files()
  if lib.safe_call('ZCARD', P .. ':files') == 0 and lib.wrong('~files:', 'the agenda has a queue of files that is empty') then
    lib.unschedule('~files:')
  end
end
