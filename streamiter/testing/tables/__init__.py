"""Tables: DynamoDB's operations on tables and items, on the same endpoint as the streams that tell of their changes."""

from streamiter.testing.tables.api import TableApi as TableApi
from streamiter.testing.tables.desk import TablesDesk as TablesDesk
