"""Testing: a simulated service, and a clock turned by hand."""

from streamiter.testing.clock import ManualClock as ManualClock
from streamiter.testing.clock import RunningClock as RunningClock
from streamiter.testing.faults import Fault as Fault
from streamiter.testing.knobs import Knobs as Knobs
from streamiter.testing.records import WrittenRecord as WrittenRecord
from streamiter.testing.simulator import Simulator as Simulator
from streamiter.testing.table import Table as Table
