"""The Redis log: each partition a stream of Redis or Valkey, `__strm:{app}.{stream}.{partition}`, which others may add to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from streamiter.errors import InvalidStream, PositionTrimmed, ShardGone, Throttled
from streamiter.log.base import Ends, Entry, Log, Slice
from streamiter.log.record import LogRecord
from streamiter.log.redis_entry import Spot, fields_of, floor_ms, number_of, parse_id, records_of, spot_before
from streamiter.log.redis_group import RedisGroup
from streamiter.log.redis_options import RedisOptions
from streamiter.log.redis_scripts import APPEND, COUNT, GROW, LOOK, PUBLISH, READ, TIME, TRIM
from streamiter.redis_server import CALL_SECONDS, Script, Server, host_of, load
from streamiter.source.base import ShardIterator
from streamiter.source.sharing import SharedSource

_COUNTED = 2000  # entries that one call of a seek counts: some milliseconds of the server's time
_PARTITIONS = "partitions"
_BLOCK_MS = 2000  # a wait is shorter than the connection's own limit


class _Told(NamedTuple):
    """What XINFO STREAM tells of a stream."""

    held: int = 0
    added: int = 0  # entries ever
    last: tuple[int, int] = (0, 0)  # the last id that was ever given
    first: tuple[int, int] | None = None
    first_id: bytes = b""
    last_held_id: bytes = b""

    @property
    def gone(self) -> int:
        """How many entries are not held any more; all of them stood before the first that is."""
        return self.added - self.held

    @property
    def end(self) -> Spot:
        """Behind all that was ever added."""
        return Spot(*self.last, self.added)

    @property
    def start(self) -> Spot:
        """Behind all that is gone."""
        return self.end if self.first is None else spot_before(*self.first, self.gone)


class RedisLog(Log):
    """Partitions as streams of one Redis or Valkey server, version 7 or newer: `redis://HOST:PORT/STREAM?app=APP`.

    An entry has the fields `payload`, `key` if there is one, and `h:NAME` for each header; ids are given by the server. Entries
    that others added with fields of their own have these as their payload, a JSON object, and as headers. `partition_size=N`
    bounds a partition: by default `append` is refused (Throttled) while a group of readers has not read what would have to
    go; with `when_full=trim` the oldest go, and readers that had not read them are told of a gap. With `trim=read`,
    what all processors have done with goes as they move on. docs/redis.md tells more.
    """

    watches = publishes = True
    grain_us = 1000  # ids tell milliseconds

    def __init__(self, url: str, *, call_seconds: float = CALL_SECONDS) -> None:
        self._options = RedisOptions.parse(url)
        self._told = f"RedisLog('{host_of(url)}/{self._options.stream}', app '{self._options.app}')"
        options = self._options
        self._server = Server(
            options.server_url,
            self._told,
            InvalidStream,
            call_seconds=call_seconds,
            db=None if options.is_cluster else options.db,
            is_raw=True,
            is_cluster=options.is_cluster,
            layout=f"{options.key} is a hash, and {options.key}.0 and so on are streams",
        )
        if options.is_cluster and options.hash_tag == "none":
            # The partitions lie on several nodes: these have a clock each, and no call waits for all of them.
            self.lateness, self.watches = 1.0, False
        self._known = 0  # partitions; there come more, never fewer

    @property
    def name(self) -> str:
        """The app's and the stream's names; whatever server has them now."""
        if not self._known:
            self.partitions()
        return f"redis:{self._options.scope}"

    def partitions(self) -> int:
        """As the log's own key says: the hash `__strm:{app}.{stream}`."""
        with self._server.calling() as client:
            found = client.execute_command("HGET", self._options.key, _PARTITIONS)
        if found is None:
            raise InvalidStream(
                f"{self._told}: there is no such log (no key {self._options.key}); make it by grow(8) of its Log or its "
                f"Topic, or by redis-cli: HSET {self._options.key} {_PARTITIONS} 8"
            )
        if not found.isdigit() or int(found) < 1:
            raise InvalidStream(
                f"{self._told}: the field {_PARTITIONS} of {self._options.key} is to be a number, 1 or more, and is not: mend "
                f"it by redis-cli: HSET {self._options.key} {_PARTITIONS} 8"
            )
        self._known = max(self._known, int(found))
        return self._known

    def grow(self, partitions: int) -> None:
        """Writes the number down; a partition's stream is made with its first entry."""
        if partitions < 1:
            raise InvalidStream(f"{self._told}: a log has 1 partition or more, not {partitions}")
        self._check_version()
        self._server.run(GROW, [self._options.key], [partitions])
        self.partitions()

    def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        """Adds all of them by one script: all or none."""
        if not entries:
            return []
        key = self.key_of(partition)
        arguments: list[Any] = [self._options.partition_size, self._options.when_full, len(entries)]
        for entry in entries:
            fields = fields_of(entry)
            arguments.append(len(fields))
            arguments += fields
        is_done, told, added = self._server.run(APPEND, [key], arguments)
        if not is_done:
            raise Throttled(
                f"{self._told}: partition {partition} is full: {told} entries, of {self._options.partition_size} at most; "
                f"{_waits(added)}"
            )
        self._check_counts(added)
        begin = added - len(told) + 1
        return [number_of(written, index) for index, written in enumerate(told, begin)]

    def read(self, partition: int, after: int, limit: int) -> Slice:
        """One transaction tells the time, what the stream holds, and what follows the place."""
        spot, key = Spot.of(after), self.key_of(partition)
        now, info, entries = self._read(key, spot.id, limit + 1)
        told = self._told_by(info)
        is_here = bool(entries) and parse_id(entries[0][0]) == spot.key
        if not is_here or told.added < spot.nth:
            self._check_held(partition, spot, told)
        entries = entries[1:] if is_here and not spot.is_before else entries[:limit]
        is_tip = len(entries) < limit or parse_id(entries[-1][0]) == told.last
        return Slice(records_of(str(partition), entries, spot.nth + 1), is_tip, floor_ms(now))

    def now_us(self) -> int | None:
        """The server's clock, in milliseconds as ids have it; in a cluster, that of the node of the log's own key."""
        if self._server.is_cluster:
            return floor_ms(self._server.run(TIME, [self._options.key], []))
        with self._server.calling() as client:
            return floor_ms(client.execute_command("TIME"))

    def seek(self, partition: int, time_us: int) -> int:
        """By the ids, which hold the time. The entries from there on are counted, some milliseconds of the server's a call."""
        ms = -(-time_us // 1000)
        told = self._look(partition)
        if told.first is None or ms > told.last[0]:
            return told.end.number
        if ms <= told.first[0]:
            return told.start.number
        following = self._count(partition, f"{ms}-0", f"{told.last[0]}-{told.last[1]}")
        return spot_before(ms, 0, told.added - following).number

    def start(self, partition: int) -> int:
        """Right before the first entry that is held."""
        return self._look(partition).start.number

    def ends(self, partition: int) -> Ends:
        """By one call."""
        told = self._look(partition)
        if told.first is None:
            return Ends(None, None)
        return Ends(Spot(*told.first, told.gone + 1).number, number_of(told.last_held_id, told.added))

    def trim(self, partition: int, before: int) -> None:
        """XTRIM MINID, exactly."""
        spot, key = Spot.of(before), self.key_of(partition)
        if self._look(partition).held:
            self._server.run(TRIM, [key], [spot.id, spot.nth + bool(before % 10)])

    def watch(self, iterators: Sequence[ShardIterator], seconds: float) -> Collection[str]:
        """One XREAD BLOCK over all of them."""
        if not iterators:
            return ()
        keys = {
            self.key_of(self.partition_of(place.shard_id)): (place.shard_id, Spot.of(place.value))
            for place in iterators
        }
        ids = [spot.id for _, spot in keys.values()]
        block_ms = max(1, min(round(seconds * 1000), _BLOCK_MS))
        with self._server.calling() as client:
            found = client.execute_command("XREAD", "COUNT", 1, "BLOCK", block_ms, "STREAMS", *keys, *ids)
        return [keys[key.decode()][0] for key, _ in found or ()]

    def publish(self, group: str, numbers: Mapping[str, int]) -> None:
        """XGROUP SETID, so that XINFO GROUPS shows the lag; with `trim=read`, what all groups have read goes."""
        for shard_id, number in numbers.items():
            spot, key = Spot.of(number), self.key_of(self.partition_of(shard_id))
            self._server.run(PUBLISH, [key], [group, spot.id, spot.nth, int(self._options.trim == "read")])

    # -- groups whose other consumers are not ours

    def shared(self, group: str, consumer: str) -> SharedSource[LogRecord]:
        """The log as one consumer of a group sees it."""
        return RedisGroup(self, group, consumer)

    @property
    def is_cluster(self) -> bool:
        """Whether it is in a cluster."""
        return self._server.is_cluster

    def identity(self) -> str:
        """Which server and database it is in."""
        return self._server.identity()

    def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """Runs a script."""
        return self._server.run(script, keys, arguments)

    def count_upto(self, partition: int, last_id: str) -> int:
        """How many entries were ever added up to an id."""
        told = self._look(partition)
        return told.added - self._count(partition, f"({last_id}", told.end.id)

    def key_of(self, partition: int) -> str:
        """The stream of a partition; ShardGone where there is none."""
        if not 0 <= partition < self._known and not 0 <= partition < self.partitions():
            raise ShardGone(f"{self._told} has no partition {partition}, but {self._known}, from 0 on")
        return f"{self._options.key}.{partition}"

    def close(self) -> None:
        """Closes the connections; whoever uses the log again opens some."""
        self._server.close(for_good=False)

    # -- inside

    def _read(self, key: str, first_id: str, limit: int) -> tuple[Any, Any, Any]:
        """The time, what the stream is like (or an error, as in `_told_by`), and its entries from an id on: of one moment."""
        if self._server.is_cluster:
            now, info, entries = self._server.run(READ, [key], [first_id, limit])
            return now, info, entries
        with self._server.calling() as client:
            pipeline = client.pipeline(transaction=True)
            pipeline.execute_command("TIME")
            pipeline.execute_command("XINFO", "STREAM", key)
            pipeline.execute_command("XRANGE", key, first_id, "+", "COUNT", limit)
            now, info, entries = pipeline.execute(raise_on_error=False)
            _raise_first(now, entries)
        return now, info, entries

    def _look(self, partition: int) -> _Told:
        redis, key = load(), self.key_of(partition)
        if self._server.is_cluster:
            return self._told_by(self._server.run(LOOK, [key], []))
        with self._server.calling() as client:
            try:
                info = client.execute_command("XINFO", "STREAM", key)
            except redis.ResponseError as error:
                info = error
            return self._told_by(info)

    def _told_by(self, info: Any) -> _Told:
        if info is None:
            return _Told()
        if isinstance(info, Exception):
            if str(info).startswith("no such key"):
                return _Told()  # nothing was added yet, or it was deleted
            raise info
        told = dict(zip(info[::2], info[1::2], strict=True))
        self._check_counts(told.get(b"entries-added"))
        first, last = told[b"first-entry"], told[b"last-entry"]
        return _Told(
            told[b"length"],
            told[b"entries-added"],
            parse_id(told[b"last-generated-id"]),
            parse_id(first[0]) if first else None,
            first[0] if first else b"",
            last[0] if last else b"",
        )

    def _check_held(self, partition: int, spot: Spot, told: _Told) -> None:
        """The entry at the place is gone: then none behind it may be."""
        where = f"partition {partition} of {self._told}"
        is_first_behind = told.first is None or told.first > spot.key
        if told.last < spot.key or told.added < spot.nth or (is_first_behind and told.gone < spot.nth):
            raise PositionTrimmed(
                f"{where}: its stream was deleted and made again, or its server lost its last writes: it does not know "
                f"entry {spot.id} any more, which was read"
            )
        if is_first_behind and told.gone > spot.nth:
            raise PositionTrimmed(f"{where}: {told.gone - spot.nth} entries behind {spot.id} were trimmed")

    def _count(self, partition: int, first: str, last: str) -> int:
        key, counted = self.key_of(partition), 0
        while True:
            found, until = self._server.run(COUNT, [key], [first, last, _COUNTED])
            counted += int(found)
            if found < _COUNTED:
                return counted
            first = f"({until.decode()}"

    def _check_counts(self, added: Any) -> None:
        if added is None or added < 0:
            raise InvalidStream(
                f"{self._told}: this server does not count the entries that it ever held, so that a loss could not be "
                "told; streamiter wants Redis 7 or newer, or Valkey"
            )

    def _check_version(self) -> None:
        if self._server.is_cluster:
            return  # each look at a stream checks its node
        with self._server.calling() as client:
            info = client.execute_command("INFO", "server")
        lines = dict(line.partition(":")[::2] for line in info.decode().split("\r\n") if ":" in line)
        version = lines.get("redis_version", "7")
        if int(version.partition(".")[0]) < 7:
            self._check_counts(None)

    def __repr__(self) -> str:
        return self._told


def _raise_first(*answers: Any) -> None:
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer


def _waits(least: bytes) -> str:
    if not least:
        return (
            "no group of readers is known, so that nothing may go (XINFO GROUPS is empty); let a processor read it, trim "
            "it, or choose when_full=trim"
        )
    return f"its slowest group of readers stands at {least.decode()}; send again when it has read on"
