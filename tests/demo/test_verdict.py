from __future__ import annotations

import pytest

from streamiter.demo.verdict import Verdict

A, B, C, X = (("S1", name) for name in "abcx")
DUE = [A, B, C]


def told(read, unkilled=DUE):
    verdict = Verdict.of(read, DUE, unkilled)
    (span,) = verdict.line
    return verdict.is_good, span.text


def test_all_is_well():
    assert told([A, B, C]) == (True, "✓ 3 records: nothing lost, nothing twice, same order as without the kill")


@pytest.mark.parametrize(
    "read, words",
    [
        ([A, C], "1 lost, nothing twice"),
        ([], "3 lost, nothing twice"),
        ([A, B, B, C], "nothing lost, 1 twice"),
        ([A, A, C], "1 lost, 1 twice"),
        ([A, B, C, X], "nothing lost, nothing twice, 1 never written"),
        ([B, A, C], "nothing lost, nothing twice"),
    ],
)
def test_whatever_is_wrong_is_told(read, words):
    assert told(read) == (False, f"✗ 3 records: {words}, another order than without the kill")


def test_the_stream_that_nobody_killed_is_held_to_the_law_as_well():
    assert not told([A, B, C], unkilled=[B, A, C])[0]
