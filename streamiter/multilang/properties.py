"""Properties: reads a KCL application's .properties file, in Java's syntax, and reports names that our daemon ignores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from streamiter.errors import InvalidOption

# The properties that our daemon obeys, ...
MEANT: Final = (
    *(
        "executableName",
        "applicationName",
        "streamName",
        "streamArn",
        "regionName",
        "kinesisEndpoint",
        "dynamoDBEndpoint",
    ),
    *("initialPositionInStream", "initialPositionInStreamExtended", "maxRecords", "idleTimeBetweenReadsInMillis"),
    *("failoverTimeMillis", "shutdownGraceMillis", "timeoutInSeconds", "callProcessRecordsEvenForEmptyRecordList"),
    *("workerId", "AwsCredentialsProvider", "retrievalMode", "processingLanguage"),
)
# ... and those of the Java library that it does not need, each with the reason.
NEEDLESS: Final = {
    **dict.fromkeys(
        (
            "shardSyncIntervalMillis",
            "parentShardPollIntervalMillis",
            "shardPrioritization",
            "listShardsBackoffTimeInMillis",
        ),
        "shards are listed as often as their ends ask for",
    ),
    **dict.fromkeys(
        (
            "metricsLevel",
            "metricsBufferTimeMillis",
            "metricsMaxQueueSize",
            "metricsEnabledDimensions",
            "cloudWatchEndpoint",
        ),
        "no metrics are sent to CloudWatch",
    ),
    **dict.fromkeys(
        ("clientVersionConfig", "isGracefulLeaseHandoffEnabled", "gracefulLeaseHandoffTimeoutMillis"),
        "leases are always handed over gracefully",
    ),
    **dict.fromkeys(
        (
            *("leaseAssignmentIntervalMillis", "workerMetricsReporterFreqInMillis", "workerMetricsTableName"),
            *(
                "maxLeasesForWorker",
                "maxLeasesToStealAtOneTime",
                "maxLeaseRenewalThreads",
                "workerUtilizationAwareAssignment",
            ),
            *("coordinatorStateTableName", "leaseTableDeletionProtectionEnabled", "leaseTablePitrEnabled"),
        ),
        "leases are balanced by their number alone",
    ),
    **dict.fromkeys(
        ("initialLeaseTableReadCapacity", "initialLeaseTableWriteCapacity", "billingMode", "tableName"),
        "the table is named as the application, and pays by request",
    ),
    **dict.fromkeys(
        (
            "cleanupLeasesUponShardCompletion",
            "completedLeaseCleanupIntervalMillis",
            "garbageLeaseCleanupIntervalMillis",
        ),
        "leases of completed shards go when the service lists the shard no more",
    ),
    **dict.fromkeys(
        (
            *("maxActiveThreads", "taskBackoffTimeMillis", "validateSequenceNumberBeforeCheckpointing", "userAgent"),
            *(
                "socketTimeout",
                "requestTimeout",
                "retryGetRecordsInSeconds",
                "maxGetRecordsThreadPool",
                "logWarningForTaskAfterMillis",
            ),
            *(
                "skipShardSyncAtStartupIfLeasesExist",
                "skipShardSyncAtWorkerInitializationIfLeasesExist",
                "dataFetchingStrategy",
            ),
            *("AwsCredentialsProviderDynamoDB", "AwsCredentialsProviderCloudWatch", "ignoreUnexpectedChildShards"),
        ),
        "it has no meaning here",
    ),
}
# Java's names for sources of credentials that boto3's own chain looks at, too.
CREDENTIALS: Final = (
    *("DefaultCredentialsProvider", "DefaultAWSCredentialsProviderChain", "EnvironmentVariableCredentialsProvider"),
    *("ProfileCredentialsProvider", "InstanceProfileCredentialsProvider", "ContainerCredentialsProvider"),
    *("WebIdentityTokenFileCredentialsProvider", "SystemPropertyCredentialsProvider", "AwsCredentialsProviderChain"),
)
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY: Final = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Properties:
    """The values of a file, and notes for its author."""

    values: Mapping[str, str]  # by the names of MEANT
    notes: tuple[str, ...] = field(default=())  # which properties are ignored, and why

    def number(self, name: str) -> int | None:
        """A whole number; None if the file does not name it."""
        text = self.values.get(name)
        if text is None:
            return None
        least, most, hint = NUMBERS[name]
        if not re.fullmatch(r"[0-9]{1,18}", text) or not least <= int(text) <= most:
            upto = f"from {least} to {most}" if most < LONGEST_MS else f"{least} or more"
            raise InvalidOption(f"{name} = {text}: it takes a whole number, {upto}{hint}")
        return int(text)

    def flag(self, name: str) -> bool:
        """True or false; false if the file does not name it."""
        text = self.values.get(name, "false").lower()
        if text not in ("true", "false"):
            raise InvalidOption(f"{name} = {self.values[name]}: it is true or false")
        return text == "true"

    def needed(self, name: str) -> str:
        """A value that the file has to name."""
        if not self.values.get(name):
            raise InvalidOption(f"{name} is missing: the Java daemon asks for it, too")
        return self.values[name]


def read_properties(content: bytes) -> Properties:
    """A file's properties. Raises InvalidOption, with its name, if a value makes no sense."""
    try:
        text = content.decode("utf-8-sig")  # some editors put a mark before the text
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # as Java reads them
    values, notes = {}, []
    known = {name.lower(): name for name in (*MEANT, *NEEDLESS)}
    for name, value in parse(text).items():
        meant = known.get(name.lower())
        if meant is None:
            near = get_close_matches(name, known.values(), n=1)
            notes.append(f"{name} is no property that we know, and is ignored" + (f": {near[0]}?" if near else ""))
        elif meant in NEEDLESS:
            notes.append(f"{meant} is ignored: {NEEDLESS[meant]}")
        else:
            values[meant] = value.strip()
    found = Properties(values, tuple(notes))
    _check(found)
    return found


