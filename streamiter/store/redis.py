"""The Redis store: rows as hashes in Redis or Valkey, compared and set by scripts."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from socket import gethostname
from typing import Any
from urllib.parse import urlsplit

from streamiter.errors import Conflict, InvalidStore, StreamiterError, Throttled
from streamiter.redis_server import Script, Server, host_of, plain
from streamiter.source.sharing import Guard
from streamiter.store.base import CALL_SECONDS, LEASES, Announcement, Announcer, Row, Store, Table, Write, next_version

_PAGE = 500
_CTRL_ENTRIES = 100  # announcements that are kept: who looks late looks at the rows anyway
_BLOCK_MS = 2000
_LEFT_MS = 10_000  # for so long what a worker says as it leaves stands, where nobody says more
_VERSION = "version"
_ADMIN = "admin"  # in the place of a lease's key; a lease that is called so is written otherwise
ADMIN_MS = 60_000

# KEYS: the row, and the set that names the table's rows. ARGV: the version expected ("" for none), the row's key, then the
# hash as it is to be. Gives what stands where that was not as expected.
_WRITE = Script("""
local version = redis.call('HGET', KEYS[1], 'version') or ''
if version ~= ARGV[1] then return {0, redis.call('HGETALL', KEYS[1])} end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('SADD', KEYS[2], ARGV[2])
return {1}
""")
# KEYS: a lock. ARGV: who had it.
_LET_GO = Script("if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end")
_DELETE = Script("""
local version = redis.call('HGET', KEYS[1], 'version') or ''
if version ~= ARGV[1] then return {0, redis.call('HGETALL', KEYS[1])} end
redis.call('DEL', KEYS[1])
redis.call('SREM', KEYS[2], ARGV[2])
return {1}
""")


class RedisStore(Store, Announcer):
    """Rows in Redis or Valkey, of version 7 or newer. A lease's row is the hash `__lock:{app}.{stream}.SHARD`.

    Give the server an append-only file: rows that a restart forgets are checkpoints that are lost. Where a replica takes over,
    it may lack the last writes; then two workers can hold a lease until the next renewal, and the fence tells them apart.
    """

    def __init__(self, url: str, *, call_seconds: float = CALL_SECONDS) -> None:
        self._told = f"RedisStore('{host_of(url)}{urlsplit(url).path}')"
        server_url, is_cluster = _without_cluster(url)
        self._server = Server(server_url, self._told, InvalidStore, call_seconds=call_seconds, is_cluster=is_cluster)
        self._identity: str | None = None

    def scan(self, table: Table) -> list[Row]:
        """All rows, page by page."""
        rows: list[Row] = []
        with self._server.calling() as client:
            keys = client.sscan_iter(_index(table), count=_PAGE)
            while page := [key.decode() for key in islice(keys, _PAGE)]:
                pipeline = client.pipeline(transaction=False)
                for key in page:
                    pipeline.hgetall(_place(table, key))
                found = zip(page, pipeline.execute(), strict=True)
                rows += [_to_row(key, told) for key, told in found if told]
        return list({row.key: row for row in rows}.values())  # SSCAN may give a key twice

    def read(self, table: Table, key: str) -> Row | None:
        """One row."""
        with self._server.calling() as client:
            told = client.hgetall(_place(table, key))
        return _to_row(key, told) if told else None

    def write(self, table: Table, row: Row, expected: int | None) -> Row:
        """Compares and sets in one script."""
        answer = self._server.run(_WRITE, *_write_call(table, Write(row, expected)))
        return _written(Write(row, expected), answer)

    def write_all(self, table: Table, writes: Sequence[Write]) -> list[Row | StreamiterError]:
        """All of them sent at once; each is a script of its own. A cluster's client sends scripts one by one."""
        if self._server.is_cluster:
            return super().write_all(table, writes)
        answers = self._server.run_all(_WRITE, [_write_call(table, write) for write in writes])
        return [_caught(_written, write, answer) for write, answer in zip(writes, answers, strict=True)]

    def delete(self, table: Table, key: str, expected: int) -> None:
        """Compares and removes in one script."""
        answer = self._server.run(_DELETE, [_place(table, key), _index(table)], [expected, key])
        if not answer[0]:
            raise Conflict(key, expected, _standing(key, answer))

    def tables(self, kind: str) -> list[Table]:
        """The tables that have rows: goes through all keys of the database."""
        with self._server.calling() as client:
            found = [key.decode() for key in client.scan_iter(f"__rows:{plain(kind)}:*", count=_PAGE)]
        scopes = [re.fullmatch(r"__rows:[^:]*:\{(.*)\.(.*)\}", key, re.DOTALL) for key in found]
        return sorted(Table(kind, _named(scope[1]), _named(scope[2])) for scope in scopes if scope)

    def announce(self, told: Announcement) -> None:
        """`__beat:` and `__memb:`, or `__lead:`, for people who look; `__ctrl:` for the other workers."""
        scope = _scope_of(told)
        lasts_ms = round(told.valid_seconds * 1000) or 1
        with self._server.calling() as client:
            pipeline = client.pipeline(transaction=False)
            if told.stream:
                members = {"partitions": dict(sorted(told.leases.items())), "told_by": told.worker}
                # Each worker tells it anew while it lives. Of the last ones that leave at once, none hears of the other.
                pipeline.set(f"__memb:{scope}", json.dumps(members), px=lasts_ms if told.valid_seconds else _LEFT_MS)
            elif told.worker in told.leases.values():
                pipeline.set(f"__lead:{plain(told.app)}", told.worker, px=lasts_ms)
            beat = f"__beat:{scope}.{told.worker}"
            if not told.valid_seconds:
                pipeline.delete(beat)
            else:
                pipeline.set(
                    beat, json.dumps([key for key, who in told.leases.items() if who == told.worker]), px=lasts_ms
                )
            if told.what:
                said: Any = {"what": told.what, "worker": told.worker, **({"to": told.to} if told.to else {})}
                pipeline.xadd(f"__ctrl:{scope}", said, maxlen=_CTRL_ENTRIES, approximate=True)
            pipeline.execute()

    def listen(self, me: Announcement, after: str | None, seconds: float) -> tuple[str, list[Announcement]]:
        """XREAD BLOCK on `__ctrl:`."""
        key = f"__ctrl:{_scope_of(me)}"
        with self._server.calling() as client:
            if after is None:
                last = client.xrevrange(key, count=1)
                return (last[0][0].decode() if last else "0-0"), []
            found = client.xread({key: after}, block=max(1, min(round(seconds * 1000), _BLOCK_MS)))
        entries = [entry for _, heard in found or () for entry in heard]
        words = [{name.decode(): value.decode(errors="replace") for name, value in said.items()} for _, said in entries]
        heard = [
            me._replace(worker=word.get("worker", ""), what=word.get("what", ""), to=word.get("to", ""))
            for word in words
        ]
        return (entries[-1][0].decode() if entries else after), heard

    @contextmanager
    def alone(self, table: Table) -> Iterator[None]:
        """`__lock:{app.stream}.admin`: who has it, while it is held. It expires, should its holder die."""
        key, me = f"__lock:{_scope(table)}.{_ADMIN}", f"{gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
        with self._server.calling() as client:
            if not client.set(key, me, nx=True, px=ADMIN_MS):
                other = (client.get(key) or b"another one").decode(errors="replace")
                raise Throttled(
                    f"{self._told}: an operator changes the {table} just now ({other}); try again when that is done. The lock "
                    f"{key} expires within {ADMIN_MS // 1000} s"
                )
        try:
            yield
        finally:
            with suppress(StreamiterError):
                self._server.run(_LET_GO, [key], [me])

    def guard(self, table: Table, key: str, owner: str, fence: int) -> Guard:
        """The lease's row, by its key in the server."""
        if self._identity is None:
            self._identity = self._server.identity()
        return Guard(self._identity, _place(table, key), json.dumps(owner), json.dumps(fence))

    def close(self) -> None:
        """Closes the connections."""
        self._server.close(for_good=True)

    def __repr__(self) -> str:
        return self._told


