"""Rules about rows: what is written stands, under conditions, and nothing else changes."""

from __future__ import annotations

from functools import partial
from typing import Any

from streamiter.errors import StreamiterError
from streamiter.store import Row, Table, Write
from streamiter.store.base import LEASES
from streamiter.testing.contract.rule import Rule, rule
from streamiter.testing.stores.rig import StoreRig
from streamiter.testing.stores.sharing import SHOP, WORKERS, conflict, equal, lease, seen

ODD_NAMES = ("plain", "with blank", "a/b", "a.b", "{a}", "%41", "'; --", 'say "so"', "né 漢", "a:b|c", "_", "%")


@rule()
def new_rows_stand(rig: StoreRig) -> None:
    """A row that was written where none stood is read back as it was written, with version 1."""
    row = lease("S1", owner="w", checkpoint="17", fence=3, parents=["S0"], progress={"since": 2, "of": ["a", None]})
    written = rig.store.write(SHOP, row, None)
    equal(written, row._replace(version=1), "the row that write gives")
    with rig.another() as other:
        for store in (rig.store, other):
            equal(store.read(SHOP, "S1"), written, "the row that read gives")
            equal(seen(store, SHOP), {"S1": written}, "the rows that scan gives")
            equal(store.read(SHOP, "S2"), None, "a row that was never written")


@rule()
def values_survive(rig: StoreRig) -> None:
    """Texts, whole numbers of 63 bits, truth, nothing, lists and objects come back as they were."""
    values: list[Any] = [
        "",
        "né 漢 \"'\\ \n",
        0,
        -1,
        2**63 - 1,
        True,
        False,
        None,
        [],
        {},
        [1, ["a"], {"b": None}],
        {"a": {"b": [1]}},
    ]
    fields = {f"f{index}": value for index, value in enumerate(values)} | {"version": 7, "fields": "x", "owner": "y"}
    rig.store.write(WORKERS, Row("w1", fields), None)
    found = rig.store.read(WORKERS, "w1")
    equal(None if found is None else dict(found.fields), fields, "the fields")
    for name, value in {} if found is None else found.fields.items():
        equal(type(value), type(fields[name]), f"the type of {value!r}")
    row = lease("S1", checkpoint="né", completed=True, fence=2**62, progress=fields)
    rig.store.write(SHOP, row, None)
    equal(rig.store.read(SHOP, "S1"), row._replace(version=1), "a lease's row")


@rule()
def writes_need_the_version(rig: StoreRig) -> None:
    """A row changes only for who names the version that stands; the refusal brings that row; versions rise by one."""
    first = rig.store.write(SHOP, lease("S1", owner="a"), None)
    equal(conflict(lambda: rig.store.write(SHOP, lease("S1", owner="b"), None)), first, "the row that stood in the way")
    second = rig.store.write(SHOP, lease("S1", owner="b"), 1)
    equal(second.version, 2, "the version after a change")
    for stale in (1, 3, 0):
        found = conflict(partial(rig.store.write, SHOP, lease("S1", owner="c"), stale))
        equal(found, second, "the row that stood in the way")
    equal(conflict(lambda: rig.store.write(SHOP, lease("S9"), 1)), None, "a change of a row that is not there")
    equal(seen(rig.store, SHOP), {"S1": second}, "the rows after refused writes")


@rule()
def whole_rows_are_replaced(rig: StoreRig) -> None:
    """A write replaces all of a row: a field that it does not name is gone."""
    rig.store.write(WORKERS, Row("w", {"a": 1, "b": 2}), None)
    rig.store.write(WORKERS, Row("w", {"b": 3}), 1)
    equal(rig.store.read(WORKERS, "w"), Row("w", {"b": 3}, 2), "the row")
    rig.store.write(SHOP, lease("S1", owner="a"), None)
    rig.store.write(SHOP, lease("S1"), 1)
    equal(rig.store.read(SHOP, "S1"), lease("S1")._replace(version=2), "a lease that was released")


@rule()
def deletes_need_the_version(rig: StoreRig) -> None:
    """A row is removed only for who names the version that stands."""
    row = rig.store.write(SHOP, lease("S1"), None)
    equal(conflict(lambda: rig.store.delete(SHOP, "S1", 2)), row, "the row that stood in the way")
    rig.store.delete(SHOP, "S1", 1)
    equal(rig.store.read(SHOP, "S1"), None, "the row that was removed")
    equal(conflict(lambda: rig.store.delete(SHOP, "S1", 1)), None, "what stands in the way of removing nothing")
    equal(seen(rig.store, SHOP), {}, "the rows after all")
    equal(rig.store.write(SHOP, lease("S1"), None).version, 1, "the version of a row that is written anew")


