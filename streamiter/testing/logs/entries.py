"""Rules about entries: what is appended comes back, in its order, whatever it holds."""

from __future__ import annotations

from functools import partial

from streamiter.log import Entry
from streamiter.testing.contract.rule import Rule, rule
from streamiter.testing.logs.rig import LogRig
from streamiter.testing.logs.sharing import all_of, entries, equal, expect, gone, texts

ODD_KEYS = (None, b"", b"k", bytes(range(256)), "né 漢".encode())
ODD_HEADERS = ((), (("a", b"1"),), (("a", b""), ("b", bytes(range(256))), ("a", b"2")), (("né 漢", b"x"), ("", b"")))


@rule()
def entries_come_back(rig: LogRig) -> None:
    """What was appended is read back in its order, under the numbers that append gave, by this handle and by others."""
    numbers = rig.log.append(0, entries("abc")) + rig.log.append(0, entries("d"))
    rig.log.append(1, entries("x"))
    other = rig.another()
    for log in (rig.log, other):
        found = all_of(log, 0)
        equal(texts(found), list("abcd"), "the payloads")
        equal([record.number for record in found], numbers, "the numbers")
        equal({record.shard_id for record in found}, {rig.shard_id(0)}, "the shard of the records")
        equal(texts(all_of(log, 1)), ["x"], "the payloads of another partition")
    expect(numbers == sorted(set(numbers)) and numbers[0] >= 1, f"numbers rise from 1 up, not {numbers}")
    other.close()


@rule()
def anything_can_be_written(rig: LogRig) -> None:
    """Payloads, keys and headers of any bytes come back as they were; no key, and no payload, are not empty ones."""
    written = [
        Entry(payload, key, headers)
        for payload in (None, b"", b"p", bytes(range(256)))
        for key in ODD_KEYS
        for headers in ODD_HEADERS
    ]
    rig.log.append(2, written)
    found = [Entry(record.raw_payload, record.key, record.headers) for record in all_of(rig.log, 2)]
    equal(found, written, "the entries")


@rule()
def large_entries_come_back(rig: LogRig) -> None:
    """An entry as large as the backend takes comes back whole, also among small ones."""
    large = bytes(range(256)) * (rig.most_bytes // 256)
    rig.log.append(0, [Entry(b"a"), Entry(large), Entry(b"b")])
    found = [record.payload for record in all_of(rig.log, 0)]
    equal(list(map(len, found)), [1, len(large), 1], "the lengths")
    expect(found[1] == large, "the large one came back otherwise")


@rule()
def many_come_back(rig: LogRig) -> None:
    """An append of thousands comes back in its order, in pages of any size."""
    payloads = [str(number) for number in range(5000)]
    rig.log.append(1, entries(payloads))
    for limit in (77, 1000, 100_000):
        equal(texts(all_of(rig.log, 1, 0, limit)), payloads, f"the payloads, {limit} at a time")


@rule()
def nothing_can_be_appended(rig: LogRig) -> None:
    """An append of no entries writes none."""
    equal(rig.log.append(0, []), [], "the numbers")
    equal(all_of(rig.log, 0), [], "the entries")


@rule()
def records_are_the_readers(rig: LogRig) -> None:
    """Each look gives records of its own: what one reader writes on them, no other sees."""
    rig.log.append(0, entries("a"))
    first, second = (rig.log.read(0, 0, 1).records[0] for _ in range(2))
    expect(first is not second, "two looks gave the same object")


@rule()
def only_its_partitions_are_known(rig: LogRig) -> None:
    """A partition that is not there is ShardGone, whatever is asked of it, and comes to be by none of that."""
    for partition in (3, 100, -1):
        gone(partial(rig.log.append, partition, entries("a")), f"append to {partition}")
        gone(partial(rig.log.read, partition, 0, 1), f"read of {partition}")
        gone(partial(rig.log.seek, partition, 0), f"seek in {partition}")
        gone(partial(rig.log.ends, partition), f"ends of {partition}")
        gone(partial(rig.log.trim, partition, 1), f"trim of {partition}")
    equal(rig.log.partitions(), 3, "the partitions")


@rule("grows")
def partitions_are_added(rig: LogRig) -> None:
    """Partitions can be added, never taken away; other handles see them."""
    rig.log.append(2, entries("a"))
    other = rig.another()
    equal(other.partitions(), 3, "the partitions")
    rig.log.grow(5)
    rig.log.grow(4)
    for log in (rig.log, other):
        equal(log.partitions(), 5, "the partitions")
        equal([shard.id for shard in log.list_shards(None).shards], list("01234"), "the shards")
    other.append(4, entries("b"))
    equal(texts(all_of(rig.log, 4)), ["b"], "the entries of a new partition")
    equal(texts(all_of(rig.log, 2)), ["a"], "the entries of an old one")
    other.close()


@rule()
def it_has_a_name(rig: LogRig) -> None:
    """Each handle on the log gives the same name, which tells nothing that is secret."""
    other = rig.another()
    equal(other.name, rig.log.name, "the name")
    expect(bool(rig.log.name) and "\n" not in repr(rig.log), "the name, and what it looks like, are one line")
    other.close()


@rule()
def closing_twice_is_fine(rig: LogRig) -> None:
    """Closing lets go of what was opened, more than once too; other handles stay, and a call opens it again."""
    other = rig.another()
    other.append(0, entries("a"))
    other.close()
    other.close()
    equal(texts(all_of(rig.log, 0)), ["a"], "the entries")
    equal(texts(all_of(other, 0)), ["a"], "the entries, by the handle that was closed")
    other.close()


ENTRIES: tuple[Rule[LogRig], ...] = (
    entries_come_back,
    anything_can_be_written,
    large_entries_come_back,
    many_come_back,
    nothing_can_be_appended,
    records_are_the_readers,
    only_its_partitions_are_known,
    partitions_are_added,
    it_has_a_name,
    closing_twice_is_fine,
)
