"""Indoors: the simulator and the calls to it in the test's own process and thread, with no socket and no thread of their own.

What comes back is the same bytes that go over the wire otherwise. Whatever is about the wire itself stays outdoors: time-outs,
calls that hang, connections, threads side by side, boto3's own checks.
"""

from tests.indoors.client import IndoorClient as IndoorClient
from tests.indoors.simulator import IndoorSimulator as IndoorSimulator
from tests.indoors.turns import Turns as Turns
from tests.indoors.turns import taking_turns as taking_turns
