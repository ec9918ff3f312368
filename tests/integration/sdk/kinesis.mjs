// Clients as JavaScript's SDK makes them, over an endpoint of loopback: HTTP/2 for Kinesis, HTTP/1.1 for DynamoDB.
import { CreateTableCommand, DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import {
  CreateStreamCommand, DescribeStreamSummaryCommand, GetRecordsCommand, GetShardIteratorCommand, KinesisClient,
  ListShardsCommand, PutRecordCommand, RegisterStreamConsumerCommand, SubscribeToShardCommand,
} from "@aws-sdk/client-kinesis";

const [endpoint] = process.argv.slice(2);
const options = { endpoint, region: "us-east-1", credentials: { accessKeyId: "any", secretAccessKey: "any" } };
const kinesis = new KinesisClient(options);
const StreamName = "js";
console.log("handler", kinesis.config.requestHandler.constructor.name);
await kinesis.send(new CreateStreamCommand({ StreamName, ShardCount: 3 }));
for (const size of [3, 700_000]) {
  await kinesis.send(new PutRecordCommand({ StreamName, PartitionKey: "k", Data: Buffer.alloc(size, "x") }));
}
const { Shards } = await kinesis.send(new ListShardsCommand({ StreamName }));
const read = async ({ ShardId }) => {
  const opened = await kinesis.send(
    new GetShardIteratorCommand({ StreamName, ShardId, ShardIteratorType: "TRIM_HORIZON" }),
  );
  const page = await kinesis.send(new GetRecordsCommand({ ShardIterator: opened.ShardIterator }));
  return page.Records.map((record) => record.Data.length);
};
console.log("polled", JSON.stringify((await Promise.all(Shards.map(read))).flat()));
const { StreamDescriptionSummary } = await kinesis.send(new DescribeStreamSummaryCommand({ StreamName }));
const { Consumer } = await kinesis.send(
  new RegisterStreamConsumerCommand({ StreamARN: StreamDescriptionSummary.StreamARN, ConsumerName: "c" }),
);
const sizes = [];
for (const { ShardId } of Shards) {
  const sent = await kinesis.send(
    new SubscribeToShardCommand({
      ConsumerARN: Consumer.ConsumerARN, ShardId, StartingPosition: { Type: "TRIM_HORIZON" },
    }),
  );
  for await (const { SubscribeToShardEvent: event } of sent.EventStream) {
    sizes.push(...event.Records.map((record) => record.Data.length));
    if (event.MillisBehindLatest === 0) break;
  }
}
console.log("sent", JSON.stringify(sizes));
try {
  await kinesis.send(new DescribeStreamSummaryCommand({ StreamName: "nobody" }));
} catch (error) {
  console.log("missing", error.name);
}
const tables = new DynamoDBClient(options);
await tables.send(
  new CreateTableCommand({
    TableName: "javascript",
    KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
    AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
    BillingMode: "PAY_PER_REQUEST",
  }),
);
await tables.send(new PutItemCommand({ TableName: "javascript", Item: { id: { S: "a" } } }));
console.log("item", JSON.stringify((await tables.send(new GetItemCommand({ TableName: "javascript", Key: { id: { S: "a" } } }))).Item));
process.exit(0);
