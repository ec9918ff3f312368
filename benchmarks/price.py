"""The price: what calls cost on AWS, per shard and day.

The prices are of the us-east-1 price list as we know it; check them before you rely on them:
https://aws.amazon.com/dynamodb/pricing/ . Only GetRecords is charged; DescribeStream and GetShardIterator are not.
"""

from __future__ import annotations

from typing import Any

DAY_SECONDS = 24 * 3600
MONTH_DAYS = 30
DOLLARS_PER_CALL = 0.02 / 100_000  # a GetRecords call, of up to 1 MB: one streams read request unit
FREE_CALLS_A_MONTH = 2_500_000  # of an account and region, all its streams together
KNOWN_AS_OF = "2025"


def price(get_records_calls: float, shards: int, seconds: float) -> dict[str, Any]:
    """What so many calls in so many seconds come to, for one shard and day, beyond what is free."""
    calls = get_records_calls / shards / seconds * DAY_SECONDS
    return {
        "calls": calls,
        "dollars": calls * DOLLARS_PER_CALL,
        "free_shards": FREE_CALLS_A_MONTH / (calls * MONTH_DAYS),  # so many shards are read for nothing
    }
