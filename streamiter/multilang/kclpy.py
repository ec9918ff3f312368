"""amazon_kclpy's names over ours: a processor that was written for it runs here with its import lines changed.

from streamiter.multilang import kclpy as kcl            # was: from amazon_kclpy import kcl
from streamiter.multilang import kclpy as processor      # was: from amazon_kclpy.v3 import processor, or v2
"""

from __future__ import annotations

from typing import Any

from streamiter.errors import CheckpointFailed as CheckpointError
from streamiter.multilang.processor import Checkpointer as Checkpointer
from streamiter.multilang.processor import run

__all__ = ["CheckpointError", "Checkpointer", "KCLProcess", "RecordProcessorBase"]


class RecordProcessorBase:
    """A base class for processors. Their methods tell for which of amazon_kclpy's three versions they were written."""


class KCLProcess:
    """`KCLProcess(MyProcessor()).run()`. An error of the processor ends the child; amazon_kclpy went on, and lost the batch."""

    def __init__(self, record_processor: Any) -> None:
        self._processor = record_processor

    def run(self) -> None:
        """Runs it until the daemon ends it."""
        run(self._processor)
