"""The setting: what every command works in: the clock, how sources are found, whether tracebacks are wanted."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import click

from streamiter.clock import Clock, SystemClock
from streamiter.errors import CredentialsMissing

if TYPE_CHECKING:
    from streamiter.source import Source

_REGION = re.compile(r"\barn:[\w-]+:(?:dynamodb|kinesis):([\w-]+):")


def locate(url: str, **options: Any) -> Source:
    """The source that a URL names; boto3 is loaded now, and not for who asks for help."""
    from streamiter.locate import locate

    return locate(url, **options)


@dataclass
class Setting:
    """A test hands in its own, with a clock turned by hand and a source on its simulator."""

    clock: Clock = field(default_factory=SystemClock)
    find: Callable[..., Source] = locate
    is_debugging: bool = False


@dataclass(frozen=True)
class StreamAddress:
    """Which stream is meant, and how it is reached: the options that the AWS CLI has, too."""

    url: str
    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None

    def source(self) -> Source:
        """The source; nothing is called yet."""
        self._check_one_word()
        return setting().find(self.url, **self.options())

    def _check_one_word(self) -> None:
        """Raises UsageError if an option and the URL say different things: one of them would be ignored silently."""
        query = dict(parse_qsl(self.url.partition("?")[2]))
        arn = _REGION.search(self.url)
        for option, typed, in_url in (
            ("--endpoint-url", self.endpoint_url, query.get("endpoint_url")),
            ("--region", self.region, query.get("region")),
            ("--region", self.region, arn[1] if arn else None),
        ):
            if typed and in_url and typed != in_url:
                # Neither is shown: an endpoint may have a password in it, which is refused only later.
                raise click.UsageError(f"{option} and the URL say different things: leave out one of them")

    def options(self) -> dict[str, Any]:
        """What was said besides the URL."""
        session = None if self.profile is None else make_session(self.profile)
        return {"session": session, "endpoint_url": self.endpoint_url, "region": self.region}


def setting() -> Setting:
    """That of the command that runs."""
    root = click.get_current_context().find_root()
    if not isinstance(root.obj, Setting):
        root.obj = Setting()
    return root.obj


def make_session(profile: str | None) -> Any:
    """A boto3 session: with a profile it takes no other credentials, as the AWS CLI does."""
    import boto3
    from botocore.exceptions import ProfileNotFound

    try:
        return boto3.session.Session(profile_name=profile)
    except ProfileNotFound as error:
        names = ", ".join(boto3.session.Session().available_profiles) or "none"
        raise CredentialsMissing(
            f"there is no profile {profile!r}; the profiles of your AWS configuration are: {names}"
        ) from error
