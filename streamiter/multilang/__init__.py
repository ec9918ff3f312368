"""Any language: both ends of the Kinesis Client Library's MultiLang protocol, with the standard library alone."""

from streamiter.multilang.processor import Batch as Batch
from streamiter.multilang.processor import Checkpointer as Checkpointer
from streamiter.multilang.processor import ChildLease as ChildLease
from streamiter.multilang.processor import LastCall as LastCall
from streamiter.multilang.processor import Record as Record
from streamiter.multilang.processor import run as run
