"""Kinesis in the simulator: streams that split, merge and forget, over the same faults, listings and weather."""

from streamiter.testing.kinesis.aggregate import pack as pack
from streamiter.testing.kinesis.change import change_payload as change_payload
from streamiter.testing.kinesis.handle import KinesisHandle as KinesisHandle
