"""Stream: what users iterate: it drives a source, a lineage and a merge, and knows its own token."""

from streamiter.stream.events import CallFailed as CallFailed
from streamiter.stream.events import Event as Event
from streamiter.stream.events import GapAccepted as GapAccepted
from streamiter.stream.events import GapFound as GapFound
from streamiter.stream.events import LateRecord as LateRecord
from streamiter.stream.events import Progress as Progress
from streamiter.stream.events import RecordAhead as RecordAhead
from streamiter.stream.iteration import Batch as Batch
from streamiter.stream.stats import Stats as Stats
from streamiter.stream.stream import Stream as Stream
