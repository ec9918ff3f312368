"""The app: processors that many workers run together over any source."""

from streamiter.app.app import App as App
from streamiter.app.batch import LeaseBatch as LeaseBatch
from streamiter.app.events import AppEvent as AppEvent
from streamiter.app.events import Completed as Completed
from streamiter.app.events import GapStands as GapStands
from streamiter.app.events import HandedOver as HandedOver
from streamiter.app.events import LeaseLost as LeaseLost
from streamiter.app.events import LeaseTaken as LeaseTaken
from streamiter.app.events import Poisoned as Poisoned
from streamiter.app.events import Retried as Retried
from streamiter.app.events import Stuck as Stuck
from streamiter.app.events import TimerFailed as TimerFailed
from streamiter.app.events import TimerMissed as TimerMissed
from streamiter.app.feed import Events as Events
from streamiter.app.held import HeldLease as HeldLease
from streamiter.app.observer import Observer as Observer
from streamiter.app.observer import Span as Span
from streamiter.app.policies import Failure as Failure
from streamiter.app.policies import Halt as Halt
from streamiter.app.policies import Ignore as Ignore
from streamiter.app.policies import Policy as Policy
from streamiter.app.policies import Quarantine as Quarantine
from streamiter.app.policies import Retry as Retry
from streamiter.app.stats import AppStats as AppStats
