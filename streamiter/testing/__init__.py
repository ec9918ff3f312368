"""Testing: a simulated service, a clock turned by hand, and the contract kit for whoever writes a source."""

from streamiter.testing.clock import ManualClock as ManualClock
from streamiter.testing.clock import RunningClock as RunningClock
from streamiter.testing.contract import ContractBroken as ContractBroken
from streamiter.testing.contract import Rig as Rig
from streamiter.testing.contract import check_source as check_source
from streamiter.testing.contract import kinesis_rig as kinesis_rig
from streamiter.testing.contract import simulated_rig as simulated_rig
from streamiter.testing.faults import Fault as Fault
from streamiter.testing.kinesis import KinesisHandle as KinesisHandle
from streamiter.testing.kinesis import change_payload as change_payload
from streamiter.testing.kinesis import pack as pack
from streamiter.testing.knobs import Knobs as Knobs
from streamiter.testing.records import WrittenRecord as WrittenRecord
from streamiter.testing.simulator import Simulator as Simulator
from streamiter.testing.table import Table as Table
from streamiter.testing.weather import Weather as Weather