def parse(text: str) -> dict[str, str]:
    """Names and values, by Java's rules: comments, continued lines, escapes. If a name comes twice, the last one counts."""
    found: dict[str, str] = {}
    for line in _logical(text):
        match = _KEY.match(line)
        assert match is not None
        found[_unescaped(match[1])] = _unescaped(line[match.end() :])
    return found


def _logical(text: str) -> list[str]:
    lines: list[str] = []
    goes_on = False
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if goes_on and not lines[-1]:  # a backslash alone on its line: Java begins a new line behind it
            del lines[-1]
            goes_on = False
        if not goes_on and (not line or line[0] in "#!"):
            continue
        lines[-1:] = [lines[-1] + line] if goes_on else [*lines[-1:], line]
        slashes = len(line) - len(line.rstrip("\\"))
        goes_on = slashes % 2 == 1
        if goes_on:
            lines[-1] = lines[-1][:-1]
    return lines


def _unescaped(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        code = match[1]
        if code == "u":
            raise InvalidOption(
                f"{text[:50]}: behind \\u there are four hexadecimal digits; a backslash is written \\\\"
            )
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", replaced, text, flags=re.DOTALL)


def _check(found: Properties) -> None:
    found.needed("executableName")
    name = found.needed("applicationName")
    if not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", name):
        raise InvalidOption(f"applicationName = {name}: it names a DynamoDB table: 3 to 255 letters, digits, and - _ .")
    if not (found.values.get("streamName") or found.values.get("streamArn")):
        raise InvalidOption("streamName or streamArn is missing: one of them says what is read")
    for told, (form, what) in FORMS.items():
        value = found.values.get(told)
        if value and not re.fullmatch(form, value):
            raise InvalidOption(f"{told} = {value}: it is {what}")
    position = found.values.get("initialPositionInStream", "LATEST").upper()
    if position not in ("TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"):
        raise InvalidOption(f"initialPositionInStream = {position}: it is TRIM_HORIZON, LATEST, or AT_TIMESTAMP")
    if position == "AT_TIMESTAMP" and "initialPositionInStreamExtended" not in found.values:
        raise InvalidOption("initialPositionInStream = AT_TIMESTAMP: initialPositionInStreamExtended says when")
    mode = found.values.get("retrievalMode", "POLLING").upper()
    if mode not in ("POLLING", "DEFAULT", "FANOUT"):
        raise InvalidOption(
            f"retrievalMode = {mode}: it is POLLING, FANOUT or DEFAULT; all of them are read by polling here"
        )
    given = found.values.get("AwsCredentialsProvider", CREDENTIALS[0])
    provider = given.partition("|")[0].rpartition(".")[2]
    if provider.lower() not in {told.lower() for told in CREDENTIALS}:
        raise InvalidOption(
            f"AwsCredentialsProvider = {given}: credentials come from AWS's usual chain: the environment, AWS_PROFILE, a role. "
            f"Write {CREDENTIALS[0]}"
        )
    for number in NUMBERS:
        found.number(number)
    found.flag("callProcessRecordsEvenForEmptyRecordList")


_ENDPOINT: Final = (r"https?://\S+", "a URL: http://HOST:PORT, or https://HOST")
FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "streamName": (r"[A-Za-z0-9_.-]{1,128}", "a stream's name: letters, digits, and - _ . , at most 128 of them"),
    "streamArn": (
        r"arn:[\w-]+:(kinesis|dynamodb):[\w-]+:\d+:(stream|table)/\S+",
        "the ARN of a Kinesis stream, or of a DynamoDB stream",
    ),
    "regionName": (r"[a-z0-9-]{1,63}", "a region, such as eu-west-1"),
    "kinesisEndpoint": _ENDPOINT,
    "dynamoDBEndpoint": _ENDPOINT,
}
LONGEST_MS: Final = 10**15  # 30,000 years: a longer time must be a mistake
#: The least, the most, and a hint at the usual mistake.
NUMBERS: Final[Mapping[str, tuple[int, int, str]]] = {
    "initialPositionInStreamExtended": (0, 253_402_300_799, ": seconds since 1970, not milliseconds"),
    "maxRecords": (1, 10_000, ""),
    "idleTimeBetweenReadsInMillis": (0, LONGEST_MS, ""),
    "failoverTimeMillis": (1000, LONGEST_MS, ""),
    "shutdownGraceMillis": (0, LONGEST_MS, ""),
    "timeoutInSeconds": (1, LONGEST_MS, ""),
}


def words_of(executable: str) -> list[str]:
    """The command's words. As Java's daemon does, this cuts at blanks, and knows neither quotes nor a shell."""
    return executable.split()


__all__: list[Any] = ["Properties", "parse", "read_properties", "words_of"]
