"""Places in a Kinesis shard: which pages follow them, and which may lie behind what was lost; by tables."""

from __future__ import annotations

import pytest

from streamiter.position import After, AtNumber, AtTime, Horizon, Place
from streamiter.source.kinesis_page import RawPage, Row
from streamiter.source.kinesis_place import HOUR_US, MOST_EMPTIES, Doubt, KinesisPlace

DAY_US = 24 * HOUR_US
NOW = 1_750_000_000_000_000


def page(*numbers: str, behind_ms: int | None = 0, ends: bool = False) -> RawPage:
    return RawPage([Row(number, b"", "k", NOW / 1e6) for number in numbers], None if ends else "next", behind_ms)


@pytest.mark.parametrize(
    "position, wanted",
    [
        (Horizon(5), KinesisPlace("i")),
        (AtTime(7, 5), KinesisPlace("i", start_us=7)),
        (After(Place(17, 3)), KinesisPlace("i", awaited="17", was_read=True)),
        (AtNumber("17"), KinesisPlace("i", awaited="17")),
    ],
)
def test_what_is_known_of_an_iterator_that_was_just_handed_out(position, wanted):
    assert KinesisPlace.opened("i", position) == wanted


@pytest.mark.parametrize(
    "told, empties, is_missed",
    [
        (page("17"), 0, False),
        (page("17", "18"), 0, False),
        (page("18"), 0, True),
        (page("18", "17"), 0, True),
        (page("17", ends=True), 0, False),
        # Empty pages come in runs, and only one that says so is the tip.
        (page(behind_ms=5), 0, False),
        (page(behind_ms=5), MOST_EMPTIES, False),
        (page(behind_ms=0), MOST_EMPTIES - 2, False),
        (page(behind_ms=0), MOST_EMPTIES - 1, True),
        (page(behind_ms=None), MOST_EMPTIES - 2, False),
        (page(behind_ms=None), MOST_EMPTIES - 1, True),
        (page(behind_ms=5, ends=True), 0, True),
        # As far behind as the retention goes: nothing but empty pages follows.
        (page(behind_ms=86_399_999), MOST_EMPTIES, False),
        (page(behind_ms=86_400_000), MOST_EMPTIES - 2, False),
        (page(behind_ms=86_400_000), MOST_EMPTIES - 1, True),
    ],
)
def test_when_the_record_that_is_waited_for_does_not_come(told: RawPage, empties: int, is_missed: bool):
    assert KinesisPlace("i", "17", was_read=True, empties=empties).is_missed(told, DAY_US) is is_missed


def test_behind_records_all_up_to_the_last_is_known():
    place = KinesisPlace("i", "17", was_read=True, empties=3, start_us=1)
    assert place.following(page("17", "18"), NOW) == KinesisPlace("next", whole_us=NOW, last="18")


def test_behind_an_empty_page_at_the_tip_all_up_to_now_is_known():
    place = KinesisPlace("i", whole_us=5, last="18")
    assert place.following(page(behind_ms=0), NOW) == KinesisPlace("next", empties=1, whole_us=NOW, last="18")


@pytest.mark.parametrize(
    "told, now", [(page(behind_ms=7), NOW), (page(behind_ms=None), NOW), (page(behind_ms=0), None)]
)
def test_behind_another_empty_page_no_more_is_known(told: RawPage, now: int | None):
    place = KinesisPlace("i", "17", was_read=True, whole_us=5, last="18")
    assert place.following(told, now) == place._replace(text="next", empties=1)


def test_behind_the_end_there_is_nothing():
    assert KinesisPlace("i").following(page("1", ends=True), NOW) is None


@pytest.mark.parametrize(
    "place, since_us",
    [
        (KinesisPlace("i"), None),
        (KinesisPlace("i", whole_us=5), 5),
        (KinesisPlace("i", start_us=NOW - DAY_US), NOW - DAY_US),
        (KinesisPlace("i", start_us=NOW - DAY_US - 1), None),
        (KinesisPlace("i", start_us=NOW - 9, whole_us=NOW - 5), NOW - 5),
    ],
)
def test_from_when_on_records_have_to_be_held(place: KinesisPlace, since_us: int | None):
    assert place.since_us(NOW, DAY_US) == since_us


def test_a_page_that_was_in_doubt_is_given_once():
    doubt = Doubt(page(), NOW, search=KinesisPlace("j", "17", empties=2))
    assert KinesisPlace("i", whole_us=1, last="17", doubt=doubt).following(page(), NOW) == KinesisPlace(
        "next", whole_us=NOW, last="17", empties=1
    )
