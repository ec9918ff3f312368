"""The wire: the messages of daemon and child, as values and as lines of JSON, with the standard library alone.

    to the child       Initialize, ProcessRecords, ShutdownRequested, LeaseLost, ShardEnded, Shutdown; Answer to a checkpoint
    to the daemon      Status, when an action is done; Ask, for a checkpoint

A line is UTF-8 and ends with \\n. No other sign ends it: keys may hold U+2028, which some libraries take for the end of a
line. The daemon writes compact JSON with its fields in the recorded order, and writes nulls. Each end ignores lines that
are no messages, and fields that it does not know.

`Form.OLDER` is how the Kinesis Client Library 1.x spoke: a checkpoint's number is in the field `checkpoint`, and
`shutdown` with a reason stands for leaseLost ("ZOMBIE") and shardEnded ("TERMINATE").

A child that several shards share (`--children N`) gets a `shardId` with every message, as its last field. It works on one
action at a time, for one shard; all its questions and answers meanwhile are about that shard.
"""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple, TypeAlias

#: How many bytes a line to the daemon may have by default. A status has about 50, a checkpoint 150.
LINE_LIMIT: Final = 1 << 20

_DECODER: Final = json.JSONDecoder()


class Form(Enum):
    """Which fields and messages a child knows."""

    NEWER = "newer"
    OLDER = "older"


# ---- to the child


class WireRecord(NamedTuple):
    """A record as a child gets it. Records packed into one (by the KPL) share a number and differ in `sub_sequence_number`."""

    data: bytes
    partition_key: str | None
    sequence_number: str | None
    sub_sequence_number: int = 0
    arrival_ms: int | None = None  # since 1970


@dataclass(frozen=True, slots=True)
class Initialize:
    """The first message. The records after this number follow, or those from a named place on, such as TRIM_HORIZON.

    `form` is the daemon's, if the message tells it: the oldest daemons sent the shard's name and nothing else.
    """

    shard_id: str
    sequence_number: str | None = "TRIM_HORIZON"
    sub_sequence_number: int | None = 0
    form: Form | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ProcessRecords:
    records: tuple[WireRecord, ...] | list[WireRecord]
    millis_behind_latest: int | None = None


@dataclass(frozen=True, slots=True)
class ShutdownRequested:
    """The daemon is about to end, or to give the shard to another worker. This is the last chance for a checkpoint."""


@dataclass(frozen=True, slots=True)
class LeaseLost:
    """Another worker has the shard, or may have it. The daemon takes no more checkpoints."""


@dataclass(frozen=True, slots=True)
class ShardEnded:
    """The child has got all records. It has to checkpoint now, else the shard's children do not begin."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The older form of LeaseLost (reason "ZOMBIE") and ShardEnded ("TERMINATE")."""

    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a checkpoint. `error` is None, or a name such as "IllegalArgumentException"; the rest repeats the Ask."""

    sequence_number: str | None = None
    sub_sequence_number: int | str | None = None
    error: str | None = None


Action: TypeAlias = Initialize | ProcessRecords | ShutdownRequested | LeaseLost | ShardEnded | Shutdown
ToChild: TypeAlias = Action | Answer


# ---- to the daemon


@dataclass(frozen=True, slots=True)
class Status:
    """The child has done the action of this name."""

    response_for: str | None


@dataclass(frozen=True, slots=True)
class Ask:
    """The child asks for a checkpoint. None and None stand for the last record that it was given.

    `form` is the child's, if the message tells it: only a child of the older form names the field `checkpoint`. A
    `sub_sequence_number` that is no whole number stays as its text.
    """

    sequence_number: str | None = None
    sub_sequence_number: int | str | None = None
    form: Form | None = None


ToDaemon: TypeAlias = Status | Ask

#: The name by which a child answers each action.
NAMES: Final[Mapping[type[Action], str]] = {
    Initialize: "initialize",
    ProcessRecords: "processRecords",
    ShutdownRequested: "shutdownRequested",
    LeaseLost: "leaseLost",
    ShardEnded: "shardEnded",
    Shutdown: "shutdown",
}


# ---- lines


class Lines:
    """Cuts the bytes of a pipe into lines, at \\n alone. Leaves out a line that is longer than the limit, and counts it."""

    __slots__ = ("_limit", "_parts", "_size", "_skipping", "too_long")

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False
        self.too_long = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The lines that end in this piece, without their \\n. Between two pieces it holds at most `limit` bytes."""
        *whole, rest = piece.split(b"\n")
        for end in whole:
            self._add(end)
            if not self._skipping:
                yield b"".join(self._parts)
            self._forget()
        self._add(rest)

    def rest(self) -> bytes:
        """Takes the bytes behind the last \\n: the pipe has ended, or the caller shows a line before its end comes."""
        rest = b"".join(self._parts)
        self._parts, self._size = [], 0
        return rest

    def _add(self, part: bytes) -> None:
        if self._skipping or not part:
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit:
            self._forget()
            self._skipping = True
            self.too_long += 1

    def _forget(self) -> None:
        self._parts, self._size, self._skipping = [], 0, False


