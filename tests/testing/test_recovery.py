"""Recovery: what there was at any moment since it is on, whatever was written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamiter.testing.tables.beside.recovery import Recovery
from streamiter.testing.tables.changes import Change
from streamiter.testing.truth.records import PackedImages

DAY_US = 86_400_000_000

writes = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([b"a", b"b", b"c"]), st.none() | st.sampled_from([b"1", b"2"])),
    max_size=20,
)


def change(key: bytes, old: bytes | None, new: bytes | None) -> Change:
    return Change("things", {}, None, None, PackedImages(key, new, old))


@given(writes, writes)
def test_every_moment_can_be_gone_back_to(before, after):
    recovery, items, now_us = Recovery(), dict[bytes, bytes](), 0
    moments: list[tuple[int, list[bytes]]] = []
    for is_on, some in ((False, before), (True, after)):
        if is_on:
            recovery.switch(True, None, now_us)
        for later, key, value in some:
            if later and is_on:
                moments.append((now_us, list(items.values())))
            now_us += later
            recovery.note(change(key, items.get(key), value), now_us)
            if value is None:
                items.pop(key, None)
            else:
                items[key] = value
    for at_us, there in moments:
        assert sorted(recovery.items_at(at_us, dict(items))) == sorted(there)
    assert sorted(recovery.items_at(now_us, dict(items))) == sorted(items.values())


def test_what_is_older_than_its_days_is_forgotten():
    recovery = Recovery()
    recovery.switch(True, 1, 0)
    for day in range(5):
        recovery.note(change(b"a", b"%d" % day, b"%d" % (day + 1)), day * DAY_US)
    assert recovery.earliest_us(4 * DAY_US) == 3 * DAY_US
    assert recovery.items_at(3 * DAY_US, {b"a": b"5"}) == [b"4"]
    assert recovery.items_at(0, {b"a": b"5"}) == [b"3"], "the changes of the last day are all that it keeps"
