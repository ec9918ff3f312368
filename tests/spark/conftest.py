"""Fixtures of the Spark tests: one session for all of them, and simulated services that it reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrameReader, SparkSession
from pyspark.sql.streaming import DataStreamReader

from streamiter.spark import ensure_java, register
from streamiter.testing import RunningClock, Simulator
from tests.spark.queries import Queries


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        java_home = os.environ.get("JAVA_HOME")
        ensure_java()
        session = session_of("local[2]")
        if java_home is None:
            os.environ.pop("JAVA_HOME", None)
        register(session)
        yield session
        session.stop()


CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "simulator",
    "AWS_SECRET_ACCESS_KEY": "simulator",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": "/nowhere/config",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def session_of(master: str) -> SparkSession:
    builder = SparkSession.builder.master(master).appName("streamiter tests")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "OFF",
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
        "spark.network.timeout": "600s",  # Spark's own patience, on a machine that does much else
        "spark.python.authenticate.socketTimeout": "600s",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@pytest.fixture
def sim() -> Iterator[Simulator]:
    """A service in this process; its clock goes by itself, for tasks have clocks of their own."""
    with Simulator(ids="service", clock=RunningClock()) as simulator:
        yield simulator


@pytest.fixture
def reader(spark: SparkSession, sim: Simulator) -> DataFrameReader:
    return _of(spark.read, sim)


@pytest.fixture
def queries(spark: SparkSession, sim: Simulator, tmp_path: Path) -> Iterator[Queries]:
    def make() -> DataStreamReader:
        return _of(spark.readStream, sim)

    with Queries(make, tmp_path / "checkpoint") as found:
        yield found


def _of(reader, sim: Simulator):
    return reader.format("dynamodb_streams").option("streamArn", sim.stream_arn).option("endpointUrl", sim.endpoint_url)
