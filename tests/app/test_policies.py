"""Policies: what becomes of a record on which its processor fails: each by itself, and in an app."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamiter import App, Halt, Ignore, InvalidOption, Quarantine, Retry
from streamiter.app import Failure, Poisoned, Policy, Retried
from streamiter.app.policies import Again, Isolate, Pass, StopApp, Verdict
from streamiter.app.virtual.given import GivenRecords
from streamiter.errors import ProcessorFailed

CHANCE = Random(1)


def failure(tries: int = 1) -> Failure:
    return Failure("bill", "S1", (), ValueError("no"), tries)


def test_each_policy_decides():
    assert Halt().decide(failure(), CHANCE) == StopApp()
    assert Ignore().decide(failure(), CHANCE) == Pass()
    assert Quarantine().decide(failure(), CHANCE) == Isolate()


@given(st.lists(st.floats(0, 86_400), min_size=1, max_size=8), st.integers(1, 12), st.integers())
def test_retry_pauses_as_told_a_tenth_longer_at_most_and_then_gives_up(after, tries, seed):
    verdict = Retry(after=after, then=Ignore()).decide(failure(tries), Random(seed))
    if tries > len(after):
        assert verdict == Pass()
    else:
        pause = after[tries - 1]
        assert isinstance(verdict, Again)
        assert pause <= verdict.after_seconds <= pause * 1.1 + 1e-9


def test_what_failed_together_does_not_come_back_together():
    chance = Random(2)
    pauses = {Retry(after=[10]).decide(failure(), chance).after_seconds for _ in range(100)}  # type: ignore[union-attr]
    assert len(pauses) == 100


def test_one_retry_may_follow_another_and_halt_follows_by_default():
    policy = Retry(after=[1, 1], then=Retry(after=[100], then=Quarantine()))
    verdicts = [policy.decide(failure(tries), CHANCE) for tries in (1, 2, 3, 4)]
    assert [round(told.after_seconds) for told in verdicts[:3]] == pytest.approx([1, 1, 100], abs=10)
    assert verdicts[3] == Isolate()
    assert Retry(after=5).decide(failure(2), CHANCE) == StopApp()


@pytest.mark.parametrize("after", [[], [-1], ["1"], "10", None, [math.nan], [math.inf], [86_401]])
def test_pauses_that_cannot_be_meant_are_refused(after):
    with pytest.raises(InvalidOption, match="pauses in seconds"):
        Retry(after=after)


def test_what_follows_a_retry_is_a_policy():
    with pytest.raises(InvalidOption, match="takes a policy"):
        Retry(after=[1], then="halt")


def test_policies_say_what_they_are():
    assert repr(Retry(after=[1, 2])) == "Retry(after=[1, 2], then=Halt())"
    assert Halt() == Halt()


# -- in an app

ROWS = [{"id": key, "n": number} for number, key in enumerate("aabbc")]


def run(policy: Policy, *, bad: Any = (0,), fails: int = 10**6, given: Any = None, **options: Any) -> Any:
    """An app that fails on rows with these numbers, so many times."""
    app = App("shop", store="memory:")
    failed = dict.fromkeys(bad, 0)

    @app.processor("dynamodb://orders", on_error=policy, **options)
    async def bill(record: Any) -> None:
        number = int(record.new["n"])
        if number in failed and failed[number] < fails:
            failed[number] += 1
            raise ValueError("secret")

    return app.test(GivenRecords(ROWS) if given is None else given)


def passed(trial: Any) -> list[tuple[str, int]]:
    """What was processed in the end: when each record was handed over last."""
    last = {record.new["n"]: (record.key["id"], int(record.new["n"])) for record in trial.delivered}
    return list(last.values())


def test_halt_stops_the_app_and_names_lease_and_place():
    with pytest.raises(
        ProcessorFailed, match=r"processor bill failed on record \d+ of lease shard-0: ValueError"
    ) as caught:
        run(Halt(), bad=[2])
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


def test_ignore_passes_over_what_fails():
    trial = run(Ignore(), bad=[1, 3])
    assert [record.new["n"] for record in trial.delivered] == [0, 1, 2, 3, 4]
    told = [event for event in trial.events if isinstance(event, Poisoned)]
    assert [(event.verdict, event.error) for event in told] == [("ignore", "ValueError")] * 2
    assert list(trial.checkpoints["bill"].values()) == [trial.delivered[-1].sequence_number]


def test_quarantine_stops_that_lease_alone():
    given = GivenRecords(shards=["bad", "good"])
    for number in range(4):
        given.put({"id": f"b{number}", "n": number}, "bad")
        given.put({"id": f"g{number}", "n": 10 + number}, "good")
    trial = run(Quarantine(), bad=[2], given=given)
    assert [int(record.new["n"]) for record in trial.delivered if record.shard_id == "good"] == [10, 11, 12, 13]
    assert [int(record.new["n"]) for record in trial.delivered if record.shard_id == "bad"] == [0, 1, 2]
    assert (
        trial.checkpoints["bill"]["bad"]
        == trial.delivered[[r.key["id"] for r in trial.delivered].index("b1")].sequence_number
    )


def test_retry_holds_the_lease_in_order():
    trial = run(Retry(after=[5, 5]), bad=[1], fails=2)
    assert [int(record.new["n"]) for record in trial.delivered] == [0, 1, 1, 1, 2, 3, 4]
    seconds = [delivery.seconds for delivery in trial.deliveries]
    assert 5 <= seconds[2] - seconds[1] <= 5.6
    assert seconds[4] >= seconds[3] > seconds[2]
    told = [event for event in trial.events if isinstance(event, Retried)]
    assert [(event.tries, event.error) for event in told] == [(1, "ValueError"), (2, "ValueError")]


def test_retry_by_key_holds_that_key_alone():
    trial = run(Retry(after=[5, 5]), bad=[0], fails=2, order="key", concurrency=8)
    first = min(delivery.seconds for delivery in trial.deliveries)
    by_key: dict[str, list[tuple[int, float]]] = {}
    for delivery in trial.deliveries:
        told = (int(delivery.record.new["n"]), delivery.seconds - first)
        by_key.setdefault(delivery.record.key["id"], []).append(told)
    assert [number for number, _ in by_key["a"]] == [0, 0, 0, 1], "in order"
    assert by_key["a"][-1][1] >= 10
    for key in "bc":
        assert all(seconds < 1 for _, seconds in by_key[key]), "others do not wait"
    assert list(trial.checkpoints["bill"].values()) == [max(r.sequence_number for r in trial.delivered)]


def test_a_policy_that_fails_itself_stops_the_app():
    class Broken(Policy):
        def decide(self, failure: Failure, chance: Random) -> Verdict:
            raise RuntimeError("broken")

    with pytest.raises(ProcessorFailed) as caught:
        run(Broken())
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_policy_of_ones_own_sees_the_records():
    seen: list[Any] = []

    class Mine(Policy):
        def decide(self, failure: Failure, chance: Random) -> Verdict:
            seen.append(
                (failure.processor, failure.lease, [record.key["id"] for record in failure.records], failure.tries)
            )
            return Pass() if failure.tries == 2 else Again(1)

    run(Mine(), bad=[2])
    assert seen == [("bill", "shard-0", ["b"], 1), ("bill", "shard-0", ["b"], 2)]


def test_something_else_is_no_policy():
    with pytest.raises(InvalidOption, match="on_error= takes"):
        run("halt")