@rule()
def tables_are_apart(rig: StoreRig) -> None:
    """Rows of other kinds, apps and streams are others, whatever signs their names have."""
    tables = [
        Table(kind, app, stream) for kind in (LEASES, "workers") for app in ODD_NAMES for stream in ("", "x", "é.{x}")
    ]
    tables += [Table(LEASES, "a", "b.c"), Table(LEASES, "a.b", "c"), Table("x", "a/b", "c"), Table("x", "a", "b/c")]
    for index, table in enumerate(tables):
        rig.store.write(table, lease("S1", fence=index), None)
    for kind in (LEASES, "workers"):
        equal(
            sorted(rig.store.tables(kind)), sorted(table for table in tables if table.kind == kind), f"tables of {kind}"
        )
    for index, table in enumerate(tables):
        equal([row.fields["fence"] for row in rig.store.scan(table)], [index], f"rows of {table!r}")


@rule()
def keys_are_texts(rig: StoreRig) -> None:
    """Keys may have any signs, and are told apart by all of them."""
    keys = [*ODD_NAMES, "Plain", "plain ", "p" * 200]
    for key in keys:
        rig.store.write(SHOP, lease(key, checkpoint=key), None)
    equal(
        {key: row.fields["checkpoint"] for key, row in seen(rig.store, SHOP).items()},
        {key: key for key in keys},
        "rows",
    )
    for key in keys:
        rig.store.delete(SHOP, key, 1)
    equal(seen(rig.store, SHOP), {}, "rows after all were removed")


@rule()
def scans_go_over_pages(rig: StoreRig) -> None:
    """A scan gives all rows, however many pages they take."""
    writes = [Write(lease(f"S{index:05}", checkpoint="x" * 4000), None) for index in range(rig.beyond_page)]
    results = rig.store.write_all(SHOP, writes)
    equal([row for row in results if not isinstance(row, Row)], [], "refused writes")
    equal(len(seen(rig.store, SHOP)), rig.beyond_page, "rows")


@rule()
def many_writes_are_each_by_themselves(rig: StoreRig) -> None:
    """Of several writes each is done or refused by itself, and the answers come in their order."""
    rig.store.write(SHOP, lease("S2", owner="a"), None)
    rig.store.write(SHOP, lease("S3", owner="a"), None)
    found = rig.store.write_all(
        SHOP,
        [
            Write(lease("S3", owner="b"), 1),
            Write(lease("S2", owner="b"), 5),
            Write(lease("S1", owner="b"), None),
            Write(lease("S4", owner="b"), 1),
        ],
    )
    told = [row.version if isinstance(row, Row) else _standing(row) for row in found]
    equal(told, [2, lease("S2", owner="a")._replace(version=1), 1, None], "what came of the writes")
    equal(rig.store.write_all(SHOP, []), [], "what came of none")


@rule()
def what_was_read_is_the_callers(rig: StoreRig) -> None:
    """A caller that changes the fields that it got, or gave, changes no row."""
    fields: dict[str, Any] = {"a": [1]}
    rig.store.write(WORKERS, Row("w", fields), None)
    fields["a"].append(2)
    found = rig.store.read(WORKERS, "w")
    if found is not None:
        found.fields["a"].append(3)
    equal(rig.store.read(WORKERS, "w"), Row("w", {"a": [1]}, 1), "the row")


@rule()
def closing_twice_is_fine(rig: StoreRig) -> None:
    """A store closes more than once, and other handles on its rows stay."""
    other = rig.another()
    other.write(SHOP, lease("S1"), None)
    other.close()
    other.close()
    equal(list(seen(rig.store, SHOP)), ["S1"], "the rows")


def _standing(error: StreamiterError) -> Any:
    return getattr(error, "standing", error)


ROWS: tuple[Rule[StoreRig], ...] = (
    new_rows_stand,
    values_survive,
    writes_need_the_version,
    whole_rows_are_replaced,
    deletes_need_the_version,
    tables_are_apart,
    keys_are_texts,
    scans_go_over_pages,
    many_writes_are_each_by_themselves,
    what_was_read_is_the_callers,
    closing_twice_is_fine,
)
