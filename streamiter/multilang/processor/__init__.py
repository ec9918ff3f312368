"""The processor: Python code under a MultiLang daemon, ours or Java's, with the standard library alone."""

from streamiter.multilang.processor.checkpointer import Checkpointer as Checkpointer
from streamiter.multilang.processor.record import Batch as Batch
from streamiter.multilang.processor.record import ChildLease as ChildLease
from streamiter.multilang.processor.record import LastCall as LastCall
from streamiter.multilang.processor.record import Record as Record
from streamiter.multilang.processor.running import run as run
