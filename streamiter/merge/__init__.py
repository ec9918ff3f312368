"""Merge: in what order records come out: the lanes, and the merge over them; pure, with no clock of its own."""

from streamiter.merge.lane import NEVER as NEVER
from streamiter.merge.lane import TIP_EMPTIES as TIP_EMPTIES
from streamiter.merge.lane import Lane as Lane
from streamiter.merge.merge import Merge as Merge
from streamiter.merge.merge import Standing as Standing
