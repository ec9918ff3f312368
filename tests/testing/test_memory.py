"""Memory: what a million records must not hold twice."""

from __future__ import annotations

import tracemalloc

from streamiter.testing.truth import rendering


def test_a_record_and_its_table_hold_the_same_bytes(orders):
    orders.put("a", n={"N": "1"})
    orders.put("a", n={"N": "2"})
    first, second = orders.sim.table("orders").history
    assert first.new_json is second.old_json
    assert second.new == {"id": "a", "n": 2}


def test_the_json_of_old_records_is_made_anew_and_is_the_same(orders, monkeypatch):
    orders.put("a", n={"N": "1"})
    [record] = orders.sim.table("orders").history
    before = record.body
    monkeypatch.setattr(orders.sim.table("orders")._truth.rendered, "_most_bytes", len(before))
    orders.put("b")
    assert record.rendered is None
    assert record.body == before
    assert [told["eventName"] for told in orders.records()] == ["INSERT", "INSERT"]


def test_an_item_and_its_record_take_600_bytes(orders, monkeypatch):
    monkeypatch.setattr(orders.sim.table("orders")._truth.rendered, "_most_bytes", 0)
    count, text = 2000, {"S": "x" * 80}

    def write(start: int) -> None:
        for batch in range(start, start + count, 25):
            items = [{"id": {"S": f"key-{number:08d}"}, "text": text} for number in range(batch, batch + 25)]
            requests = {"orders": [{"PutRequest": {"Item": item}} for item in items]}
            orders.tables.batch_write_item(RequestItems=requests)

    write(0)
    orders.sim.calls.clear()
    tracemalloc.start()
    try:
        write(count)
        orders.sim.calls.clear()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held / count < 600
    assert rendering.RENDERED_BYTES < 32 << 20
