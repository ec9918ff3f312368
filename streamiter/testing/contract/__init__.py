"""The contract: what every source must do, checked against a backend that its author brings into known states."""

from streamiter.testing.contract.check import ContractBroken as ContractBroken
from streamiter.testing.contract.check import Report as Report
from streamiter.testing.contract.check import check_source as check_source
from streamiter.testing.contract.rig import Rig as Rig
from streamiter.testing.contract.rig import kinesis_rig as kinesis_rig
from streamiter.testing.contract.rig import simulated_rig as simulated_rig
