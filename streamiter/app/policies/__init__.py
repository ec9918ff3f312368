"""Policies: what becomes of a record on which its processor failed; one file each, decided purely."""

from streamiter.app.policies.base import Again as Again
from streamiter.app.policies.base import Failure as Failure
from streamiter.app.policies.base import Isolate as Isolate
from streamiter.app.policies.base import Pass as Pass
from streamiter.app.policies.base import Policy as Policy
from streamiter.app.policies.base import StopApp as StopApp
from streamiter.app.policies.base import Verdict as Verdict
from streamiter.app.policies.halt import Halt as Halt
from streamiter.app.policies.ignore import Ignore as Ignore
from streamiter.app.policies.quarantine import Quarantine as Quarantine
from streamiter.app.policies.retry import Retry as Retry
