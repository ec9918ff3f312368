"""Scripts of the Redis log: what has to happen at once on the server."""

from __future__ import annotations

from streamiter.redis_server import Script

_TOLD = """
local function told_by(flat)
  local told = {}
  for n = 1, #flat, 2 do told[flat[n]] = flat[n + 1] end
  return told
end
"""

# Whether an id is less than another one. Their numbers are too great for those of Lua; as texts they compare by length first.
_LESS = """
local function less(a, b)
  local a_ms, a_seq = a:match('^(%d+)-(%d+)$')
  local b_ms, b_seq = b:match('^(%d+)-(%d+)$')
  if a_ms ~= b_ms then return #a_ms < #b_ms or (#a_ms == #b_ms and a_ms < b_ms) end
  return #a_seq < #b_seq or (#a_seq == #b_seq and a_seq < b_seq)
end
"""

# The least id that all groups of readers are done with: what a consumer has and did not ack is not. Nil: there is no group.
_LEAST = (
    _TOLD
    + _LESS
    + """
local function least_read(key)
  local least
  for _, flat in ipairs(redis.call('EXISTS', key) == 1 and redis.call('XINFO', 'GROUPS', key) or {}) do
    local group = told_by(flat)
    local id = group['last-delivered-id']
    if group['pending'] > 0 then
      local first = redis.call('XPENDING', key, group['name'])[2]
      if less(first, id) then id = first end
    end
    if not least or less(id, least) then least = id end
  end
  return least
end
"""
)

# -- what a cluster's client would make something else of, or send to any node. KEYS: the stream; for the time, any key.
TIME = Script("return redis.call('TIME')")
LOOK = Script("return redis.call('EXISTS', KEYS[1]) == 1 and redis.call('XINFO', 'STREAM', KEYS[1])")

# ARGV: an id, and how many entries that follow it, and it.
READ = Script("""
local info = redis.call('EXISTS', KEYS[1]) == 1 and redis.call('XINFO', 'STREAM', KEYS[1])
return {redis.call('TIME'), info, redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])}
""")

# KEYS: the log's own key. ARGV: so many partitions.
GROW = Script("""
local known = tonumber(redis.call('HGET', KEYS[1], 'partitions') or '0') or 0
if known < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'partitions', ARGV[1]) end
""")

# KEYS: the stream. ARGV: the most entries that it is to hold (0: any number), what to do where it holds as many, how many are
# new, and then for each how many fields and values follow, and these. Where no group of readers is known, nothing may go.
APPEND = Script(
    _LEAST
    + """
local size, new = tonumber(ARGV[1]), tonumber(ARGV[3])
if size > 0 and ARGV[2] == 'refuse' and redis.call('XLEN', KEYS[1]) + new > size then
  local least = least_read(KEYS[1])
  if least then redis.call('XTRIM', KEYS[1], 'MINID', '=', least) end
  local held = redis.call('XLEN', KEYS[1])
  if held + new > size then return {0, held, least or ''} end
end
local ids, at = {}, 4
for n = 1, new do
  local last = at + tonumber(ARGV[at])
  ids[n] = redis.call('XADD', KEYS[1], '*', unpack(ARGV, at + 1, last))
  at = last + 1
end
if size > 0 and ARGV[2] == 'trim' then redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', size) end
local told, added = redis.call('XINFO', 'STREAM', KEYS[1]), -1
for n = 1, #told, 2 do if told[n] == 'entries-added' then added = told[n + 1] end end
return {1, ids, added}
"""
)

# KEYS: the stream. ARGV: an id, and how many entries may have been added up to its entry for that to go, too.
TRIM = Script("""
redis.call('XTRIM', KEYS[1], 'MINID', '=', ARGV[1])
local told = redis.call('XINFO', 'STREAM', KEYS[1])
local added, held, first = 0, 0, nil
for n = 1, #told, 2 do
  if told[n] == 'entries-added' then added = told[n + 1] end
  if told[n] == 'length' then held = told[n + 1] end
  if told[n] == 'first-entry' and told[n + 1] then first = told[n + 1][1] end
end
if first == ARGV[1] and added - held + 1 < tonumber(ARGV[2]) then redis.call('XTRIM', KEYS[1], 'MAXLEN', '=', held - 1) end
""")

# KEYS: the stream. ARGV: the first id, the last one, and how many entries are counted at most.
COUNT = Script("""
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])
return {#found, #found > 0 and found[#found][1] or ''}
""")

# KEYS: the stream. ARGV: a group of readers, the last id that it is done with, how many entries were ever added up to that, and
# whether what all groups have read is to go.
PUBLISH = Script(
    _LEAST
    + """
if redis.call('EXISTS', KEYS[1]) == 0 then return end
local set = redis.pcall('XGROUP', 'SETID', KEYS[1], ARGV[1], ARGV[2], 'ENTRIESREAD', ARGV[3])
if type(set) == 'table' and set.err then
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], ARGV[2], 'ENTRIESREAD', ARGV[3])
end
if ARGV[4] == '1' then redis.call('XTRIM', KEYS[1], 'MINID', '=', least_read(KEYS[1])) end
"""
)

