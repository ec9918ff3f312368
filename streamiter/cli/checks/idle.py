"""Idle days: the calls that a reader makes in a day without changes, and what they cost; pure."""

from __future__ import annotations

from typing import NamedTuple

DAY_SECONDS = 86_400
READS_PER_SECOND = 1.0  # of each open shard at its tip, where nothing comes
LISTINGS_PER_MINUTE = 1.0
SHARDS_A_PAGE = {"dynamodb": 100, "kinesis": 1000}

# What DynamoDB Streams takes for 100,000 GetRecords calls in us-east-1; its other calls are free. Prices change, and differ
# from region to region: --price takes another one.
PRICE_PER_100_000 = 0.02
FREE_A_MONTH = 2_500_000  # GetRecords calls of an account in a region


class IdleDay(NamedTuple):
    """What one reader asks in a day in which nothing changes."""

    reads: int  # GetRecords
    listings: int  # DescribeStream, or ListShards

    def dollars(self, price: float) -> float:
        """What the reads cost, at so many dollars for 100,000 of them."""
        return self.reads / 100_000 * price


def idle_day(open_shards: int, all_shards: int, service: str) -> IdleDay:
    """The day of a reader that waits at the tip of so many shards."""
    pages = max(1, -(-all_shards // SHARDS_A_PAGE[service]))
    return IdleDay(
        round(open_shards * READS_PER_SECOND * DAY_SECONDS), round(pages * LISTINGS_PER_MINUTE * DAY_SECONDS / 60)
    )


def told_day(day: IdleDay, open_shards: int, price: float) -> str:
    """The day of a DynamoDB stream, with the formula, so that a reader can put in numbers of their own."""
    shards = f"{open_shards:,} open shard{'' if open_shards == 1 else 's'}"
    formula = f"{shards} x {DAY_SECONDS:,} s x {READS_PER_SECOND:g} a second"
    return (
        f"{day.reads:,} GetRecords calls a day for each reader ({formula}), about ${day.dollars(price):,.2f} at ${price:g} for "
        f"100,000; the first {FREE_A_MONTH:,} of a month are free, and so are {day.listings:,} DescribeStream calls"
    )


def told_kinesis_day(day: IdleDay) -> str:
    """The day of a Kinesis stream: its calls are part of what its shards cost."""
    return (
        f"{day.reads:,} GetRecords and {day.listings:,} ListShards calls a day for each reader; Kinesis charges for shards and "
        "data, not for these calls"
    )
