"""Tokens that no stream wrote: each is refused in words, or read from; none brings about an error that is not ours."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamiter import DynamoDBStreams, InvalidToken, RecordsExpired, Stream
from streamiter.testing import Simulator
from tests.stream.helpers import drain, until_raises, write


def opened(sim: Simulator, token: Any) -> Stream:
    source = DynamoDBStreams(sim.stream_arn, endpoint_url=sim.endpoint_url, region="us-east-1")
    return Stream(source, token, clock=sim.clock)


@pytest.mark.parametrize("place", [None, ["100000000000000000017", 0]])
def test_a_shard_with_an_id_of_one_character_is_one_that_the_service_does_not_have(served: Simulator, place: Any):
    write(served, *served.open_shards)
    lane = {"shard": "S", "depth": 0} | ({} if place is None else {"place": place})
    with opened(served, {"streamiter": 1, "stream": served.stream_arn, "lanes": [lane]}) as stream:
        if place is None:
            records = drain(stream, served.clock)
            assert stream.stats.gone == 1
        else:
            records, gap = until_raises(RecordsExpired, stream, served.clock)
            assert gap.shard_id == "S"
            stream.skip()
            records += drain(stream, served.clock)
        assert len(records) == len(served.history)


@pytest.mark.parametrize("text", ["\ud800", "S\udfff", "S\ud800\ud800"])
def test_half_of_a_surrogate_pair_is_refused(served: Simulator, text: str):
    for token in (
        {"streamiter": 2, "stream": served.stream_arn, "lanes": [[text, 0, []]]},
        {"streamiter": 2, "stream": text},
        {"streamiter": 1, "stream": served.stream_arn, "lanes": [{"shard": "S", "parents": [text]}]},
        {"stream_arn": served.stream_arn, "active": [text], "shards": [{"shard_id": text}]},
        {"streamiter": 2, text: 1},
    ):
        with pytest.raises(InvalidToken) as caught:
            opened(served, json.loads(json.dumps(token)))
        str(caught.value).encode()


def test_a_token_of_another_stream_is_not_quoted_at_length(served: Simulator):
    with pytest.raises(InvalidToken) as caught:
        opened(served, {"streamiter": 2, "stream": "arn:" + "x" * 10_000})
    assert "another stream" in str(caught.value) and len(str(caught.value)) < 600
