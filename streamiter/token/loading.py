"""Loading: a dict of whatever kind as a token, of ours of either version, or of Bloop's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamiter.errors import InvalidToken
from streamiter.token.bloop import load_bloop
from streamiter.token.checks import MOST_COUNTED, damaged
from streamiter.token.packing import VERSION
from streamiter.token.plain import load_plain
from streamiter.token.unpacking import unpack
from streamiter.token.values import Token


def load_token(token: object) -> Token:
    """The token in a dict of ours or of Bloop's; InvalidToken says what is wrong with it, and where."""
    if not isinstance(token, Mapping):
        raise InvalidToken(
            f"a token is a dict, this is a {type(token).__name__}",
            hint="was it saved as JSON? json.loads gives the dict",
        )
    if "streamiter" in token:
        return _load_ours(token)
    if "stream_arn" in token:
        return load_bloop(token)
    raise damaged("it has neither 'streamiter' (a token of ours) nor 'stream_arn' (one of Bloop's)", "$")


def _load_ours(token: Mapping[str, Any]) -> Token:
    version = token["streamiter"]
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version < MOST_COUNTED:
        raise damaged("the version is not a number from 1 up", "$.streamiter")
    if version > VERSION:
        raise InvalidToken(
            f"it was written by a newer streamiter (version {version}, this one reads up to {VERSION})",
            where="$.streamiter",
            hint="upgrade streamiter here too",
        )
    return load_plain(token) if version == 1 else unpack(token)
