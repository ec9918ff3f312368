// A Kinesis client as Go's SDK makes it, over an endpoint of loopback: writes, reads, subscribes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	ctx, name := context.Background(), aws.String("go")
	client := kinesis.New(kinesis.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(os.Args[1]),
		Credentials:  credentials.NewStaticCredentialsProvider("any", "any", ""),
	})
	_, err := client.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: name, ShardCount: aws.Int32(1)})
	check(err)
	for _, text := range []string{"one", "two"} {
		_, err = client.PutRecord(ctx, &kinesis.PutRecordInput{StreamName: name, PartitionKey: aws.String("k"), Data: []byte(text)})
		check(err)
	}
	shard := aws.String("shardId-000000000000")
	opened, err := client.GetShardIterator(ctx, &kinesis.GetShardIteratorInput{
		StreamName: name, ShardId: shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
	})
	check(err)
	page, err := client.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: opened.ShardIterator})
	check(err)
	for _, record := range page.Records {
		fmt.Println("polled", string(record.Data), record.ApproximateArrivalTimestamp.UnixMilli())
	}
	summary, err := client.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: name})
	check(err)
	consumer, err := client.RegisterStreamConsumer(ctx, &kinesis.RegisterStreamConsumerInput{
		StreamARN: summary.StreamDescriptionSummary.StreamARN, ConsumerName: name,
	})
	check(err)
	sent, err := client.SubscribeToShard(ctx, &kinesis.SubscribeToShardInput{
		ConsumerARN: consumer.Consumer.ConsumerARN, ShardId: shard,
		StartingPosition: &types.StartingPosition{Type: types.ShardIteratorTypeTrimHorizon},
	})
	check(err)
	event := (<-sent.GetStream().Events()).(*types.SubscribeToShardEventStreamMemberSubscribeToShardEvent)
	for _, record := range event.Value.Records {
		fmt.Println("sent", string(record.Data))
	}
	check(sent.GetStream().Close())
	_, err = client.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: aws.String("nobody")})
	var missing *types.ResourceNotFoundException
	fmt.Println("missing", errors.As(err, &missing))
}
