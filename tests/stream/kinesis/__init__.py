"""Kinesis through Stream; what its tests share is the stream's own history, as the oracle sorts it."""

from tests.stream.kinesis.history import assert_came as assert_came
from tests.stream.kinesis.history import assert_lawful as assert_lawful
from tests.stream.kinesis.history import identities as identities
from tests.stream.kinesis.history import in_order as in_order
from tests.stream.kinesis.history import told as told
