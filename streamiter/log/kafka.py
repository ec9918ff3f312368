"""The Kafka log: a topic's partitions, read by `assign` and written by an idempotent producer; never by a group's protocol."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as FuturesTimeout
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from streamiter.clock import Clock, SystemClock, microseconds
from streamiter.errors import (
    AccessDenied,
    InvalidOption,
    InvalidStream,
    PositionTrimmed,
    ShardGone,
    StreamiterError,
    TransientError,
)
from streamiter.log.base import Ends, Entry, Log, Slice
from streamiter.log.kafka_errors import confluent, in_our_words, kafka_errors
from streamiter.log.kafka_lanes import Lanes
from streamiter.log.kafka_messages import Deliveries
from streamiter.urls import options_of

CALL_SECONDS = 5.0  # no call takes longer; an append as long as the client's own tries, `delivery.timeout.ms`
MOST_READERS = 4  # consumers: as many readers can be at different places of a partition without seeking back and forth
FORM = "kafka://HOST:9092/TOPIC"


class KafkaLog(Log):
    """A topic. Entries are stamped by the broker where the topic says so, as those do that `grow` makes, else by their senders.

    What a transaction wrote comes once it is committed, and what was aborted never does; while a transaction is open, its
    partition is not at its tip, so that what it holds comes in its turn. An entry's number is the offset behind it, which is
    what Kafka's groups commit. `config` goes to the client as it is. With `commits`, an app's places are also committed, for
    the group that is called as its processor, so that Kafka's own tools show the lag; nothing reads them back.
    """

    lateness = 1.0  # brokers' clocks differ, and senders' do
    grain_us = 1000
    poll_interval = 0.1
    idle_interval = 0.5
    ends_are_entries = False  # transactions and compaction leave holes

    def __init__(
        self,
        servers: str,
        topic: str,
        *,
        config: Mapping[str, Any] | None = None,
        commits: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.publishes = commits
        self._servers = servers
        self._topic = topic
        self._config = {"bootstrap.servers": servers, "client.id": "streamiter", "log_level": 0, **(config or {})}
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}
        self._readers: list[Lanes] = []
        self._name: str | None = None
        self._denied: AccessDenied | None = None
        self._count = 0  # of partitions, as far as it was asked for

    # -- the contract

    @property
    def name(self) -> str:
        """The cluster, the topic, and its id: one that is deleted and made again is another one."""
        if self._name is None:
            found = self._metadata()
            self._name = f"kafka:{found.cluster_id}/{self._topic}{self._topic_id()}"
        return self._name

    def partitions(self) -> int:
        """How many the topic has."""
        self._count = len(self._metadata().topics[self._topic].partitions)
        return self._count

    def grow(self, partitions: int) -> None:
        """Creates the topic, by the broker's own clock and defaults, or partitions of it."""
        admin, new = self._client("admin"), confluent().admin
        found = self._standing()
        if found == 0:
            settings = {"message.timestamp.type": "LogAppendTime"}
            with suppress(InvalidStream):  # another one made it just now
                self._done(admin.create_topics([new.NewTopic(self._topic, partitions, config=settings)]))
        elif found < partitions:
            self._done(admin.create_partitions([new.NewPartitions(self._topic, partitions)]))
        ends = self._clock.monotonic() + CALL_SECONDS
        while not self._answers(partitions):  # all brokers have to hear of it
            if self._clock.monotonic() >= ends:
                raise TransientError(f"{self!r}: its {partitions} partitions are not there after {CALL_SECONDS:.0f} s")
            self._clock.sleep(0.05)

    def _answers(self, partitions: int) -> bool:
        """Whether so many partitions are there, and each is led by a broker that knows that it does so."""
        if self._standing() < partitions:
            return False
        try:
            for partition in range(partitions):
                self.ends(partition)
        except TransientError:
            return False
        return True

    def _standing(self) -> int:
        """How many partitions there are; 0 where there is no such topic."""
        try:
            return self.partitions()
        except InvalidStream:
            return 0

    def append(self, partition: int, entries: Sequence[Entry]) -> list[int]:
        """Sends all at once, and waits until every in-sync replica has them."""
        self._check(partition)
        producer, told = self._client("writing"), Deliveries(len(entries))
        for at, entry in enumerate(entries):
            report = told.reporter(at)
            while True:
                try:
                    producer.produce(
                        self._topic,
                        entry.payload,
                        entry.key,
                        partition,
                        headers=list(entry.headers),
                        on_delivery=report,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)  # the client's queue is full: what is in it has to go first
                except confluent().KafkaException as error:
                    if error.args[0].name() != "_UNKNOWN_PARTITION":
                        raise in_our_words(error.args[0], self._where(partition)) from None
                    with self._errors(
                        self._where(partition)
                    ):  # it was added lately, and the client has not heard of it
                        producer.list_topics(self._topic, timeout=CALL_SECONDS)
        while told.missing:
            producer.poll(0.1)
        if told.error is not None:
            raise in_our_words(told.error, self._where(partition))
        return told.numbers

    def read(self, partition: int, after: int, limit: int) -> Slice:
        """From what the consumer fetched, which goes on by itself."""
        self._check(partition)
        lanes = self._reader(partition, after)
        seen_us = microseconds(self._clock.now())
        with self._errors(self._where(partition)):
            last = 0
            if lanes.place(partition) != after:
                first, last = self._watermarks(partition)
                if not first <= after <= last:
                    raise PositionTrimmed(f"{self._where(partition)}: what follows entry {after} is not held")
            records, end = lanes.take(partition, after, limit, last, CALL_SECONDS)
            if not records:  # asks whether that is still so: what the consumer knows may be some time old
                _, last = self._watermarks(partition)
                records, end = lanes.take(partition, after, limit, last, CALL_SECONDS)
            is_tip = not records and lanes.written(partition) <= end
        return Slice(records, is_tip, seen_us)

    def seek(self, partition: int, time_us: int) -> int:
        """By the broker's index of times."""
        self._check(partition)
        with self._errors(self._where(partition)):
            first, last = self._watermarks(partition)
            if time_us <= 0:
                return first
            asked = confluent().TopicPartition(self._topic, partition, -(-time_us // 1000))
            (found,) = self._client("asking").offsets_for_times([asked], timeout=CALL_SECONDS)
        return last if found.offset < 0 else found.offset

    def ends(self, partition: int) -> Ends:
        """The broker's own bounds: where transactions or a compaction left holes, there need be no entry at them."""
        self._check(partition)
        with self._errors(self._where(partition)):
            first, last = self._watermarks(partition)
        return Ends(None, None) if first == last else Ends(first + 1, last)

    def trim(self, partition: int, before: int) -> None:
        """Asks the broker to delete what came before."""
        self._check(partition)
        place = confluent().TopicPartition(self._topic, partition, max(0, before - 1))
        self._done(self._client("admin").delete_records([place]))

    def publish(self, group: str, numbers: Mapping[str, int]) -> None:
        """Commits, for this group, the numbers of the last entries read, so that Kafka's own tools show how far it lags."""
        kafka = confluent()
        with self._lock:
            client = self._clients.get(group) or kafka.Consumer({**self._config, **_READING, "group.id": group})
            self._clients[group] = client
        offsets = [kafka.TopicPartition(self._topic, int(shard_id), number) for shard_id, number in numbers.items()]
        with self._errors(f"group {group!r} of {self!r}"):
            client.commit(offsets=offsets, asynchronous=False)

    def now_us(self) -> int | None:
        """This machine's time: Kafka tells none of its own."""
        return microseconds(self._clock.now())

    def close(self) -> None:
        """Ends the clients: what was sent was waited for. Whoever uses the log again opens it anew."""
        with self._lock:
            readers, self._readers = self._readers, []
            clients, self._clients = self._clients, {}
        for lanes in readers:
            lanes.close()
        for kind, client in clients.items():
            if kind not in ("admin", "writing"):
                client.close()

    # -- inside

    def _client(self, kind: str) -> Any:
        with self._lock:
            if kind not in self._clients:
                self._clients[kind] = self._make(kind)
            return self._clients[kind]

    def _make(self, kind: str) -> Any:
        kafka = confluent()
        made = {"writing": kafka.Producer, "admin": kafka.admin.AdminClient}.get(kind, kafka.Consumer)
        try:
            return made({**self._config, **_CONFIGS[kind], "error_cb": self._note})
        except kafka.KafkaException as error:
            raise InvalidOption(f"{self!r}: the client refuses its options: {error.args[0].str()}") from None

    def _note(self, error: Any) -> None:
        """What the client tells aside: it tries again for ever where it is not let in."""
        found = in_our_words(error, repr(self))
        if isinstance(found, AccessDenied):
            self._denied = found

    def _reader(self, partition: int, after: int) -> Lanes:
        """Who reads the partition at this place; else who does not read it yet: several readers of a log are no rivals."""
        with self._lock:
            for lanes in self._readers:
                if lanes.place(partition) == after:
                    return lanes
            for lanes in self._readers:
                if lanes.place(partition) is None:
                    return lanes
            if len(self._readers) < MOST_READERS:
                self._readers.append(Lanes(self._make("reading"), self._topic, self._clock))
            else:
                self._readers.append(self._readers.pop(0))
            return self._readers[-1]

    def _check(self, partition: int) -> None:
        if partition < 0 or (partition >= self._count and partition >= self.partitions()):
            raise ShardGone(f"{self!r} has no partition {partition}, but {self._count}, from 0 on")

    def _metadata(self) -> Any:
        with self._errors(repr(self)):
            found = self._client("asking").list_topics(self._topic, timeout=CALL_SECONDS)
        error = found.topics[self._topic].error
        if error is not None:
            raise in_our_words(error, repr(self))
        return found

    def _watermarks(self, partition: int) -> tuple[int, int]:
        """The first number that is held, and the one behind the last that is committed."""
        place = confluent().TopicPartition(self._topic, partition)
        found = self._client("asking").get_watermark_offsets(place, timeout=CALL_SECONDS)
        if found is None:
            raise TransientError(f"{self._where(partition)}: no broker answered for {CALL_SECONDS:.0f} s")
        first, last = found
        return first, last

    @contextmanager
    def _errors(self, where: str) -> Iterator[None]:
        try:
            with kafka_errors(where):
                yield
        except TransientError:
            if self._denied is not None:
                raise self._denied from None
            raise

    def _done(self, futures: Mapping[Any, Any]) -> None:
        with self._errors(repr(self)):
            for future in futures.values():
                self._result(future)

    def _result(self, future: Any) -> Any:
        try:
            return future.result(timeout=CALL_SECONDS)
        except FuturesTimeout:
            raise TransientError(f"{self!r}: no broker answered for {CALL_SECONDS:.0f} s") from None

    def _topic_id(self) -> str:
        """The id that the topic got when it was made; brokers before 3.1 have none."""
        kafka = confluent()
        try:
            asked = self._client("admin").describe_topics(
                kafka.TopicCollection([self._topic]), request_timeout=CALL_SECONDS
            )
            with self._errors(repr(self)):
                return f"@{self._result(asked[self._topic]).topic_id}"
        except TransientError:
            raise
        except StreamiterError:
            return ""

    def _where(self, partition: int) -> str:
        return f"partition {partition} of {self!r}"

    def __repr__(self) -> str:
        return f"KafkaLog({self._servers!r}, {self._topic!r})"


_READING = {
    "group.id": "streamiter",  # the client wants one; nothing is committed for it
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "allow.auto.create.topics": False,
    "queued.max.messages.kbytes": 16_384,
    "fetch.queue.backoff.ms": 5,  # once that much waits, for so long nothing more is fetched; by default for a second
    "fetch.wait.max.ms": 100,  # for so long a partition that is wanted anew may have to wait
}
# A broker answers a connection's requests in turn, and lets a fetch wait for news: who asks for other things does it aside.
_CONFIGS: dict[str, dict[str, Any]] = {
    "reading": _READING,
    "asking": _READING,
    "writing": {"enable.idempotence": True, "linger.ms": 5, "delivery.timeout.ms": 30_000},
    "admin": {},
}


def open_kafka(url: str) -> KafkaLog:
    """A log from its URL: `kafka://HOST:9092,HOST:9092/TOPIC?offsets=commit&security.protocol=SSL`.

    An option with a dot is the client's own.
    """
    parts = urlsplit(url)
    user, _, servers = parts.netloc.rpartition("@")
    topic = unquote(parts.path.strip("/"))
    if not servers or not topic or "/" in topic:
        raise InvalidStream(f"a Kafka log is written {FORM}, not with {'no server' if not servers else 'no topic'}")
    options = options_of(parts.query, "kafka", None)
    offsets = options.pop("offsets", "keep")
    if offsets not in ("keep", "commit"):
        raise InvalidStream(f"offsets is keep or commit, not {offsets!r}")
    for name in options:
        if "." not in name:
            raise InvalidStream(
                f"kafka:// has no option {name!r}; it has offsets, and the client's own, as security.protocol"
            )
        if "password" in name or "secret" in name:
            raise InvalidStream(
                f"{name} does not stand among a URL's options: write kafka://USER:PASSWORD@HOST:9092/TOPIC in an environment "
                f"variable, and name that as env:NAME"
            )
    if user:
        name, _, password = user.partition(":")
        options = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            **options,
            "sasl.username": unquote(name),
            "sasl.password": unquote(password),
        }
    return KafkaLog(servers, topic, config=options, commits=offsets == "commit")
