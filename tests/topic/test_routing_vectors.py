"""Where keys lie, for good: these vectors must never change, or the records of a key are in two partitions.

Each can be computed without streamiter, as `printf 's:order-1' | b2sum -l 64` does.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from decimal import Decimal
from uuid import UUID

import pytest

from streamiter.topic.routing import canonical, key_hash, partition_of

# The key, the bytes that stand for it, their hash, and the partition of 16.
VECTORS = [
    ("", b"s:", "c959dcad582e13c6", 12),
    ("a", b"s:a", "f96a63ca90ebbcb2", 15),
    ("order-1", b"s:order-1", "cb14b09a3f138802", 12),
    ("1", b"s:1", "4981817ab10ef6ee", 4),
    ("straße", b"s:stra\xc3\x9fe", "39d1b25276171c56", 3),
    ("\N{EURO SIGN}", b"s:\xe2\x82\xac", "0c3443096fa23755", 0),
    (b"", b"b:", "59d539b9aa5d1013", 5),
    (b"1", b"b:1", "892860960b1bf449", 8),
    (b"\x00\xff", b"b:\x00\xff", "6140abe45ff72b80", 6),
    (0, b"n:0E0", "feacd658133a808a", 15),
    (1, b"n:1E0", "376e0b8cb18c2835", 3),
    (-1, b"n:-1E0", "59bfb87d889d15b6", 5),
    (10, b"n:1E1", "62723cadc51b4c86", 6),
    (42, b"n:42E0", "cafe5cb0adbbae01", 12),
    (1_000_000_007, b"n:1000000007E0", "e78acd4a4f262ba5", 14),
    (2**63, b"n:9223372036854775808E0", "acffcdfca41d23ff", 10),
    (2**64, b"n:18446744073709551616E0", "ed541d39ea977b9e", 14),
    (10**30, b"n:1E30", "0bfcc78b277b7770", 0),
    (1.0, b"n:1E0", "376e0b8cb18c2835", 3),
    (0.5, b"n:5E-1", "8353fa34363f53af", 8),
    (-0.25, b"n:-25E-2", "389f6addfa885d96", 3),
    (0.1, b"n:1000000000000000055511151231257827021181583404541015625E-55", "e48603ae63246541", 14),
    (
        1e300,
        b"n:100000000000000005250476025520442024870446858110815915491585411551180245798890819578637137508044786404370444383288387817694252323536043057564479218478670698284838720092657580373783023379478809005936895323497079994508111903896764088007465274278014249457925878882005684283811566947219638686545940054016E1",
        "b51235f176ed4c69",
        11,
    ),
    (Decimal("1.00"), b"n:1E0", "376e0b8cb18c2835", 3),
    (Decimal("0.1"), b"n:1E-1", "adb42410cbfdba54", 10),
    (Decimal("123.450"), b"n:12345E-2", "eac8fbfdd1a76cf0", 14),
    (Decimal("1E+30"), b"n:1E30", "0bfcc78b277b7770", 0),
    (True, b"t:1", "c1712b3e1317cee8", 12),
    (False, b"t:0", "46938efd5fd5f8a0", 4),
    (UUID("12345678-1234-5678-1234-567812345678"), b"s:12345678-1234-5678-1234-567812345678", "db27ba1e3655f49d", 13),
    ((), b"l:", "29faee6595870e37", 2),
    ((None,), b"l:2:0:", "ef40d31122436410", 14),
    (("eu", 7), b"l:4:s:eu5:n:7E0", "e7f89cbc0e5c2d8f", 14),
    (("eu", "7"), b"l:4:s:eu3:s:7", "f9a8b8197829c3a9", 15),
    ((("a", "b"), True, None, 1.5), b"l:12:l:3:s:a3:s:b3:t:12:0:7:n:15E-1", "5e2e93e83e426fa4", 5),
]


@pytest.mark.parametrize("key, written, hashed, partition", VECTORS)
def test_a_key_lies_where_it_always_lay(key, written, hashed, partition):
    assert canonical(key) == written
    assert f"{key_hash(key):016x}" == hashed
    assert partition_of(key, 16) == partition


def test_the_shell_s_own_tool_agrees():
    """Where there is one; else Python's own BLAKE2b by itself."""
    for _, written, hashed, _ in VECTORS:
        assert (_told_by_b2sum if shutil.which("b2sum") else _told_by_python)(written) == hashed


def _told_by_b2sum(written: bytes) -> str:
    told = subprocess.run(["b2sum", "-l", "64"], input=written, capture_output=True, check=True).stdout
    return told.split()[0].decode()


def _told_by_python(written: bytes) -> str:
    return hashlib.blake2b(written, digest_size=8).hexdigest()
