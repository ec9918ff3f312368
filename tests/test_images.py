"""Images: what no table holds is refused in our own words, which hold nothing of what the image holds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from streamiter.errors import StreamiterError, UnreadableRecord
from streamiter.images import decode_image, image_text


def test_an_attribute_without_a_type_is_a_value_error():
    for text in (b'{"id":{}}', b'{"id":{"M":{"deep":{}}}}', b'{"id":{"L":[{}]}}'):
        with pytest.raises(ValueError, match="no type"):
            decode_image(msgspec.Raw(text))


def test_a_type_that_dynamodb_does_not_have_is_named():
    with pytest.raises(ValueError, match="'Q'"):
        decode_image(msgspec.Raw(b'{"id":{"Q":"1"}}'))
    with pytest.raises(ValueError) as caught:
        decode_image(msgspec.Raw(b'{"id":{"%s":"1"}}' % (b"secret" * 100)))
    assert "secretsecret" not in str(caught.value)


WRONG: dict[str, Any] = {
    "no map": [7],
    "text": "secret",
    "a number": 7,
    "an attribute that is no map": {"a": "secret"},
    "an attribute of none": {"a": None},
    "type Z": {"a": {"Z": "secret"}},
    "a number of words": {"a": {"N": "secret"}},
    "a number of lists": {"a": {"N": ["secret"]}},
    "a number of maps": {"a": {"N": {"secret": 1}}},
    "binary that is none": {"a": {"B": "s"}},
    "binary of a number": {"a": {"B": 10**12}},
    "binary of maps": {"a": {"B": [{"secret": 1}]}},
    "a set of objects": {"a": {"SS": [{"secret": 1}]}},
    "a set of texts that is a text": {"a": {"SS": "secret"}},
    "a set that is a map": {"a": {"SS": {"secret": 1}}},
    "a set of none": {"a": {"NS": None}},
    "a set of signals": {"a": {"NS": ["sNaN"]}},
    "a set of lists": {"a": {"BS": [["secret"]]}},
    "a map that is a list": {"a": {"M": ["secret"]}},
    "a map that is a text": {"a": {"M": "secret"}},
    "a list that is a text": {"a": {"L": "secret"}},
    "a list of texts": {"a": {"L": ["secret"]}},
}


@pytest.mark.parametrize("image", WRONG.values(), ids=WRONG.keys())
def test_an_image_that_is_none_is_an_error_of_ours(image: Any):
    for given in (image, msgspec.Raw(msgspec.json.encode(image))):
        with pytest.raises(UnreadableRecord) as caught:
            decode_image(given)
        assert isinstance(caught.value, StreamiterError) and "secret" not in str(caught.value)


@pytest.mark.parametrize("text", [b"{", b'{"a":{"N":NaN}}', b'{"a":{"S":"\xff"}}', b'{"a":{"S":"\\ud800"}}'])
def test_so_is_text_that_is_no_json(text: bytes):
    with pytest.raises(UnreadableRecord):
        decode_image(msgspec.Raw(text))


def test_an_image_may_be_nested_however_deep():
    deep: Any = {"S": "x"}
    text = b'{"S":"x"}'
    for _ in range(10_000):
        deep, text = {"M": {"a": deep}}, b'{"M":{"a":' + text + b"}}"
    for image in ({"a": deep}, msgspec.Raw(b'{"a":' + text + b"}")):
        with pytest.raises(UnreadableRecord, match="nested too deep"):
            decode_image(image)
    while isinstance(deep, dict) and "M" in deep:
        deep = deep["M"]["a"]  # taken apart by hand: Python frees it by a stack of its own


def test_text_that_is_no_utf_8_is_no_text_of_an_image():
    with pytest.raises(UnreadableRecord):
        image_text(msgspec.Raw(b'{"a":{"S":"\xff"}}'))
