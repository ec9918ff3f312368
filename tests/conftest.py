"""What every test shares: how hard hypothesis looks, and which tests wait to be asked for or run by themselves."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings

# A slow machine is not a failure. `deep` is for a night's search; `ci` tries the same examples every time; `mutants` does not
# look for a smaller failure where any is enough.
settings.register_profile(
    "default",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=100,
    print_blob=True,
    derandomize=False,
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None)
settings.register_profile("mutants", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate])
settings.register_profile("deep", settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("STREAMITER_HYPOTHESIS", "default"))

# Spark's JVMs live for seconds here, and would spend most of them on becoming fast.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# These share Spark's session, which takes long to start.
SESSION = "a session of Spark"
IN_SESSION = tuple(
    f"tests/spark/test_{name}.py"
    for name in ("batch", "crashes", "leftovers", "logs", "oracle", "sinks", "slots", "streaming")
)

# A file runs on one worker, so that what is made once for it is made once; but for these, whose tests share nothing.
APART = ("tests/test_docs.py",)

# Most tests that depend on the real clock wait for processes of their own, so each is dealt out by itself; but for these,
# which share servers.
TOGETHER = ("tests/log/test_redis_cluster.py",)

# What takes long begins early, so that no worker is left with it at the end.
LONG = (
    *TOGETHER,
    *IN_SESSION,
    "tests/benchmarks/test_cases.py",
    "tests/test_docs.py",
    "tests/demo/",
    "tests/cli/",
    "tests/fleet/",
    "tests/store/",
    "tests/app/",
    "tests/integration/",
    "tests/test_example",
    "tests/properties/",
    "tests/test_dev.py",
)

# Seconds that a property may take: hypothesis gives itself 300 to make a failing example small, once it has found one.
PROPERTY_TIMEOUT = 900


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--real",
        action="store_true",
        help="also run the tests with Bloop, the AWS CLI, async-kinesis, the KCL and Kafka",
    )
    parser.addoption(
        "--realtime",
        choices=("last", "only", "never"),
        default="last",
        help="tests that depend on the real clock: run them last (default), only them, or none of them",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where only tests that depend on the real clock run, files without one are not imported: that takes longer."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if config.getoption("--realtime") == "only" and is_test and "realtime" not in collection_path.read_text("utf-8"):
        return True
    return None


def unit_of(nodeid: str, is_realtime: bool = False) -> str:
    """What a test shares its worker with: most often the tests of its file."""
    file = nodeid.partition("::")[0]
    is_apart = file not in TOGETHER if is_realtime else file in APART
    return SESSION if file in IN_SESSION else nodeid if is_apart else file


def turn_of(nodeid: str) -> int:
    """Tests that take long come first."""
    return next((turn for turn, place in enumerate(LONG) if nodeid.startswith(place)), len(LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deals units out to the workers, in the order of their first tests. xdist's own groups are lost on this pytest."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    is_realtime = config.getoption("--realtime") == "only"

    class Units(LoadScopeScheduling):  # type: ignore[misc]  # xdist tells no types
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid, is_realtime)

    config.option.loadscopereorder = False
    return Units(config, log)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What stands by now, modules and tests, stays: the garbage collector need not walk all of it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 100)  # the oldest generation ten times as seldom: it was a seventh of what tests computed


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    waiting = [] if config.getoption("--real") else [item for item in items if item.get_closest_marker("real")]
    timed = [item for item in items if item.get_closest_marker("realtime") and item not in waiting]
    untimed = [item for item in items if item not in timed and item not in waiting]
    chosen = {"last": untimed + timed, "only": timed, "never": untimed}[config.getoption("--realtime")]
    # Deselected, not skipped: a skip reads like something to repair.
    config.hook.pytest_deselected(items=list(set(items) - set(chosen)))
    items[:] = sorted(chosen, key=lambda item: turn_of(item.nodeid)) if hasattr(config, "workerinput") else chosen
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(PROPERTY_TIMEOUT))
