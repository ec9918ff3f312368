"""Operations on whole streams: made, told of, set, deleted."""

from __future__ import annotations

from typing import Any

from streamiter.clock import microseconds
from streamiter.testing.http.refusal import Refusal, invalid
from streamiter.testing.kinesis.asked import wrong
from streamiter.testing.kinesis.iterators import ListToken
from streamiter.testing.kinesis.operations import Asked, Operation, Operations
from streamiter.testing.kinesis.service import seconds
from streamiter.testing.kinesis.settings import (
    MOST_CREATING,
    MOST_ON_DEMAND,
    MOST_SHARDS_OF_A_STREAM,
    check_often,
    metrics_of,
    tagged,
)
from streamiter.testing.kinesis.truth import HOUR_US, KinesisTruth

SHARDS_ON_DEMAND = 4
MOST_LISTED = 100  # streams, where no limit is asked for


class StreamOperations(Operations):
    """See operations.Operations."""

    @property
    def all(self) -> dict[str, Operation]:
        return {
            "CreateStream": self._create,
            "DeleteStream": self._delete,
            "DescribeAccountSettings": self._describe_account,
            "DescribeLimits": self._describe_limits,
            "DescribeStreamSummary": self._describe_summary,
            "ListStreams": self._list,
            "IncreaseStreamRetentionPeriod": lambda asked, now_us: self._retain(asked, now_us, longer=True),
            "DecreaseStreamRetentionPeriod": lambda asked, now_us: self._retain(asked, now_us, longer=False),
            "EnableEnhancedMonitoring": lambda asked, now_us: self._monitor(asked, now_us, more=True),
            "DisableEnhancedMonitoring": lambda asked, now_us: self._monitor(asked, now_us, more=False),
            "StartStreamEncryption": self._encrypt,
            "StopStreamEncryption": self._decrypt,
            "UpdateStreamMode": self._update_mode,
            "UpdateAccountSettings": self._update_account,
            "UpdateMaxRecordSize": self._update_max_record_size,
            "UpdateStreamRecordDistributionStrategy": self._update_strategy,
            "UpdateStreamWarmThroughput": self._update_warm_throughput,
        }

    def _create(self, asked: Asked, now_us: int) -> None:
        is_on_demand = _mode(asked) == "ON_DEMAND"
        distributes = asked.get("RecordDistributionStrategy") == "AUTO"
        if distributes and not is_on_demand:
            raise wrong("RecordDistributionStrategy AUTO is for streams in ON_DEMAND mode")
        if asked.get("WarmThroughputMiBps") is not None and not is_on_demand:
            raise wrong("WarmThroughputMiBps is for streams in ON_DEMAND mode")
        count = asked.get("ShardCount")
        tags = tagged({}, asked.get("Tags") or {}, self._owner(asked["StreamName"]))
        self._check_room(asked["StreamName"], SHARDS_ON_DEMAND if count is None else count, is_on_demand, now_us)
        stream = self._service.create(asked["StreamName"], now_us, microseconds(self._knobs.enabling))
        stream.is_on_demand, stream.distributes = is_on_demand, distributes
        stream.settings.tags = tags
        stream.settings.max_record_kib = asked.get("MaxRecordSizeInKiB") or stream.settings.max_record_kib
        stream.settings.warm_mibps = asked.get("WarmThroughputMiBps")
        stream.start(SHARDS_ON_DEMAND if count is None else count, now_us)

    def _check_room(self, name: str, count: int, is_on_demand: bool, now_us: int) -> None:
        service = self._service
        service.check_free(name, now_us)
        if sum(stream.status(now_us) == "CREATING" for stream in service.streams.values()) >= MOST_CREATING:
            told = f"at most {MOST_CREATING} streams of an account may be CREATING at the same time"
            raise Refusal("LimitExceededException", f"This request would exceed the limit: {told}.")
        if is_on_demand and service.on_demand_streams >= MOST_ON_DEMAND:
            told = f"This request would exceed the limit of {MOST_ON_DEMAND} on-demand streams of the account."
            raise Refusal("LimitExceededException", told)
        service.check_shards(0 if is_on_demand else count)

    def _delete(self, asked: Asked, now_us: int) -> None:
        stream = self._stream(asked, now_us)
        if len(stream.consumers) and not asked.get("EnforceConsumerDeletion"):
            told = f"Stream {stream.name} under account {self._service.account} has consumers: "
            told += "deregister them first, or set EnforceConsumerDeletion"
            raise Refusal("ResourceInUseException", told)
        self._service.delete(stream, now_us + microseconds(self._knobs.disabling))

    # -- told of

    def _describe_limits(self, asked: Asked, now_us: int) -> dict[str, Any]:
        return {
            "ShardLimit": self._knobs.shard_limit,
            "OpenShardCount": self._service.provisioned_shards,
            "OnDemandStreamCount": self._service.on_demand_streams,
            "OnDemandStreamCountLimit": MOST_ON_DEMAND,
        }

    def _describe_account(self, asked: Asked, now_us: int) -> dict[str, Any]:
        return {"MinimumThroughputBillingCommitment": {"Status": self._service.commitment}}

    def _update_account(self, asked: Asked, now_us: int) -> dict[str, Any]:
        self._service.commitment = asked["MinimumThroughputBillingCommitment"]["Status"]
        return self._describe_account(asked, now_us)

    def _describe_summary(self, asked: Asked, now_us: int) -> dict[str, Any]:
        stream = self._stream(asked, now_us)
        told = told_stream(stream, now_us) | {
            "OpenShardCount": len(stream.open_shards()),
            "ConsumerCount": len(stream.consumers),
            "MaxRecordSizeInKiB": stream.settings.max_record_kib,
        }
        if stream.is_on_demand:
            told["RecordDistributionStrategy"] = "AUTO" if stream.distributes else "USER_PARTITION_KEY"
        warm = stream.settings.warm_mibps
        if warm is not None:
            told["WarmThroughput"] = {"TargetMiBps": warm, "CurrentMiBps": warm}
        return {"StreamDescriptionSummary": told}

    def _list(self, asked: Asked, now_us: int) -> dict[str, Any]:
        after = asked.get("ExclusiveStartStreamName") or ""
        if "NextToken" in asked:
            after = ListToken.read(asked["NextToken"], now_us).after
        self._service.bury(now_us)
        names = sorted(name for name in self._service.streams if name > after)
        page = names[: asked.get("Limit") or MOST_LISTED]
        told: dict[str, Any] = {"StreamNames": page, "HasMoreStreams": len(page) < len(names)}
        told["StreamSummaries"] = [_summary(self._service.streams[name], now_us) for name in page]
        if told["HasMoreStreams"]:
            told["NextToken"] = ListToken("", page[-1], now_us).encode()
        return told

    # -- set

    def _retain(self, asked: Asked, now_us: int, *, longer: bool) -> None:
        self._service.retain(self._active(asked, now_us), asked["RetentionPeriodHours"], longer=longer)

    def _monitor(self, asked: Asked, now_us: int, *, more: bool) -> dict[str, Any]:
        stream = self._active(asked, now_us)
        before, named = stream.settings.metrics, set(metrics_of(asked["ShardLevelMetrics"]))
        wanted = {*before, *named} if more else {*before} - named
        stream.settings.metrics = metrics_of(wanted)
        return {
            "StreamName": stream.name,
            "StreamARN": stream.arn,
            "CurrentShardLevelMetrics": list(before),
            "DesiredShardLevelMetrics": list(stream.settings.metrics),
        }

    def _encrypt(self, asked: Asked, now_us: int) -> None:
        if asked["EncryptionType"] != "KMS":
            raise wrong("EncryptionType must be KMS to start the encryption of a stream")
        stream = self._active(asked, now_us)
        stream.settings.key_id = asked["KeyId"]
        self._service.resharded(stream, now_us)

    def _decrypt(self, asked: Asked, now_us: int) -> None:
        if asked["EncryptionType"] != "KMS":
            raise wrong("EncryptionType must be KMS, the only one that can be stopped")
        stream = self._active(asked, now_us)
        if stream.settings.key_id not in (None, asked["KeyId"]):
            raise wrong(f"Stream {stream.name} is not encrypted with the key {asked['KeyId']}")
        stream.settings.key_id = None
        self._service.resharded(stream, now_us)

    def _update_mode(self, asked: Asked, now_us: int) -> None:
        stream = self._active(asked, now_us)
        is_on_demand = _mode(asked) == "ON_DEMAND"
        if is_on_demand == stream.is_on_demand:
            return
        if asked.get("WarmThroughputMiBps") is not None and not is_on_demand:
            raise wrong("WarmThroughputMiBps is for streams in ON_DEMAND mode")
        check_often(stream.settings.mode_changes_us, 2, now_us, "UpdateStreamMode may switch the mode of a stream")
        stream.is_on_demand = is_on_demand
        stream.distributes = stream.distributes and is_on_demand
        stream.settings.warm_mibps = asked.get("WarmThroughputMiBps")
        self._service.resharded(stream, now_us)

    def _update_max_record_size(self, asked: Asked, now_us: int) -> None:
        stream = self._active(asked, now_us)
        stream.settings.max_record_kib = asked["MaxRecordSizeInKiB"]
        self._service.resharded(stream, now_us)

    def _update_strategy(self, asked: Asked, now_us: int) -> None:
        stream = self._active(asked, now_us)
        distributes = asked["RecordDistributionStrategy"] == "AUTO"
        if not stream.is_on_demand:
            raise wrong(f"Stream {stream.name} is in PROVISIONED mode, which has no record distribution strategy")
        stream.distributes = distributes

    def _update_warm_throughput(self, asked: Asked, now_us: int) -> dict[str, Any]:
        stream = self._active(asked, now_us)
        if not stream.is_on_demand:
            raise invalid(f"Stream {stream.name} is in PROVISIONED mode, which has no warm throughput")
        warm = stream.settings.warm_mibps = asked["WarmThroughputMiBps"]
        self._service.resharded(stream, now_us)
        throughput = {"TargetMiBps": warm, "CurrentMiBps": warm}
        return {"StreamName": stream.name, "StreamARN": stream.arn, "WarmThroughput": throughput}


def told_stream(stream: KinesisTruth, now_us: int) -> dict[str, Any]:
    """What descriptions of all kinds tell of a stream."""
    told = _summary(stream, now_us) | {
        "RetentionPeriodHours": stream.retention_us // HOUR_US,
        "EnhancedMonitoring": [{"ShardLevelMetrics": list(stream.settings.metrics)}],
        "EncryptionType": stream.settings.encryption,
    }
    return told if stream.settings.key_id is None else told | {"KeyId": stream.settings.key_id}


def _summary(stream: KinesisTruth, now_us: int) -> dict[str, Any]:
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "StreamStatus": stream.status(now_us),
        "StreamModeDetails": {"StreamMode": "ON_DEMAND" if stream.is_on_demand else "PROVISIONED"},
        "StreamCreationTimestamp": seconds(stream.created_us),
    }


def _mode(asked: Asked) -> str:
    return (asked.get("StreamModeDetails") or {}).get("StreamMode") or "PROVISIONED"


def check_count(count: int) -> None:
    """Refuses more shards than a stream may have."""
    if count > MOST_SHARDS_OF_A_STREAM:
        raise Refusal("LimitExceededException", f"A stream has at most {MOST_SHARDS_OF_A_STREAM} shards, not {count}")
