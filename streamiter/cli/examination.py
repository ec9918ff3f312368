"""The examination: everything that reading a stream needs, tried out one after the other; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import boto3
import botocore.exceptions as boto
import click

from streamiter.cli.findings import Finding, Mark
from streamiter.cli.moments import age
from streamiter.cli.standing import arn_of, standings
from streamiter.cli.survey import Looked, list_shards, look
from streamiter.cli.words import in_our_words
from streamiter.clock import SECOND_US, Clock
from streamiter.errors import (
    AccessDenied,
    CredentialsMissing,
    InvalidStream,
    SourceError,
    StreamiterError,
    TimeUnsupported,
)
from streamiter.lineage import Lineage
from streamiter.position import AtTime, Horizon
from streamiter.source import DynamoDBStreams, KinesisStreams, Source
from streamiter.source.aws import our_words
from streamiter.stream.position import parse_position
from streamiter.token import Token

SKEW_SECONDS = 5.0  # worth a word
MOST_SKEW_SECONDS = 240.0  # AWS refuses signatures that are five minutes off
FULL_VIEW = "NEW_AND_OLD_IMAGES"

_UNKNOWN_KEY = "the access key is not known: it was deleted, mistyped, or is of another partition"
_WRONG_SIGNATURE = "the secret key does not belong to the access key, or this machine's clock is off"
_OLD_SESSION = "the session has expired: log in again (aws sso login), or renew the session token"

# What is refused because of who calls, not because of what they may do.
_BAD_KEYS = {
    "UnrecognizedClientException": _UNKNOWN_KEY,
    "InvalidClientTokenId": _UNKNOWN_KEY,
    "InvalidSignatureException": _WRONG_SIGNATURE,
    "SignatureDoesNotMatch": _WRONG_SIGNATURE,
    "ExpiredTokenException": _OLD_SESSION,
    "ExpiredToken": _OLD_SESSION,
}


class Examination:
    """Tries one thing after the other; what rests on something that failed is passed over."""

    def __init__(
        self,
        source: Source,
        clock: Clock,
        token: Callable[[], dict[str, Any] | None] | None,
        tell: Callable[[Finding], None],
    ) -> None:
        """`tell` gets each finding as it is made: what comes next may take long."""
        self.findings: list[Finding] = []
        self.missing: list[str] = []  # IAM actions
        self._source = source
        self._clock = clock
        self._token = token
        self._tell = tell
        self._stopped = False
        self._lineage = Lineage()
        self._service_us = 0

    def run(self) -> None:
        """Everything."""
        source = self._source
        if isinstance(source, DynamoDBStreams | KinesisStreams) and _has_session(source):
            self._try("credentials", lambda: self._credentials(source))
            self._try("region", lambda: self._region(source))
        if isinstance(source, DynamoDBStreams) and _has_session(source):
            self._try("stream", lambda: self._table(source))
        else:
            self._try("stream", lambda: self._add("good", "stream", arn_of(source.name)))
        self._try("shards", self._shards)
        self._try("clock", self._clocks)
        self._try("records", self._records)
        if self._token is not None:
            self._try("token", self._place)

    @property
    def is_well(self) -> bool:
        """Whether nothing has to be mended."""
        return all(finding.mark in ("good", "note") for finding in self.findings)

    def _try(self, title: str, look_at: Callable[[], None]) -> None:
        if self._stopped:
            self._add("skipped", title, "not looked at")
            return
        try:
            look_at()
        except AccessDenied as error:
            self._refused(title, error)
        except (StreamiterError, click.ClickException) as error:
            text = in_our_words(error) if isinstance(error, StreamiterError) else error.message
            told, _, remedy = text.partition("; ")
            self._add("bad", title, told, remedy or "try again; if it lasts, --debug shows more")
        else:
            return
        self._stopped = True

    def _add(self, mark: Mark, title: str, told: str, remedy: str = "") -> None:
        self._found(Finding(mark, title, told, remedy))

    def _found(self, finding: Finding) -> None:
        self.findings.append(finding)
        self._tell(finding)

    def _refused(self, title: str, error: AccessDenied) -> None:
        response = getattr(error.__cause__, "response", {})
        code = str(response.get("Error", {}).get("Code", ""))
        if code in _BAD_KEYS:
            self._add("bad", "credentials", f"the service refuses them ({code})", _BAD_KEYS[code])
            self._see_skew(response)
            return
        action = next(
            (word.strip(":;,") for word in str(error).split() if word.startswith(("dynamodb:", "kinesis:"))), ""
        )
        self.missing.append(action)
        self._add("bad", title, f"permission is missing: {action}", "the policy below allows what reading needs")

    # -- one after the other

    def _credentials(self, source: DynamoDBStreams | KinesisStreams) -> None:
        with our_words("sts:GetCallerIdentity", "credentials"):
            credentials = source.session.get_credentials()
            if credentials is None:
                raise CredentialsMissing(
                    "none were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile (--profile NAME), "
                    "or log in (aws sso login)"
                )
            key = credentials.get_frozen_credentials().access_key
        shown = f"key …{key[-4:]}" if len(key) > 8 else "a short key"
        where = _METHODS.get(credentials.method, credentials.method)
        self._add("good", "credentials", f"{shown}, from {where}{self._caller(source)}")

    def _caller(self, source: DynamoDBStreams | KinesisStreams) -> str:
        """Who the credentials belong to; asked of AWS alone, an emulator knows nobody."""
        try:
            client = source.make_client(_service_of(source))
        except StreamiterError:
            return ""  # there is no region, or none that could be one: that is told as the next finding
        if "amazonaws." not in client.meta.endpoint_url:
            return ""
        try:
            identity = source.session.client("sts", region_name=client.meta.region_name).get_caller_identity()
            return f", {identity['Arn']}"
        except (boto.BotoCoreError, boto.ClientError):
            return ""  # what is wrong with them shows with the first call that counts

    def _region(self, source: DynamoDBStreams | KinesisStreams) -> None:
        client = source.make_client(_service_of(source))
        self._add("good", "region", f"{client.meta.region_name}, {client.meta.endpoint_url}")

    def _table(self, source: DynamoDBStreams) -> None:
        name = source.table
        if source.is_by_arn:
            self._described(source, source.name)
            return
        client = source.make_client("dynamodb")
        source_name = source.name  # raises what is wrong: no such table, no stream, no permission
        with our_words("dynamodb:DescribeTable", f"table {name}", gone=InvalidStream):
            table = client.describe_table(TableName=name)["Table"]
        if not table.get("StreamSpecification", {}).get("StreamEnabled"):
            self._add(
                "bad", "stream", "the table's stream is disabled: what it held is readable for 24 hours, nothing new comes",
                f"aws dynamodb update-table --table-name {name} --stream-specification "
                f"StreamEnabled=true,StreamViewType={FULL_VIEW}",
            )  # fmt: skip
        self._described(source, source_name)

    def _described(self, source: DynamoDBStreams, arn: str) -> None:
        client = source.make_client("dynamodbstreams")
        with our_words("dynamodb:DescribeStream", arn, gone=InvalidStream):
            stream = client.describe_stream(StreamArn=arn, Limit=1)["StreamDescription"]
        view, status = stream.get("StreamViewType", "?"), stream.get("StreamStatus", "?")
        if not any(finding.title == "stream" for finding in self.findings):
            mark: Mark = "good" if status == "ENABLED" else "note"
            remedy = "" if mark == "good" else "it is being switched; look again in a minute"
            self._add(mark, "stream", f"{status}: {arn}", remedy)
        if view == FULL_VIEW:
            self._add("good", "view type", f"{view}: rows before and after each change")
        else:
            self._add(
                "note", "view type", f"{view}: {_VIEWS.get(view, 'not both images')}",
                f"only a new stream can carry more: disable it, then enable it with StreamViewType={FULL_VIEW}",
            )  # fmt: skip

    def _shards(self) -> None:
        self._lineage, self._service_us, _ = list_shards(self._source, self._clock)
        open_shards = [shard_id for shard_id in self._lineage if not self._lineage[shard_id].closed]
        if not len(self._lineage):
            self._add(
                "note", "shards", "none are listed yet", "a stream that was just enabled takes a minute; look again"
            )
            return
        self._add("good", "shards", f"{len(self._lineage)} listed, {len(open_shards)} open")

    def _records(self) -> None:
        """GetShardIterator and GetRecords, where the oldest record is and on an open shard."""
        looked: list[Looked] = []
        for shard_id in [*self._lineage.roots()[:1], *self._lineage.leaves()[:1]]:
            looked.append(look(self._source, self._clock, shard_id, Horizon()))
        times = [found.record.created_us for found in looked if found.record and found.record.created_us is not None]
        retention = age(self._source.retention_us / SECOND_US)
        if times:
            oldest = age((self._service_us - min(times)) / SECOND_US)
            self._add("good", "records", f"can be read; the oldest seen is {oldest} old, the service holds {retention}")
        elif looked:
            self._add("good", "records", f"can be read; there are none yet (the service holds {retention})")
        self._check_times()

    def _check_times(self) -> None:
        shard_id = next(iter(self._lineage.leaves()), None)
        if shard_id is None:
            return
        try:
            self._source.open_iterator(shard_id, AtTime(self._service_us - 60 * SECOND_US))
        except TimeUnsupported:
            self._add(
                "note", "times", "the service cannot open shards at a time: 'latest' and times are read from the horizon on",
                "newer emulators can, and so does AWS",
            )  # fmt: skip
        except SourceError:
            pass  # what it lacks was told already, or passes

    def _clocks(self) -> None:
        page = self._source.list_shards(None)
        if page.service_us is None:
            self._add(
                "note", "clock", "the service does not say what time it is", "this machine's clock is taken instead"
            )
            return
        self._tell_skew(self._clock.now() - page.service_us / SECOND_US)

    def _see_skew(self, response: Mapping[str, Any]) -> None:
        date = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if date:
            self._tell_skew(self._clock.now() - parsedate_to_datetime(date).timestamp())

    def _tell_skew(self, seconds: float) -> None:
        if -SKEW_SECONDS < seconds < SKEW_SECONDS + 1:  # the service's time is floored to the second
            self._add("good", "clock", "agrees with the service's")
            return
        side = "ahead of" if seconds > 0 else "behind"
        mark: Mark = "bad" if abs(seconds) > MOST_SKEW_SECONDS else "note"
        self._add(
            mark, "clock", f"this machine's is {age(abs(seconds))} {side} the service's",
            "AWS refuses calls that are five minutes off: set the clock by NTP (timedatectl set-ntp true)",
        )  # fmt: skip

    def _place(self) -> None:
        assert self._token is not None
        token = parse_position(self._token(), self._source.name)
        assert isinstance(token, Token)
        self._found(look_at_token(self._source, self._clock, token, self._lineage, self._service_us))


def look_at_token(source: Source, clock: Clock, token: Token, lineage: Lineage, service_us: int) -> Finding:
    """Whether what comes next after a token is still held, and for how long."""
    lost: list[str] = []
    oldest = 0.0
    for shard_id, standing in standings(token, lineage).items():
        if standing.kind == "gone":
            lost.append(shard_id)
        if standing.position is None or shard_id not in lineage:
            continue
        found = Looked(is_trimmed=True)
        if not standing.position.is_expired(service_us, source.retention_us):
            found = look(source, clock, shard_id, standing.position)
        if found.is_trimmed:
            lost.append(shard_id)
        elif found.record is not None and found.record.created_us is not None:
            oldest = max(oldest, (service_us - found.record.created_us) / SECOND_US)
    if lost:
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        return Finding(
            "bad", "token", f"its place is no longer held in {', '.join(lost[:3])}{more}: records may be lost",
            "tail and export read on with --skip-gaps; in a program, stream.skip() or on_gap='skip'",
        )  # fmt: skip
    left = source.retention_us / SECOND_US - oldest
    is_short = left < source.retention_us / SECOND_US / 6
    told = f"{age(oldest)} behind; what comes next is held for {age(left)} more" if oldest else "at the tip"
    return Finding("note" if is_short else "good", "token", told, "read on soon" if is_short else "")


def _has_session(source: DynamoDBStreams | KinesisStreams) -> bool:
    """Whether clients are made here. A session that cannot be had is one, too: what hinders it is the first finding."""
    try:
        return source.session is not None
    except StreamiterError:
        return True


def _service_of(source: DynamoDBStreams | KinesisStreams) -> str:
    return "kinesis" if isinstance(source, KinesisStreams) else "dynamodbstreams"


_METHODS = {
    "env": "the environment",
    "shared-credentials-file": "the credentials file",
    "config-file": "the config file",
    "iam-role": "the instance's role",
    "container-role": "the container's role",
    "assume-role": "an assumed role",
    "sso": "single sign-on",
}
_VIEWS = {
    "KEYS_ONLY": "record.new and record.old are None",
    "NEW_IMAGE": "record.old is None, so nobody can tell what a change changed",
    "OLD_IMAGE": "record.new is None, so nobody can tell what a change changed",
}


def default_region() -> str | None:
    """Where calls would go without a region of their own."""
    return boto3.session.Session().region_name
