"""Scripts: the messages of a daemon to a child, from initialize to the end of input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from streamiter.multilang import wire
from streamiter.multilang.wire import WireRecord

FIRST_NUMBER = 49680362341682385674651797956282503902016020824197169154
FIRST_MS = 1_795_077_443_237
SHARD = "shardId-000000000000"

MANY = 10_000  # the most records in a page of Kinesis
LARGE_BYTES = 1 << 20  # the most bytes in a record
LINE_BYTES = 5 << 20

#: Signs that some libraries take for the end of a line, or cannot write: separators, a quote, two of UTF-16's units, none.
KEYS = (
    "a\u2028b",
    "a\u2029b",
    "a\u0085b",
    'say "key"',
    "\\ / \t",
    "schlüssel",
    "\U0001f511",
    "k" * 256,
    "\x7f",
    "None",
)


@dataclass(frozen=True, slots=True)
class Step:
    """One action, and how it differs from an ordinary one."""

    action: wire.Action
    about: str = ""
    has_more_fields: bool = False  # with a field that no daemon writes yet


@dataclass(frozen=True, slots=True)
class Scenario:
    """The script for one child."""

    name: str
    steps: Sequence[Step]
    throttled: int = 0  # how many checkpoints are answered with ThrottlingException
    is_lost: bool = False  # every checkpoint is answered with ShutdownException
    is_cut: bool = False  # the input ends right after the last action, before its answer
    is_rare: bool = False  # real streams hardly ever do this, so a mistake is a warning


def scenarios(payloads: Sequence[bytes] = ()) -> list[Scenario]:
    """All scenarios. `payloads` are records that the processor can read; without them, records hold bytes of all kinds."""
    make = _Records(payloads)
    start, resumed = (
        Step(wire.Initialize(SHARD)),
        Step(wire.Initialize(SHARD, str(FIRST_NUMBER), 0), "with a checkpoint"),
    )
    ended, lost, leave = Step(wire.ShardEnded()), Step(wire.LeaseLost()), Step(wire.ShutdownRequested())
    nothing = _batch([], "no records")
    later = [replace(step, has_more_fields=True, about="one more field") for step in (start, make.few(), ended)]
    unknown = Step(wire.Initialize(SHARD, None, None), "null fields")
    return [
        Scenario("a shard to its end", [start, *make.kinds(), ended]),
        Scenario("a stop", [resumed, make.few(), make.few(), leave, lost]),
        Scenario("a lost lease", [start, make.few(), lost], is_lost=True),
        Scenario("a lease lost at once", [start, lost]),
        Scenario("a throttled table", [start, make.few(), make.few(), ended], throttled=1),
        Scenario("a shard without records", [start, ended]),
        Scenario("a daemon that dies while the child waits", [start, make.few()]),
        Scenario("a daemon that dies while the child works", [start, make.few()], is_cut=True),
        Scenario("empty batches (rare)", [start, nothing, make.few(), nothing, ended], is_rare=True),
        Scenario("null fields (rare)", [unknown, make.nulls(), ended], is_rare=True),
        Scenario("fields of a later version (rare)", later, is_rare=True),
    ]


def _batch(records: list[WireRecord], about: str = "", behind_ms: int | None = 0) -> Step:
    return Step(wire.ProcessRecords(records, behind_ms), about)


class _Records:
    """Records, in the order of their numbers."""

    def __init__(self, payloads: Sequence[bytes]) -> None:
        self._payloads = payloads
        self._next = count()

    def few(self) -> Step:
        """A step with three ordinary records."""
        return _batch([self._one() for _ in range(3)], behind_ms=1500)

    def kinds(self) -> list[Step]:
        """A step for each special kind of record."""
        steps = [
            self.few(),
            _batch([self._one(key=key) for key in KEYS], "keys with U+2028, quotes and other signs"),
            _batch(self._packed(5), "five records that were packed into one: one number, sub-sequence numbers"),
        ]
        if not self._payloads:
            steps.append(_batch([self._one(b"")], "a record without a byte"))
            steps.append(_batch([self._one(bytes(range(256)))], "bytes that are no text"))
        steps.append(_batch([self._one() for _ in range(MANY)], f"{MANY:,} records"))
        steps.append(_batch(self._large(), f"a line of more than {LINE_BYTES >> 20} MB"))
        return steps

    def nulls(self) -> Step:
        """A record whose fields are all null but its number."""
        return _batch([self._one()._replace(partition_key=None, arrival_ms=None)], "null fields", None)

    def _one(self, payload: bytes | None = None, key: str = "key-1") -> WireRecord:
        number = next(self._next)
        if payload is None:
            payload = self._payloads[number % len(self._payloads)] if self._payloads else b'{"number": %d}' % number
        return WireRecord(payload, key, str(FIRST_NUMBER + 1 + number), 0, FIRST_MS + number)

    def _packed(self, size: int) -> list[WireRecord]:
        first = self._one()
        return [first._replace(sub_sequence_number=sub) for sub in range(size)]

    def _large(self) -> list[WireRecord]:
        """So many records that their line has LINE_BYTES: of a megabyte each, or of the caller's payloads."""
        if not self._payloads:
            return [self._one(b"x" * LARGE_BYTES) for _ in range(LINE_BYTES // LARGE_BYTES)]
        records: list[WireRecord] = []
        size = 0
        while size < LINE_BYTES:
            records.append(self._one())
            size += len(records[-1].data) * 4 // 3 + 200
        return records
