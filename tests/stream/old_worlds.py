"""Worlds of which readers of older versions saved their tokens, in `old_tokens.json`: by world, and after how many records."""

from __future__ import annotations

from tests.worlds import NOW, SECOND, Truth, World, WorldShard, truths


def old_worlds() -> dict[str, World]:
    """The worlds by name, as they were when the tokens were taken."""
    roll = [
        WorldShard(
            "shardId-00000001700000000000-aaaaaaaa", (), truths(9, 8, first=10**20), closed_us=NOW - 7 * 3600 * SECOND
        ),
        WorldShard(
            "shardId-00000001700000100000-bbbbbbbb",
            ("shardId-00000001700000000000-aaaaaaaa",),
            truths(7, 6, 2, first=10**20),
        ),
    ]
    split = [
        WorldShard("S3", (), truths(9, 8), closed_us=NOW),
        WorldShard("S1", ("S3",), truths(7, 6, None, 2), closed_us=NOW),
        WorldShard("S2", ("S3",), truths(6.5, 3), closed_us=NOW),
        WorldShard("S4", ("S1",), truths(1.5)),
        WorldShard("S5", (), truths(8.5, 1)),
    ]
    merge = [
        WorldShard("K1", (), truths(9, 5), closed_us=NOW),
        WorldShard("K2", (), truths(8, 4), closed_us=NOW),
        WorldShard("K3", ("K1", "K2"), truths(3, 2)),
        WorldShard("K4", ("K-trimmed",), truths(7, 1)),
    ]
    backwards = [WorldShard("B1", (), [Truth(7, NOW - 9 * SECOND), Truth(7, NOW - 8 * SECOND), Truth(3), Truth(9)])]
    return {
        "roll": World(roll),
        "split": World(split, digits=21),
        "merge": World(merge, knows_tip=True),
        "backwards": World(backwards, digits=30),
    }
