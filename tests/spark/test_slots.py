"""Slots: what a session tells of how many tasks it runs at once."""

from __future__ import annotations

import pytest
from pyspark.cloudpickle import dumps, loads

from streamiter.spark import register
from streamiter.spark.datasource import DATA_SOURCES, ChangeStream
from streamiter.spark.machine.slots import slots_of


class Context:
    def __init__(self, parallelism: int) -> None:
        self.defaultParallelism = parallelism


class Conf(dict):
    """A session's configuration: `get(name, default)` is all that is asked of it."""


class Session:
    def __init__(self, present: int | None, **conf: str) -> None:
        self._present = present
        self.conf = Conf({f"spark.{name.replace('_', '.')}": value for name, value in conf.items()})

    @property
    def sparkContext(self) -> Context:
        if self._present is None:
            raise RuntimeError("not on Spark Connect")
        return Context(self._present)


CLUSTER = {"master": "spark://elsewhere:7077", "executor_cores": "4"}


@pytest.mark.parametrize(
    "session, slots",
    [
        (Session(2, master="local[2]"), 2),
        (Session(8, master="local[*]"), 8),
        (Session(8, master="local[*]", task_cpus="3"), 2),
        (Session(1, master="local", task_cpus="3"), 1),
        (Session(12, **CLUSTER), 12),
        (Session(2, **CLUSTER, executor_instances="10"), 40),
        (Session(2, **CLUSTER, executor_instances="10", task_cpus="2"), 20),
        (Session(2, **CLUSTER, cores_max="24"), 24),
        (Session(64, **CLUSTER, dynamicAllocation_enabled="true"), None),
        (Session(None, master="local"), 1),
        (Session(None, master="local[4]"), 4),
        (Session(None, master="local[4,2]"), 4),
        (Session(None, master="local[*]"), None),
        (Session(None, **CLUSTER, executor_instances="3"), 12),
        (Session(None, **CLUSTER), None),
        (Session(None), None),
    ],
)
def test_slots(session, slots):
    assert slots_of(session) == slots


@pytest.mark.parametrize("kind", DATA_SOURCES)
def test_a_format_takes_the_number_of_slots_along_to_where_spark_plans(kind: type[ChangeStream]):
    told = loads(dumps(kind.with_slots(3)))
    assert (told.name(), told.slots, kind.slots) == (kind.name(), 3, None)
    assert issubclass(told, kind)


def test_a_session_plans_as_many_partitions_as_it_has_slots(spark, reader, sim):
    register(spark)  # again: it may have more executors by now
    sim.shape("; ".join(f"A{n} => B{n}" for n in range(6)))
    for n in range(6):
        sim.put(f"A{n}")
    assert reader.load().rdd.getNumPartitions() == 2, "the tests' session is local[2]"
    assert reader.option("maxPartitions", "100").load().rdd.getNumPartitions() == 6