# -- groups that other programs share. KEYS: the stream, and the row of the lease. ARGV: the lease's owner ("": whoever; then it
# is enough that it did not change hands) and its fence as they stand in the row, the group, the consumer. All give nil where
# the lease is not that one any more.
_HELD = """
local row = redis.call('HMGET', KEYS[2], '.owner', '.fence')
if (ARGV[1] ~= '' and row[1] ~= ARGV[1]) or row[2] ~= ARGV[2] then return false end
"""
_GROUP = (
    _TOLD
    + """
local function group_of()
  for _, flat in ipairs(redis.call('EXISTS', KEYS[1]) == 1 and redis.call('XINFO', 'GROUPS', KEYS[1]) or {}) do
    local group = told_by(flat)
    if group['name'] == ARGV[3] then return group end
  end
end
"""
)

# And where a new group begins: an id, and how many entries were ever added up to that; and from where on to look for what is
# pending for the consumer. Gives the first such entry ("": none), the group's place, and how many entries stand
# before that (-1: unknown).
OPEN_GROUP = Script(
    _HELD
    + _GROUP
    + """
if not group_of() then redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[3], ARGV[5], 'MKSTREAM', 'ENTRIESREAD', ARGV[6]) end
local group = group_of()
local first = redis.call('XPENDING', KEYS[1], ARGV[3], ARGV[7], '+', 1, ARGV[4])[1]
return {first and first[1] or '', group['last-delivered-id'], group['entries-read'] or -1}
"""
)

# And the id where the group is to stand now, the one where it goes, and how many entries stand before that.
MOVE_GROUP = Script(
    _HELD
    + _GROUP
    + """
local group = group_of()
if group and group['last-delivered-id'] == ARGV[5] then
  redis.call('XGROUP', 'SETID', KEYS[1], ARGV[3], ARGV[6], 'ENTRIESREAD', ARGV[7])
end
return 1
"""
)

# And how many entries at most; and an id: what is pending for the consumer behind it comes first ("": nothing is). Gives what
# came: pending entries, each with how many were added up to it (as far as that is soon counted); new ones, with how many stand
# before them, where the group stands now, and whether that is the stream's end; a gap; or why nothing can come.
READ_GROUP = Script(
    _HELD
    + _GROUP
    + _LESS
    + """
local group = group_of()
if not group then return {'no group'} end
local last, read = group['last-delivered-id'], group['entries-read']
if not read then return {'uncounted', last} end
local stream = told_by(redis.call('XINFO', 'STREAM', KEYS[1]))
local gone = stream['entries-added'] - stream['length']
local first = stream['first-entry'] and stream['first-entry'][1]

local function indices_of(entries)
  local places, counted, start = {}, 0, entries[1][1]
  for turn = 1, 20 do
    local chunk = redis.call('XRANGE', KEYS[1], start, last, 'COUNT', 1000)
    for n = 1, #chunk do places[chunk[n][1]] = counted + n end
    counted = counted + #chunk
    if #chunk < 1000 then
      local indices = {}
      for n, entry in ipairs(entries) do indices[n] = read - counted + (places[entry[1]] or 0) end
      return indices
    end
    start = '(' .. chunk[#chunk][1]
  end
  local indices = {}
  for n = 1, #entries do indices[n] = gone + 1 end
  return indices
end

if ARGV[6] ~= '' then
  local found = redis.call('XREADGROUP', 'GROUP', ARGV[3], ARGV[4], 'COUNT', ARGV[5], 'STREAMS', KEYS[1], ARGV[6])
  local entries = found and found[1] and found[1][2] or {}
  if #entries > 0 then return {'pending', redis.call('TIME'), entries, indices_of(entries)} end
end
if gone > read and (not first or less(last, first)) then return {'gap', gone - read} end
local found = redis.call('XREADGROUP', 'GROUP', ARGV[3], ARGV[4], 'COUNT', ARGV[5], 'STREAMS', KEYS[1], '>')
local entries = found and found[1] and found[1][2] or {}
if #entries > 0 then last = entries[#entries][1] end
return {'new', redis.call('TIME'), read, entries, last, last == stream['last-generated-id'] and 1 or 0}
"""
)

# And ids: these are done with.
ACK = Script(
    _HELD
    + """
return redis.call('XACK', KEYS[1], ARGV[3], unpack(ARGV, 5))
"""
)

# And an id: what is pending for the consumer up to it is done with.
ACK_UPTO = Script(
    _HELD
    + """
local acked = 0
while true do
  local held = redis.pcall('XPENDING', KEYS[1], ARGV[3], '-', ARGV[5], 1000, ARGV[4])
  if held.err or #held == 0 then return acked end
  local ids = {}
  for n = 1, #held do ids[n] = held[n][1] end
  acked = acked + redis.call('XACK', KEYS[1], ARGV[3], unpack(ids))
end
"""
)
