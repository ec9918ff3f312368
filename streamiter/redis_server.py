"""Redis: the way to a Redis or Valkey server, and its refusals in our words; the store and the log go through here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from streamiter.errors import AccessDenied, MissingExtra, StreamiterError, Throttled, TransientError

CALL_SECONDS = 5.0  # no call takes longer: then it is a TransientError
CONNECTIONS = 64

# What a server refuses for a time, by the first word of its answer, and what to do about it.
_FULL = "its memory is full (maxmemory): nothing was written; trim logs, or give it more"
_PASSING = {
    "BUSY": "a script of another client keeps it busy",
    "LOADING": "it loads its data after a start",
    "READONLY": "it is a replica now, and takes no writes: the address is to lead to the primary",
    "MASTERDOWN": "its primary is down",
    "CLUSTERDOWN": "its cluster is down",
    "TRYAGAIN": "its cluster moves keys",
    "MOVED": "it is a node of a cluster, and another one has this key: write ...?cluster=yes in its URL",
    "ASK": "its cluster moves this key to another node",
    "NOREPLICAS": "it lacks replicas to write to (min-replicas-to-write)",
    "MISCONF": "it cannot save its data to disk",
    "UNBLOCKED": "it ended the wait: it became a replica, or the key went",
}
# redis-py takes the first word off the messages that it has classes for.
_WORD_OF = {
    "OutOfMemoryError": "OOM",
    "BusyLoadingError": "LOADING",
    "ReadOnlyError": "READONLY",
    "MasterDownError": "MASTERDOWN",
    "ClusterDownError": "CLUSTERDOWN",
    "TryAgainError": "TRYAGAIN",
    "MovedError": "MOVED",
    "AskError": "ASK",
}


class Script:
    """A Lua script: sent once to each server, called by its hash from then on."""

    def __init__(self, text: str) -> None:
        from hashlib import sha1

        self.text = text
        self.hash = sha1(text.encode(), usedforsecurity=False).hexdigest()


class Server:
    """One Redis or Valkey server, or a cluster of them. Connections open as they are needed.

    Each call is tried once: its caller knows what to do.

    `told` names it in messages, without any password; `refusal` is what an answer becomes that is no passing trouble.
    `is_raw`: answers as the server writes them, for what redis-py makes of streams is slow; a cluster's client has no choice.
    """

    def __init__(
        self,
        url: str,
        told: str,
        refusal: type[StreamiterError],
        *,
        call_seconds: float = CALL_SECONDS,
        db: int | None = None,
        is_raw: bool = False,
        is_cluster: bool = False,
        layout: str = "",
    ) -> None:
        self.is_cluster = is_cluster
        self._url = url
        self._told = told
        self._refusal = refusal
        self._call_seconds = call_seconds
        self._db = db
        self._is_raw = is_raw
        self._layout = layout  # what types its keys have, for who finds another one
        self._client: Any = None
        self._is_closed = False

    @contextmanager
    def calling(self) -> Iterator[Any]:
        """The client; what its calls raise comes in our words."""
        redis = load()
        client: Any = None
        try:
            client = self._open(redis)
            yield client
        except (redis.RedisError, redis.exceptions.RedisClusterException) as error:
            raise self.explained(error) from error
        except (TypeError, ValueError, AttributeError, OSError) as error:
            if self._client is client:
                raise
            # Another thread closed the connections meanwhile: redis-py finds no socket, and says so in many ways.
            raise TransientError(f"{self._told} was closed while it was called") from error

    def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """Runs a script; a server that does not know it, since it was started anew say, is told it."""
        redis = load()
        with self.calling() as client:
            try:
                return client.execute_command("EVALSHA", script.hash, len(keys), *keys, *arguments)
            except redis.exceptions.NoScriptError:
                return client.execute_command("EVAL", script.text, len(keys), *keys, *arguments)

    def run_all(self, script: Script, calls: Sequence[tuple[Sequence[str], Sequence[Any]]]) -> list[Any]:
        """Runs a script several times, by one exchange; an error of any call is raised."""
        redis = load()
        answers: list[Any] = []
        with self.calling() as client:
            pipeline = client.pipeline(transaction=False)
            for keys, arguments in calls:
                pipeline.execute_command("EVALSHA", script.hash, len(keys), *keys, *arguments)
            answers = pipeline.execute(raise_on_error=False)
        for number, (answer, call) in enumerate(zip(answers, calls, strict=True)):
            if isinstance(answer, redis.exceptions.NoScriptError):
                answers[number] = self.run(script, *call)  # it was not run: the server forgot it, or was never told it
            elif isinstance(answer, Exception):
                raise self.explained(answer) from answer
        return answers

    def identity(self) -> str:
        """Which server and database it is, as the server tells it: addresses may be written in many ways."""
        with self.calling() as client:
            told = client.execute_command("INFO", "server")
            db = client.connection_pool.connection_kwargs.get("db") or 0
        run_id = told["run_id"] if isinstance(told, dict) else told.decode().partition("run_id:")[2].split()[0]
        return f"database {db} of server {run_id[:12]}"

    def explained(self, error: Exception) -> StreamiterError:
        """The same error in our words."""
        redis = load()
        known = redis.exceptions
        word = _WORD_OF.get(type(error).__name__, str(error).partition(" ")[0])
        if isinstance(error, known.AuthenticationError | known.NoPermissionError) or word in ("WRONGPASS", "NOPERM"):
            return AccessDenied(f"{self._told} refuses this user: {type(error).__name__}; check its URL and ACL")
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return AccessDenied(
                f"{self._told}: its certificate is not one that this machine trusts; name the authority that signed it by the "
                "environment variable SSL_CERT_FILE"
            )
        if word == "OOM":
            return Throttled(f"{self._told}: {_FULL}")
        if word == "BUSY":
            return Throttled(f"{self._told}: {_PASSING[word]}")
        if word in _PASSING:
            return TransientError(f"{self._told}: {_PASSING[word]}")
        if isinstance(error, known.ConnectionError | known.TimeoutError | known.RedisClusterException):
            return TransientError(f"{self._told}: {type(error).__name__}: is the server reached?")
        if word == "WRONGTYPE":
            told = f": {self._layout}" if self._layout else ""
            return self._refusal(
                f"{self._told}: one of its keys holds a value of another type, which another program wrote{told}. TYPE KEY "
                "tells which one it is: rename or delete that"
            )
        return self._refusal(f"{self._told}: {str(error).partition(' script: ')[0]}")

    def close(self, *, for_good: bool) -> None:
        """Closes the connections; unless it is for good, a later call opens some again."""
        self._is_closed = for_good
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _open(self, redis: Any) -> Any:
        if self._is_closed:
            raise self._refusal(f"{self._told} was closed; open another one")
        if self._client is None:
            client = self._cluster(redis) if self.is_cluster else self._single(redis)
            self._client = client
        return self._client

    # One try: a second one would meet the first one's effects, and the caller knows better what to do then.

    def _single(self, redis: Any) -> Any:
        db = {} if self._db is None else {"db": self._db}
        client = redis.Redis.from_url(self._url, **self._options(redis), **db)
        if self._is_raw:
            client.response_callbacks.clear()
        return client

    def _cluster(self, redis: Any) -> Any:
        import redis.cluster

        # It follows the cluster's word of where a key is (MOVED, ASK): then nothing was done yet.
        return redis.cluster.RedisCluster.from_url(self._url, **self._options(redis))

    def _options(self, redis: Any) -> dict[str, Any]:
        return {
            "socket_timeout": self._call_seconds,
            "socket_connect_timeout": self._call_seconds,
            "retry": redis.retry.Retry(redis.backoff.NoBackoff(), 0),
            "protocol": 2,
            "decode_responses": False,
            "max_connections": CONNECTIONS,
        }


def load() -> Any:
    """The library, where it is installed."""
    try:
        import redis
        import redis.backoff
        import redis.exceptions
        import redis.retry
    except ImportError as error:
        raise MissingExtra("redis", "redis") from error
    return redis


def host_of(url: str) -> str:
    """Where a URL leads, without users and passwords: for messages."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'local'}{f':{parts.port}' if parts.port else ''}"


def plain(name: str) -> str:
    """A name without the signs that keys are put together with."""
    return "".join(f"%{ord(sign):02x}" if sign in "%.{}" else sign for sign in name)
