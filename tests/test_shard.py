"""Shards: what their ids tell, and what they may look like."""

from __future__ import annotations

import pytest

from streamiter.shard import Shard, hinted_us, sortable


def test_ids_hint_at_when_a_shard_was_made_and_no_more():
    assert hinted_us("shardId-00000001750000000123-aaaa") == 1_750_000_000_123_000
    for other in ("shardId-000000000012", "S1", "shardId-x-y", "shardId-00000000000000000007-aaaa"):
        assert hinted_us(other) is None
    assert hinted_us(f"shardId-{'1' * 5000}-aaaa") is None


@pytest.mark.parametrize("shard_id", ["", "S 1", "S1\n", "\tS1"])
def test_an_id_is_a_word_without_blanks(shard_id):
    with pytest.raises(ValueError, match="a word without blanks"):
        Shard(shard_id)


def test_numbers_as_text_sort_as_numbers_do():
    numbers = [0, 7, 9, 10, 99, 100, 10**20]
    assert sorted(numbers, key=sortable) == numbers
