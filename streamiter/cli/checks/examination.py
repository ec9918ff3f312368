"""The examination tries out everything that reading a stream needs, one thing after the other; it writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import boto3
import click

from streamiter.cli.checks.caller import service_of, who_calls
from streamiter.cli.checks.findings import Finding, Mark
from streamiter.cli.checks.idle import PRICE_PER_100_000, idle_day, told_day, told_kinesis_day
from streamiter.cli.checks.standing import arn_of
from streamiter.cli.checks.survey import Looked, list_shards, look
from streamiter.cli.checks.tokencheck import look_at_token
from streamiter.cli.moments import age
from streamiter.cli.terminal.words import in_our_words, with_class
from streamiter.clock import LAST_US, SECOND_US, Clock
from streamiter.errors import (
    AccessDenied,
    InvalidStream,
    StreamiterError,
    TimeUnsupported,
)
from streamiter.lineage import Lineage
from streamiter.position import AtTime, Horizon
from streamiter.reading.ahead import AHEAD_US
from streamiter.source import DynamoDBStreams, KinesisStreams, Source
from streamiter.source.aws import BAD_KEYS, aws_errors
from streamiter.stream.starting import parse_position
from streamiter.token import Token

SKEW_SECONDS = 5.0  # worth a word
MOST_SKEW_SECONDS = 240.0  # AWS refuses signatures that are five minutes off
FULL_VIEW = "NEW_AND_OLD_IMAGES"


class Examination:
    """Tries one thing after the other, and skips a check if one that it depends on failed."""

    def __init__(
        self,
        source: Source,
        clock: Clock,
        token: Callable[[], dict[str, Any] | None] | None,
        tell: Callable[[Finding], None],
        *,
        price: float = PRICE_PER_100_000,
    ) -> None:
        """`tell` gets each finding at once, because the next check may take long. `price` is that of 100,000 reads."""
        self.findings: list[Finding] = []
        self.missing: list[str] = []  # IAM actions
        self._source = source
        self._clock = clock
        self._token = token
        self._tell = tell
        self._price = price
        self._unproven: list[Finding] = []  # found without a call: the service's first answer may say otherwise
        self._stopped = False
        self._lineage = Lineage()
        self._service_us = 0

    def run(self) -> None:
        """Runs all checks."""
        source = self._source
        if isinstance(source, DynamoDBStreams | KinesisStreams) and _has_session(source):
            self._try("credentials", lambda: self._keep("credentials", who_calls(source)))
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
        """Whether no finding asks for a fix."""
        return all(finding.mark in ("good", "note") for finding in self.findings)

    def _try(self, title: str, look_at: Callable[[], None]) -> None:
        if self._stopped:
            if all(finding.title != title for finding in self.findings):
                self._add("skipped", title, "not checked")
            return
        try:
            look_at()
        except AccessDenied as error:
            self._refused(title, error)
        except (StreamiterError, click.ClickException) as error:
            text = in_our_words(error) if isinstance(error, StreamiterError) else error.message
            told, _, remedy = text.partition("; ")
            kind = error if isinstance(error, StreamiterError) else error.__cause__
            self._add("bad", title, with_class(told, kind), remedy or "try again; if it lasts, --debug shows more")
        else:
            return
        self._stopped = True

    def _keep(self, title: str, told: str) -> None:
        """Keeps a finding that no call has proved yet; it is told before the next one."""
        self._unproven.append(Finding("good", title, told))

    def _add(self, mark: Mark, title: str, told: str, remedy: str = "") -> None:
        self._found(Finding(mark, title, told, remedy))

    def _found(self, finding: Finding) -> None:
        for told in (*self._unproven, finding):
            self.findings.append(told)
            self._tell(told)
        self._unproven = []

    def _refused(self, title: str, error: AccessDenied) -> None:
        response = getattr(error.__cause__, "response", {})
        code = str(response.get("Error", {}).get("Code", ""))
        if code in BAD_KEYS:
            self._refused_credentials(title, code)
            self._see_skew(response)
            return
        action = next(
            (word.strip(":;,") for word in str(error).split() if word.startswith(("dynamodb:", "kinesis:"))), ""
        )
        self.missing.append(action)
        self._add(
            "bad", title, f"permission is missing: {action}", "attach the policy below, which allows what reading needs"
        )

    def _refused_credentials(self, title: str, code: str) -> None:
        """The service refused the credentials: this replaces what was found out without asking it."""
        told = f"the service refuses them ({code}) [{AccessDenied.__name__}]"
        refused = Finding("bad", "credentials", told, BAD_KEYS[code])
        if any(finding.title == "credentials" for finding in self.findings):  # they were good a moment ago
            self._found(Finding("bad", title, f"the service refuses the credentials: {code}", BAD_KEYS[code]))
            return
        kept = [finding for finding in self._unproven if finding.title != "credentials"]
        self._unproven = []
        for finding in (refused, *kept):
            self._found(finding)

    # -- one after the other

    def _region(self, source: DynamoDBStreams | KinesisStreams) -> None:
        client = source.make_client(service_of(source))
        self._keep("region", f"{client.meta.region_name}, {client.meta.endpoint_url}")

    def _table(self, source: DynamoDBStreams) -> None:
        name = source.table
        if source.is_by_arn:
            self._described(source, source.name, None)
            return
        client = source.make_client("dynamodb")
        source_name = source.name  # raises what is wrong: no such table, no stream, no permission
        with aws_errors("dynamodb:DescribeTable", f"table {name}", gone=InvalidStream):
            table = client.describe_table(TableName=name)["Table"]
        disabled = None
        if not table.get("StreamSpecification", {}).get("StreamEnabled"):
            disabled = Finding(
                "bad", "stream",
                "the table's stream is disabled: no new records come, and the old ones stay readable for 24 hours",
                f"aws dynamodb update-table --table-name {name} --stream-specification "
                f"StreamEnabled=true,StreamViewType={FULL_VIEW}",
            )  # fmt: skip
        self._described(source, source_name, disabled)

    def _described(self, source: DynamoDBStreams, arn: str, disabled: Finding | None) -> None:
        client = source.make_client("dynamodbstreams")
        with aws_errors("dynamodb:DescribeStream", arn, gone=InvalidStream):
            stream = client.describe_stream(StreamArn=arn, Limit=1)["StreamDescription"]
        view, status = stream.get("StreamViewType", "?"), stream.get("StreamStatus", "?")
        if disabled is not None:
            self._found(disabled)
        else:
            mark: Mark = "good" if status == "ENABLED" else "note"
            remedy = "" if mark == "good" else "the service is switching it; check again in a minute"
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
                "note", "shards", "none are listed yet", "a stream that was just enabled takes a minute; check again"
            )
            return
        self._add("good", "shards", f"{len(self._lineage)} listed, {len(open_shards)} open")
        if isinstance(self._source, DynamoDBStreams):
            day = idle_day(len(open_shards), len(self._lineage), "dynamodb")
            self._add("good", "idle day", told_day(day, len(open_shards), self._price))
        elif isinstance(self._source, KinesisStreams):
            self._add("good", "idle day", told_kinesis_day(idle_day(len(open_shards), len(self._lineage), "kinesis")))

    def _records(self) -> None:
        """GetShardIterator and GetRecords, where the oldest record is and on an open shard."""
        looked: list[Looked] = []
        for shard_id in [*self._lineage.roots()[:1], *self._lineage.leaves()[:1]]:
            looked.append(look(self._source, self._clock, shard_id, Horizon()))
        times = [found.record.created_us for found in looked if found.record and found.record.created_us is not None]
        endless = self._source.retention_us >= LAST_US
        retention = "until they are trimmed" if endless else f"for {age(self._source.retention_us / SECOND_US)}"
        if times:
            oldest = age((self._service_us - min(times)) / SECOND_US)
            self._add(
                "good",
                "records",
                f"can be read; the oldest is {oldest} old, and the service keeps records {retention}",
            )
        elif looked:
            self._add("good", "records", f"can be read; there are none yet (the service keeps records {retention})")
        self._see_ahead(looked)
        self._check_times()

    def _see_ahead(self, looked: list[Looked]) -> None:
        """Whether one of these records was created in the future; the token's own check looks at those that come next."""
        for found in looked:
            record = found.record
            if record is None or record.created_us is None or record.created_us <= self._service_us + AHEAD_US:
                continue
            ahead = age((record.created_us - self._service_us) / SECOND_US)
            self._add(
                "note", "future",
                f"record {record.sequence_number} of shard {record.shard_id} was created {ahead} in the future",
                "it waits until then, with what follows in its shard: stream.skip() passes over it, and lateness=None waits "
                "for nothing; correct the clock of the service or emulator that wrote this time",
            )  # fmt: skip
            return

    def _check_times(self) -> None:
        shard_id = next(iter(self._lineage.leaves()), None)
        if shard_id is None:
            return
        try:
            self._source.open_iterator(shard_id, AtTime(self._service_us - 60 * SECOND_US))
        except TimeUnsupported:
            self._add(
                "note", "times",
                "the service cannot open a shard at a time, so streamiter reads 'latest' and times from the horizon on",
                "AWS and newer emulators can",
            )  # fmt: skip
        except StreamiterError:
            pass  # it is told where records are looked at, or it passes

    def _clocks(self) -> None:
        page = self._source.list_shards(None)
        if page.service_us is None:
            self._add(
                "note",
                "clock",
                "the service does not say what time it is",
                "streamiter uses this machine's clock instead",
            )
            return
        self._tell_skew(self._clock.now() - page.service_us / SECOND_US)

    def _see_skew(self, response: Mapping[str, Any]) -> None:
        date = response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if date and all(finding.title != "clock" for finding in self.findings):
            self._tell_skew(self._clock.now() - parsedate_to_datetime(date).timestamp())

    def _tell_skew(self, seconds: float) -> None:
        if -SKEW_SECONDS < seconds < SKEW_SECONDS + 1:  # the service's time is floored to the second
            self._add("good", "clock", "agrees with the service's clock")
            return
        side = "ahead of" if seconds > 0 else "behind"
        mark: Mark = "bad" if abs(seconds) > MOST_SKEW_SECONDS else "note"
        self._add(
            mark, "clock", f"this machine's clock is {age(abs(seconds))} {side} the service's",
            "AWS refuses calls with a clock that is five minutes off: set it by NTP (timedatectl set-ntp true)",
        )  # fmt: skip

    def _place(self) -> None:
        assert self._token is not None
        token = parse_position(self._token(), self._source.name)
        assert isinstance(token, Token)
        self._found(look_at_token(self._source, self._clock, token, self._lineage, self._service_us))


def _has_session(source: DynamoDBStreams | KinesisStreams) -> bool:
    """Whether this command makes the clients. If it cannot make a session, the first finding says why."""
    try:
        return source.session is not None
    except StreamiterError:
        return True


_VIEWS = {
    "KEYS_ONLY": "record.new and record.old are None",
    "NEW_IMAGE": "record.old is None, so you cannot see what a change changed",
    "OLD_IMAGE": "record.new is None, so you cannot see what a change changed",
}


def default_region() -> str | None:
    """Where calls would go without a region of their own."""
    return boto3.session.Session().region_name
