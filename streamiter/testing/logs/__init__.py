"""The contract of logs: what a backend must do, tried on a log that its author makes."""

from streamiter.testing.logs.check import check_log as check_log
from streamiter.testing.logs.rig import LogRig as LogRig
