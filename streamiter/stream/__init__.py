"""Stream: what users iterate: it drives a source, a lineage and a merge, and knows its own token."""

from streamiter.stream.stream import Batch as Batch
from streamiter.stream.stream import Stream as Stream
