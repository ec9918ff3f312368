"""Sources: where records come from."""

from streamiter.source.base import Page as Page
from streamiter.source.base import ShardIterator as ShardIterator
from streamiter.source.base import ShardPage as ShardPage
from streamiter.source.base import Source as Source
from streamiter.source.dynamodb import DynamoDBStreams as DynamoDBStreams
from streamiter.source.kinesis import KinesisStreams as KinesisStreams
from streamiter.source.kinesis_record import KinesisChange as KinesisChange
from streamiter.source.kinesis_record import KinesisRecord as KinesisRecord
