"""Where: which records are meant, told in a small language: `event = MODIFY and new.status != old.status`."""

from streamiter.where.where import Where as Where
from streamiter.where.where import WhereError as WhereError
from streamiter.where.where import parse_where as parse_where
