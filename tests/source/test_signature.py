"""Signatures: for any call and any credentials, the header that botocore makes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from streamiter.source.pattern import STAMP
from streamiter.source.signature import scope_of, signer

words = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", min_size=1, max_size=20)
secrets = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1))
HOST = "streams.dynamodb.eu-west-1.amazonaws.com"


def signed(moment: datetime, body: bytes, headers: dict[str, str], keys: Credentials, region: str) -> AWSRequest:
    request = AWSRequest("POST", f"https://{HOST}/", dict(headers), body)
    with patch.object(botocore.auth, "get_current_datetime", lambda: moment):
        auth: Any = botocore.auth.SigV4Auth(keys.get_frozen_credentials(), "dynamodb", region)
        auth.add_auth(request)
    return request


@given(
    calls=st.lists(st.tuples(moments, st.binary(max_size=50)), min_size=1, max_size=4),
    access=words,
    secret=secrets,
    token=st.none() | words,
    region=words,
    value=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
)
def test_each_is_the_one_that_botocore_makes(
    calls: list[tuple[datetime, bytes]], access: str, secret: str, token: str | None, region: str, value: str
):
    keys, headers = (
        Credentials(access, secret, token),
        {"X-Amz-Target": value, "Content-Type": "application/x-amz-json-1.0"},
    )
    told = signed(*calls[0], headers, keys, region)
    scope = scope_of(told.headers["Authorization"])
    assert scope is not None
    found = signer(scope, secret, "/", {name.lower(): text for name, text in told.headers.items()} | {"host": HOST})
    assert found is not None
    for moment, body in calls:
        authorization = signed(moment, body, headers, keys, region).headers["Authorization"]
        assert found.authorization(moment.replace(tzinfo=UTC).strftime(STAMP), body) == authorization


@given(st.text(max_size=80) | words.map(lambda word: f"AWS4-HMAC-SHA256 Credential={word}"))
def test_a_header_of_another_kind_has_no_scope(header: str):
    assert scope_of(header) is None


def test_a_signed_header_that_is_not_known_is_not_signed():
    scope = scope_of(
        f"AWS4-HMAC-SHA256 Credential=a/20260115/r/s/aws4_request, SignedHeaders=x-amz-date;x-own, Signature={'0' * 64}"
    )
    assert scope is not None
    assert signer(scope, "secret", "/", {"x-amz-date": "20260115T120000Z"}) is None
    assert signer(scope, "secret", "/", {"x-amz-date": "20260115T120000Z", "x-own": "1"}) is not None
