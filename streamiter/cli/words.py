"""Words: errors as the command line tells them: where the library names a method or an argument, an option stands here."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from streamiter.errors import RecordsExpired, StreamiterError, TransientError

# What the library's messages say to who calls it, and what the same is for who types a command.
_OPTIONS = {
    "or AWS_PROFILE, or pass session= or client=": "or name a profile: --profile NAME",
    "name another AWS_PROFILE, or pass session= or client=": "name another one: --profile NAME",
    "You must specify a region.; pass region=, or set AWS_DEFAULT_REGION": "no region is set; name one: --region NAME, or set "
    "AWS_DEFAULT_REGION",
    "pass region=, or set AWS_DEFAULT_REGION": "name one: --region NAME, or set AWS_DEFAULT_REGION",
    "(AWS_PROFILE, AWS_ACCESS_KEY_ID, a role), or pass session=": "(--profile, AWS_ACCESS_KEY_ID, a role)",
    "nothing is lost, calling next() again goes on trying": "nothing is lost; run it again to go on",
    "name that stream, or another token": "name that stream, or another token file",
    "then start the new one at 'trim_horizon'": "then start the new one without this token file",
    "an endpoint_url": "an endpoint URL",
    "; was it saved as JSON? json.loads gives the dict": "",
}


_NOBODY = "does anything listen there? --endpoint-url and --region say where it is looked for"
_UNREACHED = {
    "EndpointConnectionError": _NOBODY,
    "ConnectTimeoutError": _NOBODY,
    "ReadTimeoutError": "nothing answers there: is it the service? --endpoint-url says where it is looked for",
    "SSLError": "is it http://, or is the certificate one of your own (AWS_CA_BUNDLE)?",
    "ProxyConnectionError": "HTTPS_PROXY and HTTP_PROXY name the proxy, NO_PROXY what goes without one",
}


# A Kinesis stream by its ARN and when it was made: one of the same name that was made again is another.
_MADE = re.compile(r"(arn:[^\s@]+)@(\d{1,11})\b")


# How the library names a source that it could not ask: a source's repr.
_SOURCE = re.compile(r"^(?:DynamoDB|Kinesis)Streams\('([^']*)'\): ")
_NO_STREAM = re.compile(r"^(arn:\S+/stream/\S+): dynamodb:DescribeStream: ResourceNotFoundException")
_BARE = re.compile(r"table ([A-Za-z0-9_.-]+) has no stream")
_NO_REGION = re.compile(r"Provided region_name '(.*)' doesn't match a supported format\.")


def in_our_words(error: StreamiterError) -> str:
    """The message, in a line, for who typed the command."""
    if isinstance(error, RecordsExpired):
        return (
            f"{error.what}; --skip-gaps accepts that and reads on, another --from (without the token file) starts "
            "elsewhere"
        )
    text = _MADE.sub(_made, _SOURCE.sub("", str(error)))
    text = _NO_REGION.sub(r"'\1' is no region; name one, such as eu-west-1: --region NAME", text)
    if bare := _BARE.match(text):
        text = text.replace("--table-name TABLE", f"--table-name {bare[1]}")  # to be pasted as it stands
    if gone := _NO_STREAM.match(text):
        table = gone[1].partition(":table/")[2].partition("/")[0]
        return (
            f"there is no stream {gone[1]}: one that was disabled is gone after 24 hours, and enabling makes a new one; "
            f"the table's name means its latest: {table}"
        )
    for theirs, ours in _OPTIONS.items():
        text = text.replace(theirs, ours)
    return f"{text}{_way_out(text)}" if isinstance(error, TransientError) else text


def _way_out(text: str) -> str:
    """What to do where the service was not reached."""
    if ": HTTP " in text and "no answer of the service's" in text:
        return "; is it the service that answers there? --endpoint-url says where it is looked for"
    kind = text.rpartition(": ")[2]
    return f"; {_UNREACHED[kind]}" if "could not be called" in text and kind in _UNREACHED else ""


def in_plain_words(text: str) -> str:
    """What click says of a number, as a person would."""
    text = re.sub(r"is not a valid (integer|float)( range)?\b", lambda kind: f"is no {_NUMBERS[kind[1]]}", text)
    text = re.sub(r"(\S+) is not in the range x>=(\S+)\.", r"\1 is not in the range: \2 or more", text)
    text = re.sub(r"(\S+) is not in the range x>(\S+)\.", r"\1 is not in the range: more than \2", text)
    return re.sub(r"(\S+) is not in the range (\S+?)<=x<=(\S+)\.", r"\1 is not in the range: \2 to \3", text)


_NUMBERS = {"integer": "whole number", "float": "number"}


def _made(found: re.Match[str]) -> str:
    return f"{found[1]} (made {datetime.fromtimestamp(int(found[2]), UTC):%Y-%m-%d %H:%M:%S} UTC)"