def to_child(message: ToChild, form: Form = Form.NEWER, shard: str | None = None) -> bytes:
    """The daemon's line for a message, as the Java daemon writes it; with `shard`, for a child that several shards share."""
    line = _to_child(message, form)
    if shard is not None and not isinstance(message, Initialize):
        line = b'%b,"shardId":%b}\n' % (line[:-2], _encoded(_text(shard)))
    return line


def _to_child(message: ToChild, form: Form) -> bytes:
    match message:
        case ProcessRecords():
            return _process_records(message)
        case Initialize():
            fields = {
                "shardId": message.shard_id,
                "sequenceNumber": message.sequence_number,
                "subSequenceNumber": message.sub_sequence_number,
            }
            return _compact({"action": "initialize", **fields})
        case Answer() if form is Form.OLDER:
            return _compact({"action": "checkpoint", "checkpoint": message.sequence_number, "error": message.error})
        case Answer():
            number, sub = message.sequence_number, message.sub_sequence_number
            return _compact(
                {"action": "checkpoint", "sequenceNumber": number, "subSequenceNumber": sub, "error": message.error}
            )
        case Shutdown():
            return _compact({"action": "shutdown", "reason": message.reason})
        case LeaseLost() if form is Form.OLDER:
            return _compact({"action": "shutdown", "reason": "ZOMBIE"})
        case ShardEnded() if form is Form.OLDER:
            return _compact({"action": "shutdown", "reason": "TERMINATE"})
        case _:
            return _compact({"action": NAMES[type(message)]})


def answer_name(action: Action, form: Form) -> str:
    """The `responseFor` by which a child of this form answers the action."""
    if form is Form.OLDER and isinstance(action, LeaseLost | ShardEnded):
        return NAMES[Shutdown]
    return NAMES[type(action)]


def from_child(line: bytes) -> ToDaemon | None:
    """The message in a child's line; None if it is none. Ignores text that follows the JSON on its line."""
    fields = _fields(line)
    if fields is None:
        return None
    match fields.get("action"):
        case "status":
            response_for = fields.get("responseFor")
            return Status(response_for if isinstance(response_for, str) else None)
        case "checkpoint":
            return _ask(fields)
        case _:
            return None


def to_daemon(message: ToDaemon, form: Form = Form.NEWER) -> bytes:
    """The child's line for a message. As in the KCL's own children, it begins with \\n, which ends a half-written line."""
    match message:
        case Status():
            fields: dict[str, Any] = {"action": "status", "responseFor": message.response_for}
        case Ask() if (message.form or form) is Form.OLDER:
            fields = {"action": "checkpoint", "checkpoint": message.sequence_number}
        case Ask():
            fields = {
                "action": "checkpoint",
                "sequenceNumber": message.sequence_number,
                "subSequenceNumber": message.sub_sequence_number,
            }
    return b"\n" + json.dumps(fields).encode() + b"\n"


class Told(NamedTuple):
    """A daemon's message, and the shard that it is for: None if the child has one shard alone."""

    message: ToChild
    shard: str | None


