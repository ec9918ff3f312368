"""Trying out a child: plays scripts of messages to it, without any service, and tells what it does wrong, and where."""

from streamiter.multilang.trying.player import CannotStart as CannotStart
from streamiter.multilang.trying.player import Verdict as Verdict
from streamiter.multilang.trying.player import try_child as try_child
from streamiter.multilang.trying.report import as_json as as_json
from streamiter.multilang.trying.report import lines_of as lines_of
from streamiter.multilang.trying.report import summary as summary
from streamiter.multilang.trying.rules import Finding as Finding
from streamiter.multilang.trying.rules import Severity as Severity
from streamiter.multilang.trying.script import scenarios as scenarios
