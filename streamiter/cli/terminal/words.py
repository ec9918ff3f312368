"""Words: the library's errors for the command line: where they name a method or an argument, an option stands here."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import click

from streamiter.cli.checks.going_on import how_to_go_on, reenabled
from streamiter.errors import InvalidToken, RecordsExpired, StreamiterError, TransientError

# What the library's messages say to who calls it, and what the same is for who types a command.
_OPTIONS = {
    "or AWS_PROFILE, or pass session= or client=": "or name a profile: --profile NAME",
    "name another AWS_PROFILE, or pass session= or client=": "name another one: --profile NAME",
    "You must specify a region.; pass region=, or set AWS_DEFAULT_REGION": "no region is set; name one: --region NAME, or set "
    "AWS_DEFAULT_REGION",
    "pass region=, or set AWS_DEFAULT_REGION": "name one: --region NAME, or set AWS_DEFAULT_REGION",
    "(AWS_PROFILE, AWS_ACCESS_KEY_ID, a role), or pass session=": "(--profile, AWS_ACCESS_KEY_ID, a role)",
    ", calling next() again goes on trying": "; run it again to go on",
    "nothing is lost, the same call goes on trying": "nothing is lost; run it again to go on",
    "name that stream, or another token": "name that stream, or another token file",
    "then start the new one at 'trim_horizon'": "then start the new one without this token file",
    "an endpoint_url": "an endpoint URL",
    "; was it saved as JSON? json.loads gives the dict": "",
}


_NOBODY = "is the service there? --endpoint-url and --region say where streamiter looks"
_UNREACHED = {
    "EndpointConnectionError": _NOBODY,
    "ConnectTimeoutError": _NOBODY,
    "ReadTimeoutError": "nothing answers there: is it the service, and does it speak https? --endpoint-url says where "
    "streamiter looks",
    "SSLError": "if the certificate is one of your own, name its authority in AWS_CA_BUNDLE",
    "ProxyConnectionError": "HTTPS_PROXY and HTTP_PROXY name the proxy, and NO_PROXY the hosts that need none",
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
        return f"{error.what}; --skip-gaps accepts that and reads on; another --from, without the token file, starts elsewhere"
    if isinstance(error, InvalidToken) and (streams := reenabled(error)):
        context = click.get_current_context(silent=True)
        return f"this token {error.what}; {how_to_go_on(*streams, {} if context is None else context.params)}".replace(
            "token it is of", "token is of"
        )
    text = _MADE.sub(_made, _SOURCE.sub("", str(error)))
    text = _NO_REGION.sub(r"'\1' is not a region; name one, such as eu-west-1: --region NAME", text)
    if bare := _BARE.match(text):
        text = text.replace("--table-name TABLE", f"--table-name {bare[1]}")  # to be pasted as it stands
    if gone := _NO_STREAM.match(text):
        table = gone[1].partition(":table/")[2].partition("/")[0]
        return (
            f"there is no stream {gone[1]}: DynamoDB removes a disabled stream after 24 hours, and enabling it makes a new "
            f"one; to read the latest, name the table: {table}"
        )
    for theirs, ours in _OPTIONS.items():
        text = text.replace(theirs, ours)
    return f"{text}{_way_out(text)}" if isinstance(error, TransientError) else text


def with_class(message: str, error: BaseException | None) -> str:
    """The message, and the error's class in brackets: what a program would catch, and docs/operating.md lists."""
    return f"{message} [{type(error).__name__}]" if isinstance(error, StreamiterError) else message


def _way_out(text: str) -> str:
    """What to do where the service was not reached."""
    if ": HTTP " in text and "not from the service itself" in text:
        return "; --endpoint-url says where streamiter looks for the service"
    kind = text.rpartition(": ")[2]
    return f"; {_UNREACHED[kind]}" if "could not be called" in text and kind in _UNREACHED else ""


def in_plain_words(text: str) -> str:
    """What click says of a number, as a person would."""
    text = re.sub(r"is not a valid (integer|float)( range)?\b", lambda kind: f"is not a {_NUMBERS[kind[1]]}", text)
    text = re.sub(r"(\S+) is not in the range x>=(\S+)\.", r"\1 is not in the range: \2 or more", text)
    text = re.sub(r"(\S+) is not in the range x>(\S+)\.", r"\1 is not in the range: more than \2", text)
    return re.sub(r"(\S+) is not in the range (\S+?)<=x<=(\S+)\.", r"\1 is not in the range: \2 to \3", text)


_NUMBERS = {"integer": "whole number", "float": "number"}


def _made(found: re.Match[str]) -> str:
    return f"{found[1]} (made {datetime.fromtimestamp(int(found[2]), UTC):%Y-%m-%d %H:%M:%S} UTC)"