def from_daemon(line: bytes, record: Callable[[dict[str, Any]], Any] | None = None) -> Told | None:
    """The message in a daemon's line; None if we know none such. `record` makes a record of its fields."""
    fields = _fields(line)
    if fields is None:
        return None
    message, shard = _from_daemon(fields, record or _wire_record), fields.get("shardId")
    return None if message is None else Told(message, shard if isinstance(shard, str) else None)


def _from_daemon(fields: dict[str, Any], record: Callable[[dict[str, Any]], Any]) -> ToChild | None:
    match fields.get("action"):
        case "processRecords":
            records = list(map(record, fields.get("records") or []))
            return ProcessRecords(records, fields.get("millisBehindLatest"))
        case "initialize":
            shard_id, number = fields.get("shardId"), fields.get("sequenceNumber")
            form = Form.NEWER if "sequenceNumber" in fields else Form.OLDER
            return Initialize(str(shard_id), number, fields.get("subSequenceNumber"), form)
        case "checkpoint":
            number = fields["sequenceNumber"] if "sequenceNumber" in fields else fields.get("checkpoint")
            return Answer(number, fields.get("subSequenceNumber"), fields.get("error"))
        case "shutdown":
            return Shutdown(str(fields.get("reason")))
        case name:
            return _PLAIN[name]() if isinstance(name, str) and name in _PLAIN else None


_PLAIN: Final[Mapping[str, type[ShutdownRequested] | type[LeaseLost] | type[ShardEnded]]] = {
    "shutdownRequested": ShutdownRequested,
    "leaseLost": LeaseLost,
    "shardEnded": ShardEnded,
}


def _fields(line: bytes) -> dict[str, Any] | None:
    try:
        text = line.decode()
        # Most lines begin with {. We strip the others alone, since that copies the line: a message may have megabytes.
        value, _ = _DECODER.raw_decode(text if text.startswith("{") else text.lstrip(" \t\r\n\ufeff"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _ask(fields: dict[str, Any]) -> Ask:
    if "sequenceNumber" in fields:
        number, form = fields["sequenceNumber"], Form.NEWER
    elif "checkpoint" in fields:
        number, form = fields["checkpoint"], Form.OLDER
    else:
        return Ask(None, _sub(fields.get("subSequenceNumber")))
    return Ask(None if number is None else _as_text(number), _sub(fields.get("subSequenceNumber")), form)


def _sub(value: object) -> int | str | None:
    """A whole number, which may be written as text: children have written both, and Java's daemon took both."""
    if value is None or type(value) is int:
        return value
    text = _as_text(value)
    return (
        int(text) if len(text) <= 20 and text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() else text
    )


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _process_records(message: ProcessRecords) -> bytes:
    # Payloads stay bytes, and are copied only once, into the line: a message may have megabytes.
    parts, opening = [b'{"action":"processRecords","records":['], b'{"data":"'
    for payload, key, number, sub, arrival_ms in message.records:
        told = (
            f'","partitionKey":{_text(key)},"sequenceNumber":{_text(number)},'
            f'"approximateArrivalTimestamp":{_number(arrival_ms)},"subSequenceNumber":{sub},"action":"record"}}'
        )
        parts += opening, b2a_base64(payload, newline=False), _encoded(told)
        opening = b',{"data":"'
    parts.append(b'],"millisBehindLatest":%b}\n' % _number(message.millis_behind_latest).encode())
    return b"".join(parts)


def _wire_record(fields: dict[str, Any]) -> WireRecord:
    return WireRecord(
        a2b_base64(fields.get("data") or ""),
        fields.get("partitionKey"),
        fields.get("sequenceNumber"),
        fields.get("subSequenceNumber") or 0,
        fields.get("approximateArrivalTimestamp"),
    )


def _compact(fields: dict[str, Any]) -> bytes:
    return _encoded(json.dumps(fields, ensure_ascii=False, separators=(",", ":"))) + b"\n"


def _text(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # a key holds half of a surrogate pair: UTF-8 cannot write it, but JSON's escapes can
        return "".join(sign if not "\ud800" <= sign <= "\udfff" else f"\\u{ord(sign):04x}" for sign in text).encode()
