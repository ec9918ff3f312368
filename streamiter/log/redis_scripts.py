"""Scripts of the Redis log: what has to happen at once on the server."""

from __future__ import annotations

from streamiter.redis_server import Script

# The least id that all groups of readers have read; nil where no group is known.
_LEAST = """
local function least_read(key)
  local least, least_ms, least_seq
  for _, group in ipairs(redis.call('EXISTS', key) == 1 and redis.call('XINFO', 'GROUPS', key) or {}) do
    local told = {}
    for n = 1, #group, 2 do told[group[n]] = group[n + 1] end
    local id = told['last-delivered-id']
    local ms, seq = id:match('^(%d+)-(%d+)$')
    if not least or #ms < #least_ms or (#ms == #least_ms and (ms < least_ms
        or (ms == least_ms and (#seq < #least_seq or (#seq == #least_seq and seq < least_seq))))) then
      least, least_ms, least_seq = id, ms, seq
    end
  end
  return least
end
"""

# KEYS: the log's own key. ARGV: so many partitions.
GROW = Script("""
local known = tonumber(redis.call('HGET', KEYS[1], 'partitions') or '0')
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
