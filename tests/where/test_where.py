"""The language of --where: what fits, and what a wrong text is told, with a caret under the place."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from streamiter.envelope import Change, Envelope
from streamiter.record import ChangeRecord
from streamiter.testing.truth.images import typed_image
from streamiter.where import WhereError, parse_where


def record(
    event: str = "MODIFY", *, key: Any = "A1", new: Any = None, old: Any = None, late: bool = False
) -> ChangeRecord:
    keys = key if isinstance(key, dict) else {"id": key}
    images = [None if image is None else typed_image(image) for image in (keys, new, old)]
    (made,) = ChangeRecord.all_of("S1", [Envelope(Change("1" * 21, 1.0, *images), eventName=event)])
    made.late = late
    return made


PAID = record(
    new={
        "id": "A1",
        "status": "paid",
        "total": Decimal("12.50"),
        "tags": {"new", "big"},
        "at": {"city": "Ulm"},
        "ok": True,
        "n": None,
        "list": [1, {"a": "x"}],
    },
    old={"id": "A1", "status": "placed"},
)


@pytest.mark.parametrize(
    "text",
    [
        "event = MODIFY",
        "event=modify",
        'event == "modify"',
        "EVENT IN (insert, Modify)",
        "key = A1",
        "key ^= A",
        "key *= 1",
        "key.id = A1",
        "shard = S1",
        "not late = true",
        "new.status = paid and old.status = placed",
        "new.status != placed",
        "new.nothing != x",
        "not new.nothing = x",
        "new.total = 12.5",
        "new.total >= 12.50 and new.total < 13",
        "new.total in (1, 12.500)",
        "new.tags = big",
        "new.tags *= new",
        "new.at.city = Ulm",
        "new.at *= city",
        "new.list.0 = 1",
        "new.list.1.a = x",
        "new.ok = true",
        "new.n = null",
        "event = INSERT or (key = A1 and not (old.status = paid))",
        "not not event = MODIFY",
        "event=MODIFY and\n key=A1",
        "new.status != old.status",
        "changed(status) and not changed(id)",
        "new.nothing = old.nothing",
        "new.total != old.total and changed(total)",
        "exists(new.total) and not exists(old.total)",
        "exists(new) and exists(old.status) and exists(key.id)",
        "not late",
        "new.status in (old.status, paid)",
        "key = new.id and new.id in (x, key.id)",
        "new.total > 9",
        "new.total > 1e1",
        "old.status *= lace",
    ],
)
def test_what_fits(text):
    assert parse_where(text)(PAID)


@pytest.mark.parametrize(
    "text",
    [
        "event = INSERT",
        "key = a1",
        "key = A",
        "key.sort = A1",
        "new.total = '12.5'",
        "new.total > x",
        "new.status < 5 and new.status > 5",
        "new.ok = 1",
        "new.ok = 'true'",
        "new.nothing = null",
        "new.at.city.street = x",
        "new.list.9 = 1",
        "late = true",
        "event = MODIFY and key = B or key = C",
        "new.status = old.status",
        "new.status = 'old.status'",
        "new.id != old.id",
        "changed(at.street)",
        "new.total > old.total",
        "new.total > '9'",
        "new.status > 9",
        "new.ok = new.n",
        "late",
    ],
)
def test_what_does_not_fit(text):
    assert not parse_where(text)(PAID)


def test_and_binds_closer_than_or():
    test = parse_where("event = REMOVE or event = MODIFY and key = B")
    assert test(record("REMOVE", key="A")) and test(record("MODIFY", key="B"))
    assert not test(record("MODIFY", key="A"))


def test_quotes_hold_blanks_and_signs_and_escapes():
    assert parse_where("key = 'ann (the) \"first\" = 1'")(record(key='ann (the) "first" = 1'))
    assert parse_where('key = "a\\"b\\\\c"')(record(key='a"b\\c'))
    assert parse_where("key = ''")(record(key=""))


def test_a_key_of_two_parts_fits_by_either():
    two = record(key={"pk": "p", "sk": Decimal(7)})
    assert parse_where("key = p")(two) and parse_where("key = 7")(two) and parse_where("key.sk >= 7")(two)


def test_a_record_without_images_has_none():
    bare = record("REMOVE")
    assert parse_where("not new.status = paid and old.status != x and event = REMOVE")(bare)


@pytest.mark.parametrize(
    "text,place,words",
    [
        ("", 0, "expected one of event"),
        ("event", 5, "expected one of != <="),
        ("event =", 7, "expected a value"),
        ("event = INSRT", 8, "expected INSERT, MODIFY or REMOVE, found 'INSRT'"),
        ("event in (insert, 'MODIFIED')", 18, "expected INSERT, MODIFY or REMOVE"),
        ("not event != ''", 13, "expected INSERT, MODIFY or REMOVE"),
        ("late = maybe", 7, "expected true or false, found 'maybe'"),
        ("late > true", 5, "'late' is compared by = !="),
        ("event > MODIFY", 6, "'event' is compared by = != ^= *="),
        ("shard > 5", 8, "a shard's id is text: write it in quotes, '5'"),
        ("new.kind = event", 11, "for the text write it in quotes, 'event'"),
        ("new.status != old.", 14, "expected old.NAME"),
        ("changed(new.status)", 8, "before and after are both meant: changed(status)"),
        ("changed()", 8, "expected an attribute's name"),
        ("changed status", 8, "expected '(' after 'changed'"),
        ("exists(status)", 7, "expected one of event, key"),
        ("exists = 3", 7, "expected '(' after 'exists'"),
        ("not late in (true, 'no')", 19, "expected true or false"),
        ("event = MODIFY and foo = 3", 19, "late, found 'foo'; an attribute of the row is written new.foo or old.foo"),
        ("event = MODIFY key = 3", 15, "expected 'and', 'or' or the end"),
        ("event = 'MODIFY", 8, "does not end"),
        ("event ! MODIFY", 6, "'!' has no meaning"),
        ("(event = MODIFY", 15, "expected ')'"),
        ("event in MODIFY", 9, "expected '('"),
        ("event in (MODIFY", 16, "expected ')'"),
        ("new = 3", 0, "expected new.NAME"),
        ("new..a = 3", 0, "expected new.NAME"),
        ("event.x = 3", 0, "'event' has no parts"),
        ("key = A ; rm", 8, "expected 'and'"),
        ("__import__('os') = 1", 0, "expected one of event"),
        ("not " * 60 + "event = A", 200, "too deeply nested"),
        ("(" * 3000, 50, "too deeply nested"),
    ],
)
def test_what_is_wrong_is_shown_with_a_caret_under_the_place(text, place, words):
    with pytest.raises(WhereError, match=r".*") as caught:
        parse_where(text)
    message, shown, caret = caught.value.shown.split("\n")
    assert words in message
    assert caught.value.at == place
    assert len(shown) <= 110
    if place < len(text):
        assert shown[caret.index("^")] == text[place]


def test_the_caret_stands_under_the_place_as_it_is_printed():
    for text in ("shard = A\x1b[2J &", "key = '漢字' &", "key = a\n and &", "key = " + "x" * 300 + " &"):
        with pytest.raises(WhereError) as caught:
            parse_where(text)
        _, shown, caret = caught.value.shown.split("\n")
        assert shown.isprintable()
        assert cell_len(shown[: shown.index("&")]) == cell_len(caret) - 1


@given(st.text(alphabet="evntky=()'\"!<>^*., andorit\\\n\x1b\u202e1", max_size=60))
def test_any_text_is_a_test_or_a_where_error(text):
    try:
        test = parse_where(text)
    except WhereError as error:
        assert 0 <= error.at <= len(text)
        assert error.shown.count("\n") == 2
    else:
        assert test(PAID) in (True, False)
