"""Words: errors as the command line tells them: where the library names a method or an argument, an option stands here."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from streamiter.errors import InvalidToken, RecordsExpired, StreamiterError, TransientError

# What the library's messages say to who calls it, and what the same is for who types a command.
_OPTIONS = {
    "or AWS_PROFILE, or pass session= or client=": "or name a profile: --profile NAME",
    "name another AWS_PROFILE, or pass session= or client=": "name another one: --profile NAME",
    "You must specify a region.; pass region=, or set AWS_DEFAULT_REGION": "no region is set; name one: --region NAME, or set "
    "AWS_DEFAULT_REGION",
    "pass region=, or set AWS_DEFAULT_REGION": "name one: --region NAME, or set AWS_DEFAULT_REGION",
    "(AWS_PROFILE, AWS_ACCESS_KEY_ID, a role), or pass session=": "(--profile, AWS_ACCESS_KEY_ID, a role)",
    "nothing is lost, calling next() again goes on trying": "nothing is lost; run it again to go on",
    "then start the new one at 'trim_horizon'": "then start the new one without this token file",
    "an endpoint_url": "an endpoint URL",
    "; was it saved as JSON? json.loads gives the dict": "",
}


# A Kinesis stream by its ARN and when it was made: one of the same name that was made again is another.
_MADE = re.compile(r"(arn:[^\s@]+)@(\d{1,11})\b")


def in_our_words(error: StreamiterError) -> str:
    """The message, in a line, for who typed the command."""
    if isinstance(error, RecordsExpired):
        return (
            f"records of shard {error.shard_id} after {error.position} may be lost: {error.reason}; --skip-gaps accepts "
            "that and reads on, another --from (without the token file) starts elsewhere"
        )
    text = _MADE.sub(_made, str(error))
    for theirs, ours in _OPTIONS.items():
        text = text.replace(theirs, ours)
    if isinstance(error, InvalidToken) and not error.hint:  # whole, but of another stream
        text += "; name that stream, or another token file"
    if isinstance(error, TransientError) and "could not be called: EndpointConnectionError" in text:
        text += "; does anything listen there? --endpoint-url and --region say where it is looked for"
    return text


def _made(found: re.Match[str]) -> str:
    return f"{found[1]} (made {datetime.fromtimestamp(int(found[2]), UTC):%Y-%m-%d %H:%M:%S} UTC)"
