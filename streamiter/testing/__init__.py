"""Testing: a simulated service, a clock turned by hand, and the contract kit for those who write a source."""

from streamiter.app.virtual.given import GivenRecords as GivenRecords
from streamiter.testing.clock import ManualClock as ManualClock
from streamiter.testing.clock import RunningClock as RunningClock
from streamiter.testing.contract import ContractBroken as ContractBroken
from streamiter.testing.contract import Rig as Rig
from streamiter.testing.contract import check_source as check_source
from streamiter.testing.contract import kinesis_rig as kinesis_rig
from streamiter.testing.contract import simulated_rig as simulated_rig
from streamiter.testing.fleets import FleetOf as FleetOf
from streamiter.testing.fleets import FleetWeather as FleetWeather
from streamiter.testing.fleets import LawBroken as LawBroken
from streamiter.testing.kinesis import KinesisHandle as KinesisHandle
from streamiter.testing.kinesis import change_payload as change_payload
from streamiter.testing.kinesis import pack as pack
from streamiter.testing.logs import LogRig as LogRig
from streamiter.testing.logs import check_log as check_log
from streamiter.testing.simulator import Simulator as Simulator
from streamiter.testing.stores import LossyProxy as LossyProxy
from streamiter.testing.stores import StoreRig as StoreRig
from streamiter.testing.stores import check_store as check_store
from streamiter.testing.table import Table as Table
from streamiter.testing.trouble.injected import Fault as Fault
from streamiter.testing.trouble.knobs import Knobs as Knobs
from streamiter.testing.trouble.weather import Weather as Weather
from streamiter.testing.truth.records import WrittenRecord as WrittenRecord