def _without_cluster(url: str) -> tuple[str, bool]:
    """The URL without `cluster=yes`, and whether it said so."""
    parts = urlsplit(url)
    told = parts.query.split("&")
    others = [pair for pair in told if pair.partition("=")[0] != "cluster"]
    choices = [pair.partition("=")[2] for pair in told if pair.partition("=")[0] == "cluster"]
    if not set(choices) <= {"yes", "no"}:
        raise InvalidStore(f"cluster is yes or no, not {choices[-1]!r}")
    return parts._replace(query="&".join(others)).geturl(), "yes" in choices


def _scope_of(told: Announcement) -> str:
    return ".".join(plain(part) for part in (told.app, told.stream, told.processor) if part)


def _scope(table: Table) -> str:
    # The hash tag: a cluster keeps all rows of a table, and the set that names them, on one node. JSON keeps names apart.
    return "{" + ".".join(plain(part) for part in (table.app, table.stream)) + "}"


def _named(plain: str) -> str:
    return re.sub("%([0-9a-f]{2})", lambda sign: chr(int(sign[1], 16)), plain)


def _place(table: Table, key: str) -> str:
    kind = "__lock" if table.kind == LEASES else f"__{plain(table.kind)}"
    return f"{kind}:{_scope(table)}.{'%61dmin' if key == _ADMIN else key}"


def _index(table: Table) -> str:
    return f"__rows:{plain(table.kind)}:{_scope(table)}"


def _write_call(table: Table, write: Write) -> tuple[list[str], list[Any]]:
    told: list[Any] = [_VERSION, next_version(write.expected)]
    for name, value in write.row.fields.items():
        told += [f".{name}", json.dumps(value)]  # the dot keeps a field named "version" apart
    expected = "" if write.expected is None else write.expected
    return [_place(table, write.row.key), _index(table)], [expected, write.row.key, *told]


def _written(write: Write, answer: Any) -> Row:
    if not answer[0]:
        raise Conflict(write.row.key, write.expected, _standing(write.row.key, answer))
    return write.row._replace(version=next_version(write.expected))


def _caught(call: Callable[[Write, Any], Row], write: Write, answer: Any) -> Row | StreamiterError:
    try:
        return call(write, answer)
    except StreamiterError as error:
        return error


def _standing(key: str, answer: Any) -> Row | None:
    told = answer[1]
    return _to_row(key, dict(zip(told[::2], told[1::2], strict=True))) if told else None


def _to_row(key: str, told: dict[bytes, bytes]) -> Row:
    fields = {name[1:].decode(): json.loads(value) for name, value in told.items() if name.startswith(b".")}
    return Row(key, fields, int(told[_VERSION.encode()]))
