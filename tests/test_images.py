"""Images: what no table holds is refused in words."""

from __future__ import annotations

import msgspec
import pytest

from streamiter.images import decode_image


def test_an_attribute_without_a_type_is_a_value_error():
    for text in (b'{"id":{}}', b'{"id":{"M":{"deep":{}}}}', b'{"id":{"L":[{}]}}'):
        with pytest.raises(ValueError, match="no type"):
            decode_image(msgspec.Raw(text))


def test_a_type_that_dynamodb_does_not_have_is_named():
    with pytest.raises(ValueError, match="'Q'"):
        decode_image(msgspec.Raw(b'{"id":{"Q":"1"}}'))
